/* weft/vectors.h: all parameters, or all gradients, as one vector, for programs with their own optimizer; and
 * L-BFGS. */
#ifndef WEFT_VECTORS_H
#define WEFT_VECTORS_H

#include <weft/plan.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- vectors: the trainable parameters one after the other, in order of creation, each row-major ----
 * As torch.nn.utils.parameters_to_vector. A vector has the parameters that are not frozen and whose names match
 * `parameters` (a star matches any characters; NULL: all). Errors: WEFT_ERROR_STATE (there are none), WEFT_ERROR_DTYPE
 * (a parameter is not f32; the line names it). */
/* *size: the number of elements of the vector. */
WEFT_API weft_status weft_vector_size(weft_graph *graph, const char *parameters, size_t *size);
/* weft_vector_read copies the parameters to host memory of `size` elements, weft_vector_write copies host memory to
 * the parameters; both wait for the device. WEFT_ERROR_ARGUMENT: size is not that of the vector; nothing is copied. */
WEFT_API weft_status weft_vector_read(weft_graph *graph, const char *parameters, float *data, size_t size);
WEFT_API weft_status weft_vector_write(
    weft_graph *graph, const char *parameters, const float *data, size_t size);
/* d loss / d vector: f32 (size), for plans as an output; zeros for parameters that the loss does not depend on. NULL
 * after an error: those of weft_gradients, and those of vectors above. */
WEFT_API weft_tensor *weft_gradient_vector(weft_tensor *loss, const char *parameters);

/* ---- L-BFGS: steps that evaluate the loss and its gradient several times ----
 * As torch.optim.LBFGS (Nocedal and Wright 2006, algorithms 7.4, 3.5 and 3.6), for smooth losses over a whole dataset
 * with few parameters. A plan of the optimizer takes the place of PyTorch's closure: it computes the loss and its
 * gradient vector in training mode, with the same inputs at each trial point. Dropout draws new numbers, and norms
 * update their running statistics, in each evaluation; both disturb the search. The host computes the search in double
 * precision and stores the history (2 · history vectors of f32); parameters and plan are on the device.
 *
 * Checkpoints and snapshots of the graph contain the history: an optimizer that is created before weft_checkpoint_load
 * continues with the same bits. If the file has no history, or the history of other parameters, the optimizer begins
 * without a history, and the log says so. If the file has more pairs than the option `history`, the newest are used. A
 * program that writes parameters itself has to create a new optimizer, because the history describes the old
 * parameters. */
typedef struct weft_lbfgs weft_lbfgs;
typedef enum weft_line_search {
    WEFT_LINE_SEARCH_STRONG_WOLFE, /* default: cubic interpolation until the strong Wolfe conditions hold */
    WEFT_LINE_SEARCH_NONE          /* steps of the length `rate`; PyTorch's default */
} weft_line_search;
/* A step ends after max_iterations or max_evaluations; when no element of the gradient is larger than tolerance_grad;
 * or when the loss, or every parameter, changes by less than tolerance_change. */
typedef struct weft_lbfgs_options {
    size_t struct_size;
    float rate;              /* the length that a line search tries first; above 0; default 1 */
    int max_iterations;      /* 1 or more; default 20 */
    int max_evaluations;     /* 1 or more; default 1.25 times max_iterations */
    double tolerance_grad;   /* default 1e-7; WEFT_ZERO: 0 */
    double tolerance_change; /* default 1e-9; WEFT_ZERO: 0 */
    int history;             /* number of pairs of vectors; 1 or more; default 100 */
    weft_line_search line_search;
    const char *parameters; /* the parameters of the vector, as above; default NULL: all */
    int64_t batch, length;  /* of the plan, as in weft_plan_options */
    size_t memory_limit;    /* of the plan, as in weft_plan_options */
} weft_lbfgs_options;
#define WEFT_LBFGS_OPTIONS_INIT .struct_size = sizeof(weft_lbfgs_options)
/* Creates the plan. The loss has one element, f32. options NULL: all defaults. Errors: those of weft_plan_create and
 * weft_gradients; WEFT_ERROR_UNSUPPORTED in mixed precision with f16, whose loss is scaled. */
WEFT_API weft_status weft_lbfgs_create(
    weft_lbfgs **optimizer, weft_tensor *loss, const weft_lbfgs_options *options);
WEFT_API void weft_lbfgs_release(weft_lbfgs *optimizer); /* NULL is allowed */
/* A step: writes the values to the inputs, and searches from the current parameters. *loss (may be NULL): the loss
 * before the step. Errors: those of the plan; WEFT_ERROR_ARGUMENT (a value is not of an input); WEFT_ERROR_NOT_FINITE
 * (the loss or the gradient is not finite before the step; the parameters do not change).
 *     weft_lbfgs_step(optimizer, WEFT_VALUES(WEFT_VALUE(x, points), WEFT_VALUE(y, targets)), &loss); */
WEFT_API weft_status weft_lbfgs_step(
    weft_lbfgs *optimizer, const weft_value *values, size_t count, float *loss);
typedef struct weft_lbfgs_info {
    size_t iterations, evaluations; /* of all steps */
    double loss;                    /* after the latest step, as last evaluated; NaN: no step */
    double largest_gradient;        /* the largest magnitude in the gradient of that evaluation */
} weft_lbfgs_info;
WEFT_API void weft_lbfgs_get_info(const weft_lbfgs *optimizer, weft_lbfgs_info *info);

#ifdef __cplusplus
}
#endif
#endif
