/* weft/graph.h: networks as graphs of symbolic tensors.
 *
 * Every op takes tensors and returns a borrowed tensor that the graph owns. A tensor has a dtype and a shape, but no
 * values; a plan (plan.h) computes values.
 *
 * An op that fails returns NULL, and so does every op with a NULL argument. The graph keeps the first error:
 * weft_graph_status() returns it, and so does every later call on this graph that returns a weft_status. An error
 * inside a call that returns a weft_status (weft_gradients, weft_minimize, weft_plan_create, weft_predict,
 * weft_trainer_create, ...) is an error of this call only: the graph is as it was before, and the call can be repeated.
 * The exceptions, whose errors the graph keeps, are weft_split, weft_split_sizes, weft_scope_begin, weft_scope_end and
 * weft_scope_inference.
 *
 * Only one thread at a time may use a graph. */
#ifndef WEFT_GRAPH_H
#define WEFT_GRAPH_H

#include <weft/device.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_graph weft_graph;
typedef struct weft_tensor weft_tensor;

/* Number formats. Ops compute with floats and i32. f16 and bf16 are computed in f32, and each result is rounded to
 * nearest even. f64 needs a device with cl_khr_fp64; elsewhere WEFT_ERROR_UNSUPPORTED names the device. i64 and u8 are
 * only stored, moved and cast (weft_cast); bool is the dtype of comparisons, logic and masks. */
typedef enum weft_dtype {
    WEFT_F32,
    WEFT_I32,
    WEFT_F16,  /* IEEE 754 binary16 */
    WEFT_BF16, /* the upper half of an f32 */
    WEFT_I64,
    WEFT_U8,
    WEFT_BOOL,
    WEFT_F64,
} weft_dtype;

WEFT_API const char *weft_dtype_name(weft_dtype dtype); /* "f32" */
WEFT_API size_t weft_dtype_size(weft_dtype dtype);      /* bytes per element */

#define WEFT_MAX_RANK 8
/* The dimension of the batch, whose size is not part of the network: each plan has a batch size. WEFT_BATCH * k is a
 * dimension of k times the batch size, for example after a reshape. A batch axis that is sliced, padded or concatenated
 * has a dimension k * batch + n. weft_tensor_dimension returns a number that stands for this dimension; weft_reshape
 * and similar calls accept the number, and messages print it as (batch - 1, 64). A plan with such a tensor is planned
 * for a fixed batch size, as a network whose batch is a number. */
#define WEFT_BATCH ((int64_t)-1)
/* A second dimension whose size is not part of the network: the length of sequences, which weft_plan_options.length
 * sets. WEFT_LENGTH is a number that stands for the length, and programs can calculate with it: WEFT_LENGTH * 2 + 1,
 * with a factor below 2^20 and a rest below 2^20. Inputs, weft_arange, slices, padding and filled tensors take such
 * sizes; parameters and states do not. Messages print (batch, length, 64), and what ops make of it:
 * floor((length + 1)/2). Arguments that are not sizes (a margin, a rate, a stride, a number of epochs) accept
 * neither these numbers nor the one that stands for a sliced batch axis: WEFT_ERROR_ARGUMENT. */
#define WEFT_LENGTH (INT64_C(1050509) << 21)
/* The size of a name, which each plan sets by weft_plan_options.sizes: a free dimension as WEFT_LENGTH is one, with
 * which programs can calculate in the same way. The same name gives the same size in a graph; "batch" and "length" are
 * WEFT_BATCH and WEFT_LENGTH. For a sum or a product of two such sizes use what ops give: weft_concat, weft_flatten_axes,
 * weft_tensor_dimension. 0, with an error of the graph: the name is NULL, empty or longer than 63 bytes. */
WEFT_API int64_t weft_symbol(weft_graph *graph, const char *name);
/* The value of a size, by its name. */
typedef struct weft_named_size {
    const char *name;
    int64_t size;
} weft_named_size;
/* Ends a list of dimensions or axes; the macros append it. */
#define WEFT_END INT64_MIN

/* ---- lists and options as arguments, in C, without a variable for them ----
 *     weft_concat(WEFT_TENSORS(low, up), 1)                             an array of tensors, and its length
 *     weft_normal(graph, 0, 1, WEFT_SHAPE(WEFT_BATCH, 16))              the rank of a shape, and its dimensions
 *     weft_linear_layer(x, 10, WEFT_WITH(linear, .name = "head"))       the address of a weft_linear_options
 * Each element is evaluated once. The arrays and structs live until the end of the enclosing block. */
#ifndef __cplusplus
#define WEFT_TENSORS(...)                                                                                    \
    (weft_tensor *const[]){__VA_ARGS__}, sizeof((weft_tensor *const[]){__VA_ARGS__}) / sizeof(weft_tensor *)
#define WEFT_SHAPE(...)                                                                                      \
    (int)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[]) {                     \
        __VA_ARGS__                                                                                          \
    }
#define WEFT_SIZES(...)                                                                                      \
    (const weft_named_size[]){__VA_ARGS__},                                                                  \
        sizeof((const weft_named_size[]){__VA_ARGS__}) / sizeof(weft_named_size)
#define WEFT_WITH(of, ...)                                                                                   \
    (&(const weft_##of##_options){.struct_size = sizeof(weft_##of##_options), __VA_ARGS__})
/* In C, layers and pools take the fields of their options as named arguments, in any order, after the other arguments.
 * (C++ calls the function that takes the struct, whose name ends with _layer or _with.)
 *     weft_linear(x, 10, .name = "head", .no_bias = true)
 *     weft_conv2d(x, 64, 3, .stride = 2, .padding = 1)
 *     weft_max_pool2d(x, 3, .stride = 2, .padding = 1) */
#define WEFT_NAMED_(function, of, count, ...)                                                                \
    WEFT_NAMED_AFTER_##count##_(function, of, __VA_ARGS__, .struct_size = sizeof(weft_##of##_options))
#define WEFT_NAMED_AFTER_1_(function, of, a, ...)    function(a, &(const weft_##of##_options){__VA_ARGS__})
#define WEFT_NAMED_AFTER_2_(function, of, a, b, ...) function(a, b, &(const weft_##of##_options){__VA_ARGS__})
#define WEFT_NAMED_AFTER_3_(function, of, a, b, c, ...)                                                      \
    function(a, b, c, &(const weft_##of##_options){__VA_ARGS__})
#define WEFT_NAMED_AFTER_5_(function, of, a, b, c, d, e, ...)                                                \
    function(a, b, c, d, e, &(const weft_##of##_options){__VA_ARGS__})
#endif

/* ---- graphs ---- */
/* Creates an empty graph with one reference. The graph retains the context. */
WEFT_API weft_status weft_graph_create(weft_graph **graph, weft_context *context);
WEFT_API weft_graph *weft_graph_retain(weft_graph *graph);
WEFT_API void weft_graph_release(weft_graph *graph); /* NULL is allowed */
/* The context's default graph, borrowed; NULL, with weft_last_error() set, when out of memory. */
WEFT_API weft_graph *weft_context_graph(weft_context *context);
WEFT_API weft_context *weft_graph_context(const weft_graph *graph); /* borrowed */
/* The first error of the graph's ops, WEFT_OK if there was none. */
WEFT_API weft_status weft_graph_status(weft_graph *graph);
/* Marks this line of the program: errors of the following calls end with "(after model.c:42)". Without a mark, errors
 * of ops still name the public call and the open scopes. Returns the graph, or NULL for NULL.
 *     weft_tensor *x = weft_input(WEFT_HERE(graph), "x", WEFT_F32, 8); */
#define WEFT_HERE(graph) weft_graph_here((graph), __FILE__, __LINE__)
/* The function behind WEFT_HERE. The text `file` must live as long as the graph; NULL: errors name no line. */
WEFT_API weft_graph *weft_graph_here(weft_graph *graph, const char *file, int line);

/* The format in which plans store activations and their gradients. In every format, parameters, their gradients,
 * optimizer state, statistics of norms, losses, inputs and outputs are f32, and so are sums and values in registers. */
typedef enum weft_precision {
    WEFT_PRECISION_F32, /* as the tensors' dtypes say; the default */
    /* Mixed precision: f32 activations and their gradients are stored in bf16. If the device has a matrix engine, the
     * operands of matrix products and convolutions are rounded to bf16; sums are f32. bf16 has the exponents of f32, so
     * that losses need no scaling. Attention and recurrent layers read and store f32; a matrix engine rounds the
     * operands of their products, too. */
    WEFT_PRECISION_BF16,
    /* Mixed precision as WEFT_PRECISION_BF16, but with f16, which has three more bits of fraction and no normal numbers
     * below 6e-5. weft_gradients therefore multiplies the loss by a scale (weft_loss_scaling) and divides the
     * gradients by it. A step of an optimizer whose gradients contain an infinity or NaN is skipped. */
    WEFT_PRECISION_F16
} weft_precision;
/* Sets the precision of plans that are created from now on; existing plans keep their precision. Set
 * WEFT_PRECISION_F16 before you create gradients and updates. Errors: WEFT_ERROR_ARGUMENT if graph is NULL or
 * precision is not a weft_precision; WEFT_ERROR_STATE if the graph has gradients or updates that do not scale the
 * loss. */
WEFT_API weft_status weft_graph_set_precision(weft_graph *graph, weft_precision precision);

/* How losses are scaled in f16, as by PyTorch's GradScaler. The scale begins at `initial`. A step whose gradients
 * contain an infinity or NaN is skipped and multiplies the scale by `backoff`; `interval` steps in a row without a skip
 * multiply the scale by `growth`. If a step is skipped while the scale is `least`, the next read or wait of the plan
 * returns WEFT_ERROR_NOT_FINITE, with the step and the tensor in which the overflow began. All plans of a graph share
 * one scale.
 *
 * A skipped run changes nothing but the scale: parameters, optimizer states, averages, running statistics and variables
 * of weft_assign keep their values, and the run does not count as an update. With accumulated gradients, the whole
 * update is skipped. */
typedef struct weft_loss_scaling {
    size_t struct_size;
    float initial;     /* default 65536 */
    float growth;      /* default 2; at least 1 */
    float backoff;     /* default 0.5; below 1 */
    float least;       /* default 2^-14 */
    uint32_t interval; /* default 2000 */
} weft_loss_scaling;
#define WEFT_LOSS_SCALING_INIT .struct_size = sizeof(weft_loss_scaling)
/* scaling NULL means all defaults. Errors: WEFT_ERROR_STATE if the graph already has gradients in f16;
 * WEFT_ERROR_ARGUMENT if graph is NULL or a field is out of its range. */
WEFT_API weft_status weft_graph_set_loss_scaling(weft_graph *graph, const weft_loss_scaling *scaling);
typedef struct weft_loss_scale {
    float scale;
    uint64_t good_steps;    /* steps without a skip since the scale last changed */
    uint64_t skipped_steps; /* all skipped steps */
    uint64_t steps;         /* all steps, also the skipped ones */
} weft_loss_scale;
/* Waits for the runs so far and fills *now; all zeros if the graph scales no loss. Errors: WEFT_ERROR_ARGUMENT if graph
 * or now is NULL, and errors of the runs. */
WEFT_API weft_status weft_graph_loss_scale(weft_graph *graph, weft_loss_scale *now);

/* The precision of f32 matrix products, with the names and meaning of torch.set_float32_matmul_precision. Tensors and
 * sums stay f32. The settings differ only on a device with a matrix engine that multiplies 16-bit numbers; elsewhere
 * all three multiply in f32. With HIGHEST and HIGH, infinities, NaN and numbers near the ends of the range give the
 * results of f32. Errors of the three settings, relative to the root mean square of the result: 4e-7, 4e-6, 2e-3. */
typedef enum weft_matmul_precision {
    WEFT_MATMUL_PRECISION_HIGHEST, /* default: in f32, or as six bf16 products if they are faster and as exact */
    WEFT_MATMUL_PRECISION_HIGH,    /* as three bf16 products: operands have 16 bits of fraction */
    /* Operands are rounded to bf16, also those of convolutions, attention and recurrent layers. */
    WEFT_MATMUL_PRECISION_MEDIUM
} weft_matmul_precision;
/* Sets the precision of plans that are created from now on. Errors: WEFT_ERROR_ARGUMENT if graph is NULL or precision
 * is none of these. */
WEFT_API weft_status weft_graph_set_matmul_precision(weft_graph *graph, weft_matmul_precision precision);

/* ---- inputs, parameters, states and constants ---- */

/* The distribution of initial values; a, b, c and d are fields of weft_initialiser. Fans are those of PyTorch: a shape
 * (out, in, k...) has fan_in = in·k, fan_out = out·k. */
typedef enum weft_initialiser_kind {
    WEFT_INIT_CONSTANT,         /* a */
    WEFT_INIT_UNIFORM,          /* U(a, b) */
    WEFT_INIT_NORMAL,           /* N(mean a, standard deviation b) */
    WEFT_INIT_GLOROT_UNIFORM,   /* U(±a·sqrt(6 / (fan_in + fan_out))); Glorot and Bengio 2010 */
    WEFT_INIT_GLOROT_NORMAL,    /* N(0, a·sqrt(2 / (fan_in + fan_out))) */
    WEFT_INIT_HE_UNIFORM,       /* U(±a·sqrt(3 / fan_in)); He et al. 2015, a = sqrt(2) for relu */
    WEFT_INIT_HE_NORMAL,        /* N(0, a / sqrt(fan_in)) */
    WEFT_INIT_TRUNCATED_NORMAL, /* N(a, b), restricted to [c, d] */
    WEFT_INIT_ORTHOGONAL,       /* a · Q, see weft_init_orthogonal */
    WEFT_INIT_CUSTOM            /* the values that `fill` writes */
} weft_initialiser_kind;

/* Set the fields by name, or use the functions of nn.h (weft_he_normal) and io.h (weft_init_from_file). */
typedef struct weft_initialiser weft_initialiser;
struct weft_initialiser {
    weft_initialiser_kind kind;
    float a, b, c, d;
    /* For WEFT_INIT_CUSTOM: writes all values of a new parameter or state, row-major, while the variable is created.
     * weft_tensor_rank and weft_tensor_dimension return its shape. A status other than WEFT_OK becomes the graph's
     * error. */
    weft_status (*fill)(const weft_initialiser *self, const weft_tensor *variable, float *values);
    void *user;               /* for fill */
    const char *path, *entry; /* used by weft_init_from_file */
};

/* A tensor that the program writes before a run. weft_predict and trainers find inputs by name: for them, an output
 * that depends on two inputs of the same name is an error. The dimensions are those of one example, and the batch comes
 * first:
 *     weft_input(g, "image", WEFT_F32, 1, 8, 8)    has the shape (batch, 1, 8, 8) */
#define weft_input(...) WEFT_TAKE_INPUT_(__VA_ARGS__, WEFT_8_ENDS_)
/* weft_input with all dimensions of the shape; WEFT_BATCH may be at any position, or absent. */
WEFT_API weft_tensor *weft_input_shape(
    weft_graph *graph, const char *name, weft_dtype dtype, int rank, const int64_t *dims);

/* A trainable f32 tensor that belongs to the graph and keeps its values from plan to plan. The dimensions are the whole
 * shape. A parameter is trained by updates that are created after the parameter, not by earlier ones.
 * WEFT_ERROR_ARGUMENT: the graph has a parameter or state of this name (with the prefixes of the open scopes), and no
 * scope shares it; or the name begins with "weft.", as the names of a checkpoint's other entries do (io.h).
 *     weft_parameter(g, "w", weft_glorot_uniform(), 10, 64)    has the shape (10, 64) */
#define weft_parameter(...) WEFT_TAKE_PARAMETER_(__VA_ARGS__, WEFT_8_ENDS_)
WEFT_API weft_tensor *weft_parameter_shape(
    weft_graph *graph, const char *name, weft_initialiser initialiser, int rank, const int64_t *dims);
/* weft_parameter_shape with any float dtype. weft_minimize and the other optimizer functions train only f32 parameters;
 * for a parameter of another dtype they fail with an error that names the parameter. */
WEFT_API weft_tensor *weft_parameter_dtype(weft_graph *graph, const char *name, weft_dtype dtype,
    weft_initialiser initialiser, int rank, const int64_t *dims);

/* A tensor that belongs to the graph and is not trained (running statistics, optimizer state, tables). dtype: a float,
 * or i32 with a constant initialiser. The rules for names are those of weft_parameter. Any number of states may have
 * the name "" instead; checkpoints contain such a state if a node assigns to it. */
WEFT_API weft_tensor *weft_state_shape(weft_graph *graph, const char *name, weft_dtype dtype,
    weft_initialiser initialiser, int rank, const int64_t *dims);

/* weft_state_shape for a state that no file of weights and no checkpoint contains, such as a cache of keys and values,
 * or a table that each process computes anew. Loading ignores an entry of this name. As PyTorch's
 * register_buffer(persistent=False). */
WEFT_API weft_tensor *weft_transient_state(weft_graph *graph, const char *name, weft_dtype dtype,
    weft_initialiser initialiser, int rank, const int64_t *dims);

/* A constant of rank 0, which broadcasts to any shape. dtype: a float (the value is rounded to nearest), i32 or bool.
 * The value must not contain WEFT_LENGTH or a weft_symbol (WEFT_ERROR_ARGUMENT); use weft_size. */
WEFT_API weft_tensor *weft_constant(weft_graph *graph, weft_dtype dtype, double value);
/* A constant with the graph and dtype of x: weft_mul(x, weft_number(x, 0.5)). */
WEFT_API weft_tensor *weft_number(weft_tensor *x, double value);
/* The size of an axis as a tensor, i32 of rank 0. If plans choose the size, each plan uses
 * the size that the axis has in this plan. weft_cast converts the size to a float. No gradient. NULL after an error:
 * WEFT_ERROR_SHAPE (no such axis).
 *     weft_div(weft_sum(x), weft_cast(weft_size(x, 0), WEFT_F32))        a mean over the batch */
WEFT_API weft_tensor *weft_size(weft_tensor *x, int axis);
/* An f32 of rank 0 whose value can be changed between runs without a new plan (a learning rate). */
WEFT_API weft_tensor *weft_scalar(weft_graph *graph, const char *name, float value);
/* WEFT_ERROR_ARGUMENT: the tensor is not a scalar; or it is an optimizer's rate, and value is below 0 or not finite. */
WEFT_API weft_status weft_scalar_set(weft_tensor *scalar, float value);
WEFT_API weft_status weft_scalar_get(const weft_tensor *scalar, float *value);
/* A tensor of any dtype with the elements of data, which are copied; the graph keeps them like a state without a
 * name. */
WEFT_API weft_tensor *weft_array(
    weft_graph *graph, weft_dtype dtype, const void *data, int rank, const int64_t *dims);

/* ---- scopes: names, and layers that are used twice ---- */
/* Opens a scope: until weft_scope_end, the names of new layers, parameters and states begin with "name.", after the
 * prefixes of the scopes around this one. name NULL or "": no prefix. Layers without a name are numbered from 1 in each
 * scope.
 *
 * share: a call that would create a parameter or state whose name exists returns the existing one, which is not
 * initialised again. A function that opens such a scope builds the same network each time: the towers of a siamese
 * network, a discriminator for real and generated images, a decoder for training and for sampling.
 *     weft_tensor *tower(weft_graph *graph, weft_tensor *x) {
 *         weft_scope_begin(graph, "tower", true);
 *         weft_tensor *y = weft_linear(weft_relu(weft_linear(x, 64)), 16);
 *         weft_scope_end(graph);
 *         return y;                                            "tower.linear1.weight", "tower.linear2.weight", ...
 *     }
 * Scopes inside a scope that shares also share. If the existing variable has another shape or dtype, the error is
 * WEFT_ERROR_SHAPE and names both; without share, an existing name is WEFT_ERROR_ARGUMENT. Errors of weft_scope_begin:
 * WEFT_ERROR_ARGUMENT (more than 254 characters of open scopes); of weft_scope_end: WEFT_ERROR_STATE (no scope is
 * open). The graph keeps the errors of both calls, so that a program need not check their status. */
WEFT_API weft_status weft_scope_begin(weft_graph *graph, const char *name, bool share);
WEFT_API weft_status weft_scope_end(weft_graph *graph); /* closes the scope that was opened last */
/* PyTorch's eval() for a part of a network: a teacher, a frozen body, or, in a scope that shares, a second use of a
 * network that is also trained. Layers that are created from now on in the innermost open scope, and in scopes inside
 * it, compute as in inference, also in plans for training: dropout does nothing (also inside attention, recurrent
 * layers and models), and norms use their running statistics and do not change them. Gradients still flow, and
 * parameters are still trained (weft_freeze stops both). on false: layers that are created from now on follow the plan
 * again.
 *     weft_scope_begin(graph, "teacher", false);
 *     weft_scope_inference(graph, true);
 *     weft_tensor *wanted = weft_resnet18(image, 10, NULL);
 *     weft_scope_end(graph);
 * Errors: WEFT_ERROR_STATE (no scope is open), which the graph keeps; WEFT_ERROR_ARGUMENT (graph is NULL). */
WEFT_API weft_status weft_scope_inference(weft_graph *graph, bool on);
/* Returns an output for a plan. Each run moves the parameters and named states of the scope `to` towards those of the
 * same names in the scope `from`, on the device: to ← (1 - factor)·to + factor·from. Factor 1 copies; i32 states are
 * always copied. One launch serves all parameters that are adjacent in memory in both scopes. The name of an inner
 * scope contains dots ("a.b"). For a target network that is built like the network `online`:
 *     weft_tensor *follow = weft_scope_copy(graph, "online", "target", 0.005f);
 * Every variable of `from` needs a counterpart in `to`; `to` may have more variables. A plan cannot contain this output
 * together with an update of the parameters of `to`. NULL after an error: WEFT_ERROR_ARGUMENT (`from` has no variable,
 * a counterpart is missing, factor is not in 0 < factor <= 1, both scopes are the same), WEFT_ERROR_SHAPE (shapes or
 * dtypes differ). */
WEFT_API weft_tensor *weft_scope_copy(weft_graph *graph, const char *from, const char *to, float factor);

/* ---- gradients and effects ---- */

/* d loss / d wrt, of the shape and dtype of wrt. loss: a float with one element (of any rank). Adds the nodes of the
 * backward pass to the graph; these nodes have gradients themselves. WEFT_ERROR_UNSUPPORTED: an op between wrt and loss
 * has no gradient (the second gradient of CTC, see docs/ops.md). */
WEFT_API weft_tensor *weft_gradient(weft_tensor *loss, weft_tensor *wrt);
/* The gradients of one loss with respect to several tensors; zeros for tensors on which the loss does not depend. On
 * an error every gradients[i] is NULL, and the graph does not keep the error. */
WEFT_API weft_status weft_gradients(
    weft_tensor *loss, weft_tensor *const *wrt, size_t count, weft_tensor **gradients);
/* variable ← value in each run of a plan that has this node among its outputs; both tensors have the same shape and
 * dtype. All other nodes of the run see the old value. The node has no value: it can be an output of plans, but not the
 * input of another node. A plan with two assignments to one variable, or with an assignment to a parameter and an
 * update of weft_minimize that trains it, is an error of weft_plan_create. */
WEFT_API weft_tensor *weft_assign(weft_tensor *variable, weft_tensor *value);
/* weft_assign at the end of the run: `value` is computed from the parameters and states (also `variable`) as the plan's
 * updates and other assignments have left them. Several assignments of this kind in one plan read the same values, and
 * no other node of the run sees their results. value must not depend on an input (WEFT_ERROR_ARGUMENT of
 * weft_plan_create). A step that is skipped in f16 skips these assignments, too; a run that only accumulates gradients
 * executes them. To keep weights within bounds:
 *     weft_plan_create(&plan, WEFT_TENSORS(train, weft_assign_after(p, weft_clamp(p, 0, 1))), NULL); */
WEFT_API weft_tensor *weft_assign_after(weft_tensor *variable, weft_tensor *value);
/* Returns x as a tensor through which no gradient flows back, as Tensor.detach. */
WEFT_API weft_tensor *weft_stop_gradient(weft_tensor *x);
/* Returns x (f32) and excludes it from mixed precision: x and its gradient are stored in f32, and products,
 * convolutions, attention and recurrent layers that read x or its gradient multiply in f32.
 * weft_keep_f32(weft_linear(weft_keep_f32(x), 10)) is a layer without 16-bit numbers, forward and backward. NULL after
 * an error: WEFT_ERROR_DTYPE if x is not f32. */
WEFT_API weft_tensor *weft_keep_f32(weft_tensor *x);

/* ---- properties of tensors ---- */
WEFT_API weft_graph *weft_tensor_graph(const weft_tensor *tensor); /* borrowed; NULL for NULL */
WEFT_API weft_dtype weft_tensor_dtype(const weft_tensor *tensor);  /* WEFT_F32 for NULL */
WEFT_API int weft_tensor_rank(const weft_tensor *tensor);          /* -1 for NULL */
WEFT_API int64_t weft_tensor_dimension(
    const weft_tensor *tensor, int axis); /* axis may be negative; 0 if there is no such axis */
WEFT_API const char *weft_tensor_name(const weft_tensor *tensor); /* "" if the tensor has no name */

/* ---- the parameters and states of a graph ---- */
/* The number of parameters, and each parameter in order of creation (borrowed; NULL for an index beyond the last).
 * weft_graph_state_count and weft_graph_state return the states in this way. */
WEFT_API size_t weft_graph_parameter_count(const weft_graph *graph);
WEFT_API weft_tensor *weft_graph_parameter(const weft_graph *graph, size_t index);
/* The number of elements of all parameters whose names match the pattern (a star matches any characters; NULL: all),
 * also of frozen ones: sum(p.numel() for p in model.parameters()). 0 if none matches. */
WEFT_API int64_t weft_graph_element_count(const weft_graph *graph, const char *parameters);
WEFT_API size_t weft_graph_state_count(const weft_graph *graph);
WEFT_API weft_tensor *weft_graph_state(const weft_graph *graph, size_t index);
/* The parameter or state of this name; NULL, without an error, if there is none. */
WEFT_API weft_tensor *weft_graph_find(const weft_graph *graph, const char *name);
/* The input of this name; the first that was created if there are several; NULL, without an error, if there is none. */
WEFT_API weft_tensor *weft_graph_find_input(const weft_graph *graph, const char *name);
/* Copy all elements of a parameter or state between host and device, row-major; bytes must be the exact size of the
 * tensor. Both calls wait for the device. */
WEFT_API weft_status weft_tensor_read(weft_tensor *variable, void *data, size_t bytes);
WEFT_API weft_status weft_tensor_write(weft_tensor *variable, const void *data, size_t bytes);
/* Copies a parameter or state to another one on the device, without waiting. Both have the same dtype and shape; they
 * may belong to different graphs of one context. */
WEFT_API weft_status weft_tensor_copy(weft_tensor *to, weft_tensor *from);

/* ---- snapshots: everything that training changes, kept on the device ----
 * A snapshot contains the values of all parameters and states of a graph (also those of optimizers, and the history of
 * L-BFGS), the counters of updates and of random numbers, and the scalars. After weft_snapshot_restore, training
 * continues exactly as after weft_snapshot_take; a snapshot can be restored any number of times. Uses: the best weights
 * of a training, trials of learning rates, undoing a step. A snapshot needs as much device memory as the graph's
 * variables (weft_plan_info.variable_bytes). Take and restore do not wait for the device. Variables that were created
 * after the take keep their values. */
typedef struct weft_snapshot weft_snapshot;
/* Creates an empty snapshot, which retains the graph. */
WEFT_API weft_status weft_snapshot_create(weft_snapshot **snapshot, weft_graph *graph);
WEFT_API void weft_snapshot_release(weft_snapshot *snapshot); /* NULL is allowed */
/* Replaces the content. Errors: WEFT_ERROR_MEMORY_LIMIT, WEFT_ERROR_DEVICE_MEMORY; the snapshot is then empty. */
WEFT_API weft_status weft_snapshot_take(weft_snapshot *snapshot);
/* WEFT_ERROR_STATE: the snapshot is empty. */
WEFT_API weft_status weft_snapshot_restore(weft_snapshot *snapshot);

/* ---- used by the macros ---- */
/* The dimensions end at the first WEFT_END. */
WEFT_API weft_tensor *weft_input_dims(weft_graph *graph, const char *name, weft_dtype dtype, int64_t d0,
    int64_t d1, int64_t d2, int64_t d3, int64_t d4, int64_t d5, int64_t d6);
WEFT_API weft_tensor *weft_parameter_dims(weft_graph *graph, const char *name, weft_initialiser initialiser,
    int64_t d0, int64_t d1, int64_t d2, int64_t d3, int64_t d4, int64_t d5, int64_t d6, int64_t d7);
#define WEFT_8_ENDS_              WEFT_END, WEFT_END, WEFT_END, WEFT_END, WEFT_END, WEFT_END, WEFT_END, WEFT_END, WEFT_END
#define WEFT_TAKE_INPUT_(...)     WEFT_TAKE_INPUT_DIMS_(__VA_ARGS__)
#define WEFT_TAKE_PARAMETER_(...) WEFT_TAKE_PARAMETER_DIMS_(__VA_ARGS__)
#define WEFT_TAKE_INPUT_DIMS_(graph, name, dtype, a, b, c, d, e, f, g, ...)                                  \
    weft_input_dims(graph, name, dtype, a, b, c, d, e, f, g)
#define WEFT_TAKE_PARAMETER_DIMS_(graph, name, initialiser, a, b, c, d, e, f, g, h, ...)                     \
    weft_parameter_dims(graph, name, initialiser, a, b, c, d, e, f, g, h)

#ifdef __cplusplus
}
#endif
#endif
