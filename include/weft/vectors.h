/* weft/vectors.h: all parameters, and all gradients, as one vector, for optimizers of the program's own; and L-BFGS. */
#ifndef WEFT_VECTORS_H
#define WEFT_VECTORS_H

#include <weft/plan.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- vectors: the trainable parameters one after the other, in order of creation, each row-major ----
 * They are those that are not frozen and whose names match: a star matches any characters, NULL: all. All are f32, else
 * WEFT_ERROR_DTYPE names the other; none is WEFT_ERROR_STATE. As torch.nn.utils.parameters_to_vector. */
/* *size: the number of elements. */
WEFT_API weft_status weft_vector_size(weft_graph *graph, const char *parameters, size_t *size);
/* Copy between host memory of exactly `size` elements and the parameters; they wait for the device. WEFT_ERROR_ARGUMENT:
 * another size, after which nothing has changed. */
WEFT_API weft_status weft_vector_read(weft_graph *graph, const char *parameters, float *data, size_t size);
WEFT_API weft_status weft_vector_write(
    weft_graph *graph, const char *parameters, const float *data, size_t size);
/* d loss / d vector: f32 (size), an output of plans; zeros for what the loss does not depend on. NULL after an error: those
 * of weft_gradients, or of above. */
WEFT_API weft_tensor *weft_gradient_vector(weft_tensor *loss, const char *parameters);

/* ---- L-BFGS: steps that evaluate the loss and its gradient several times ----
 * As torch.optim.LBFGS (Nocedal and Wright 2006, algorithms 7.4, 3.5 and 3.6): for smooth losses of whole data sets with
 * few parameters. What PyTorch's closure does, a plan of the optimizer does: it computes the loss and the gradient vector in
 * the form of training, at each trial point for the same inputs. Dropout draws anew in each, and norms move their running
 * statistics in each; both disturb the search. Directions, the history (2 · history vectors of f32) and the search are on the
 * host, in double precision; the parameters and the plan are on the device. Checkpoints and snapshots of the graph hold the
 * history: an optimizer that is made before weft_checkpoint_load goes on with the same bits. It begins without a history, which
 * the log says, if the file has none, or one of other parameters; of a longer history it takes the newest pairs. A
 * program that has written parameters itself makes another optimizer, as the history is of the old ones. */
typedef struct weft_lbfgs weft_lbfgs;
typedef enum weft_line_search {
    WEFT_LINE_SEARCH_STRONG_WOLFE, /* the default: cubic interpolation until the loss and its slope have fallen enough */
    WEFT_LINE_SEARCH_NONE /* steps of `rate`, as PyTorch's default */
} weft_line_search;
typedef struct weft_lbfgs_options {
    size_t struct_size;
    float rate;            /* the first trial of a step's length; above 0; default 1 */
    int max_iterations;    /* of a step; 1 or more; default 20 */
    int max_evaluations;   /* of a step; 1 or more; default 1.25 times max_iterations */
    double tolerance_grad; /* a step ends when no gradient is larger; default 1e-7; WEFT_ZERO: 0 */
    double
        tolerance_change; /* or when the loss or every parameter changes by less; default 1e-9; WEFT_ZERO: 0 */
    int history;          /* pairs of vectors; 1 or more; default 100 */
    weft_line_search line_search;
    const char *parameters; /* as above; default NULL: all */
    int64_t batch, length;  /* of the plan, as in weft_plan_options */
    size_t memory_limit;
} weft_lbfgs_options;
#define WEFT_LBFGS_OPTIONS_INIT .struct_size = sizeof(weft_lbfgs_options)
/* Makes the plan; options NULL: all defaults. The loss has one element, f32. Errors: those of weft_plan_create and
 * weft_gradients; WEFT_ERROR_UNSUPPORTED in f16, whose loss is scaled. */
WEFT_API weft_status weft_lbfgs_create(
    weft_lbfgs **optimizer, weft_tensor *loss, const weft_lbfgs_options *options);
WEFT_API void weft_lbfgs_release(weft_lbfgs *optimizer); /* NULL is allowed */
/* A step: writes the values, which are inputs, and searches from the parameters as they are. *loss, unless it is NULL: that
 * before the step. Errors: WEFT_ERROR_ARGUMENT (a value is no input), those of the plan; WEFT_ERROR_NOT_FINITE: the loss or
 * the gradient is not finite before the step, which changes nothing.
 *     weft_lbfgs_step(optimizer, WEFT_VALUES(WEFT_VALUE(x, points), WEFT_VALUE(y, targets)), &loss); */
WEFT_API weft_status weft_lbfgs_step(
    weft_lbfgs *optimizer, const weft_value *values, size_t count, float *loss);
typedef struct weft_lbfgs_info {
    size_t iterations, evaluations; /* of all steps */
    double loss;                    /* after the latest step, as its last evaluation gave it; NaN: none */
    double largest_gradient;        /* its magnitude there */
} weft_lbfgs_info;
WEFT_API void weft_lbfgs_get_info(const weft_lbfgs *optimizer, weft_lbfgs_info *info);

#ifdef __cplusplus
}
#endif
#endif
