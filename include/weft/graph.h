/* weft/graph.h: networks as graphs of symbolic tensors.
 *
 * Every op takes tensors and returns a borrowed tensor that the graph owns. When an op fails it returns NULL;
 * every op that takes NULL returns NULL, and the graph keeps the first error, which weft_graph_status() and
 * every later function of the graph that returns a weft_status report. What fails inside a function that returns
 * a weft_status (weft_gradients, weft_minimize, weft_plan_create, weft_predict, weft_trainer_create, ...) is the error
 * of that call only: the graph is as it was before, without half-created states, and the call may be repeated. The
 * functions that belong to expressions, weft_split and weft_scope_begin with their relatives, say so. A tensor holds no
 * numbers; a plan (plan.h) computes them.
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

/* Number formats. Floats and i32 are computed with: floats narrower than f32 in f32, each result rounded to
 * nearest even; f64 where the device has it (cl_khr_fp64, else WEFT_ERROR_UNSUPPORTED names the device). i64,
 * u8 and bool are stored, moved, and cast (weft_cast) to be computed with. */
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
/* The dimension of the batch: its size is not part of the network and is chosen when a plan is made.
 * WEFT_BATCH * k is a dimension of k times the batch size, which can result from a reshape. What is cut from a batch axis
 * (weft_slice), added to it (weft_pad) or joined with it (weft_concat) has a dimension k * batch + n, which
 * weft_tensor_dimension gives as a number that stands for it: it may be given to weft_reshape and the like, and shapes are
 * printed as (batch - 1, 64). Plans whose outputs need such a tensor are those of a network with numbers for the batch. */
#define WEFT_BATCH ((int64_t)-1)
/* A second dimension whose size is not part of the network: the length of sequences, which weft_plan_options.length
 * gives. Inputs, positions (weft_arange), slices, padding and what is filled may have it, with numbers: WEFT_LENGTH + 1,
 * 2 * WEFT_LENGTH. Parameters and states may not. It is a number that stands for the length, and shapes are printed with
 * the word: (batch, length, 64). What takes a number that is no size (a margin, a rate, a stride, how many epochs) refuses it, and
 * what weft_tensor_dimension gives of a batch axis that is cut, with WEFT_ERROR_ARGUMENT. In a graph that has the length, larger
 * ordinary dimensions than a quarter of it are refused where they meet it, and batch axes are neither cut nor lengthened. */
#define WEFT_LENGTH INT64_C(120748753)
/* Ends a list of dimensions or axes; the macros below append it. */
#define WEFT_END INT64_MIN

/* ---- lists and options in place, in C: each stands for the arguments of a call that would else be variables ----
 *     weft_concat(WEFT_TENSORS(low, up), 1)                             an array of tensors, and how many they are
 *     weft_normal(graph, 0, 1, WEFT_SHAPE(WEFT_BATCH, 16))              the rank of a shape, and its dimensions
 *     weft_linear_layer(x, 10, WEFT_WITH(linear, .name = "head"))       a weft_linear_options; all other fields are 0
 * Each element is evaluated once. What they make lives until the end of the block. */
#ifndef __cplusplus
#define WEFT_TENSORS(...)                                                                                    \
    (weft_tensor *const[]){__VA_ARGS__}, sizeof((weft_tensor *const[]){__VA_ARGS__}) / sizeof(weft_tensor *)
#define WEFT_SHAPE(...)                                                                                      \
    (int)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[]) {                     \
        __VA_ARGS__                                                                                          \
    }
#define WEFT_WITH(of, ...)                                                                                   \
    (&(const weft_##of##_options){.struct_size = sizeof(weft_##of##_options), __VA_ARGS__})
/* Layers and pools take the fields of their options as arguments with names, behind those that they always have, in any
 * order (in C; C++ calls the function of the same name that ends with _layer or _with):
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
/* The context's default graph, borrowed; NULL (and the error is recorded) when out of memory. */
WEFT_API weft_graph *weft_context_graph(weft_context *context);
WEFT_API weft_context *weft_graph_context(const weft_graph *graph); /* borrowed */
/* The first error of the graph's ops, WEFT_OK if there was none. */
WEFT_API weft_status weft_graph_status(weft_graph *graph);
/* Errors of the calls that follow say from where on they may come: "(after model.c:42)". An error of an op names the public
 * call that the program made and the open scopes in any case. Gives the graph back, and NULL for NULL.
 *     weft_tensor *x = weft_input(WEFT_HERE(graph), "x", WEFT_F32, 8); */
#define WEFT_HERE(graph) weft_graph_here((graph), __FILE__, __LINE__)
/* What WEFT_HERE calls. file: the text must live as long as the graph; NULL: errors name no place. */
WEFT_API weft_graph *weft_graph_here(weft_graph *graph, const char *file, int line);

/* In which format plans keep what runs through the network. Parameters, their gradients, optimizer state, statistics of
 * norms, losses, inputs and outputs are f32 in each of them, and so are sums and everything in registers. */
typedef enum weft_precision {
    WEFT_PRECISION_F32, /* as the tensors' dtypes say; the default */
    /* Mixed precision: f32 activations and their gradients are stored in bf16, and the operands of matrix products are
     * rounded to bf16 where a matrix engine multiplies them, as are those of convolutions; sums are f32. Exponents are
     * those of f32, so that losses need no scaling. Attention and recurrent layers read and store f32; the operands of their products
     * are rounded in the same way. */
    WEFT_PRECISION_BF16,
    /* The same in f16, which has three more bits of fraction and a least normal number of 6e-5: weft_gradients scales the
     * loss (weft_loss_scaling) and gives gradients without the scale, and a step of an optimizer whose gradients
     * hold an infinity or NaN is skipped. */
    WEFT_PRECISION_F16
} weft_precision;
/* Of the plans that are made from now on; those that exist keep theirs. WEFT_PRECISION_F16: before gradients and updates
 * are made. Errors: WEFT_ERROR_ARGUMENT if graph is NULL or precision is none of these; WEFT_ERROR_STATE if there are
 * updates already that would not scale. */
WEFT_API weft_status weft_graph_set_precision(weft_graph *graph, weft_precision precision);

/* How losses are scaled in f16, as by PyTorch's GradScaler. The scale begins with `initial`. A step whose gradients hold
 * an infinity or NaN is skipped, and multiplies the scale by `backoff`; `interval` steps in a row that are not
 * multiply it by `growth`. A step that is skipped with the scale at `least` is WEFT_ERROR_NOT_FINITE at the next read or
 * wait of its plan, with the step and the tensor in which the overflow began. All runs of a graph share one scale.
 *
 * A skipped run changes nothing but the scale: parameters, states of optimizers, averages, running statistics and
 * variables of weft_assign keep their values, and updates do not count it. It leaves out the whole update where gradients
 * are accumulated. */
typedef struct weft_loss_scaling {
    size_t struct_size;
    float initial;     /* default 65536 */
    float growth;      /* default 2; at least 1 */
    float backoff;     /* default 0.5; below 1 */
    float least;       /* default 2^-14 */
    uint32_t interval; /* default 2000 */
} weft_loss_scaling;
#define WEFT_LOSS_SCALING_INIT .struct_size = sizeof(weft_loss_scaling)
/* A field of 0 is its default. Errors: WEFT_ERROR_STATE after gradients were made in f16; WEFT_ERROR_ARGUMENT if graph is
 * NULL or a field is out of its range. */
WEFT_API weft_status weft_graph_set_loss_scaling(weft_graph *graph, const weft_loss_scaling *scaling);
typedef struct weft_loss_scale {
    float scale;
    uint64_t good_steps;    /* since the scale changed */
    uint64_t skipped_steps; /* in all */
    uint64_t steps;         /* in all, the skipped ones included */
} weft_loss_scale;
/* After the runs so far, for which it waits. Zeros where nothing is scaled. Errors: WEFT_ERROR_ARGUMENT if graph or now is
 * NULL; those of the runs. */
WEFT_API weft_status weft_graph_loss_scale(weft_graph *graph, weft_loss_scale *now);

/* How exactly f32 matrices are multiplied, with the words and the meaning of PyTorch's
 * torch.set_float32_matmul_precision. What is stored stays f32, and sums are f32. It matters where the device has a matrix
 * engine that multiplies 16-bit numbers; elsewhere all three are in f32. Infinities, NaN and numbers near the
 * ends of the range give with `highest` and `high` what f32 gives. Errors relative to the spread of a product's
 * elements, of random matrices: 3e-7, 4e-6, 2e-3. */
typedef enum weft_matmul_precision {
    WEFT_MATMUL_PRECISION_HIGHEST, /* as exact as f32, by six products in bf16 where they are faster; the default */
    WEFT_MATMUL_PRECISION_HIGH, /* operands with 16 bits of fraction: matrix products from three products in bf16 */
    /* Operands rounded to bf16, of matrix products, convolutions, attention and recurrent layers. */
    WEFT_MATMUL_PRECISION_MEDIUM
} weft_matmul_precision;
/* Of the plans that are made from now on. Errors: WEFT_ERROR_ARGUMENT if graph is NULL or precision is none of these. */
WEFT_API weft_status weft_graph_set_matmul_precision(weft_graph *graph, weft_matmul_precision precision);

/* ---- inputs, parameters, states and constants ---- */

/* The initial values of a parameter. Fans as in PyTorch: a shape (out, in, k...) has fan_in = in·k,
 * fan_out = out·k. */
typedef enum weft_initialiser_kind {
    WEFT_INIT_CONSTANT,         /* a */
    WEFT_INIT_UNIFORM,          /* U(a, b) */
    WEFT_INIT_NORMAL,           /* N(mean a, standard deviation b) */
    WEFT_INIT_GLOROT_UNIFORM,   /* U(±a·sqrt(6 / (fan_in + fan_out))); Glorot and Bengio 2010 */
    WEFT_INIT_GLOROT_NORMAL,    /* N(0, a·sqrt(2 / (fan_in + fan_out))) */
    WEFT_INIT_HE_UNIFORM,       /* U(±a·sqrt(3 / fan_in)); He et al. 2015, a = sqrt(2) for relu */
    WEFT_INIT_HE_NORMAL,        /* N(0, a / sqrt(fan_in)) */
    WEFT_INIT_TRUNCATED_NORMAL, /* N(a, b) given that it is in [c, d] */
    WEFT_INIT_ORTHOGONAL,       /* a · Q, see weft_init_orthogonal */
    WEFT_INIT_CUSTOM            /* the values that `fill` writes */
} weft_initialiser_kind;

/* Initialise it by named fields, or use the functions of nn.h (weft_he_normal) and io.h
 * (weft_init_from_file). */
typedef struct weft_initialiser weft_initialiser;
struct weft_initialiser {
    weft_initialiser_kind kind;
    float a, b, c, d;
    /* CUSTOM: writes all values of a new parameter or state, row-major, while it is created. Any status other
     * than WEFT_OK becomes the error of the graph. weft_tensor_rank and weft_tensor_dimension return the
     * shape. */
    weft_status (*fill)(const weft_initialiser *self, const weft_tensor *variable, float *values);
    void *user;               /* for fill */
    const char *path, *entry; /* used by weft_init_from_file */
};

/* A tensor that the caller writes before each run. weft_predict and trainers find inputs by name: an output that
 * depends on two of one name is an error there. The dimensions are those of one example; the shape is
 * (batch, dims...):
 *     weft_input(g, "image", WEFT_F32, 1, 8, 8)    has the shape (batch, 1, 8, 8) */
#define weft_input(...) WEFT_TAKE_INPUT_(__VA_ARGS__, WEFT_8_ENDS_)
/* The same, but dims are all dimensions of the shape: WEFT_BATCH may be at any position, or absent. */
WEFT_API weft_tensor *weft_input_shape(
    weft_graph *graph, const char *name, weft_dtype dtype, int rank, const int64_t *dims);

/* A trainable f32 tensor that belongs to the graph and keeps its values from plan to plan. The dimensions are
 * the whole shape. Parameters may be created at any time: updates that exist already do not train later ones, new ones
 * do. Names, with the scopes around them, are those of one parameter or state (else WEFT_ERROR_ARGUMENT, but for scopes that
 * share), and must not begin with "weft.", which is for what checkpoints keep beside the weights (io.h):
 * WEFT_ERROR_ARGUMENT.
 *     weft_parameter(g, "w", weft_glorot_uniform(), 10, 64)    has the shape (10, 64) */
#define weft_parameter(...) WEFT_TAKE_PARAMETER_(__VA_ARGS__, WEFT_8_ENDS_)
WEFT_API weft_tensor *weft_parameter_shape(
    weft_graph *graph, const char *name, weft_initialiser initialiser, int rank, const int64_t *dims);
/* The same of any float. weft_minimize and the related functions train f32 parameters only; an error names
 * the others. */
WEFT_API weft_tensor *weft_parameter_dtype(weft_graph *graph, const char *name, weft_dtype dtype,
    weft_initialiser initialiser, int rank, const int64_t *dims);

/* A tensor that belongs to the graph and is not trained (running statistics, optimizer state, tables); a
 * float, or i32 with a constant initialiser. Names are as of weft_parameter: one that a parameter or state of the graph has is
 * WEFT_ERROR_ARGUMENT, unless a scope shares it. Any number of states may have none (""): checkpoints keep such a state if
 * something assigns to it. */
WEFT_API weft_tensor *weft_state_shape(weft_graph *graph, const char *name, weft_dtype dtype,
    weft_initialiser initialiser, int rank, const int64_t *dims);

/* The same of a state of which no file has anything, neither of weights nor a checkpoint: caches of keys, and what is computed
 * anew in each process. What a file has under its name is passed over. As PyTorch's register_buffer(persistent=False). */
WEFT_API weft_tensor *weft_transient_state(weft_graph *graph, const char *name, weft_dtype dtype,
    weft_initialiser initialiser, int rank, const int64_t *dims);

/* A constant of rank 0, which broadcasts to any shape. A float (rounded to the nearest), i32 or bool. WEFT_LENGTH is no
 * number (WEFT_ERROR_ARGUMENT): weft_size gives it. */
WEFT_API weft_tensor *weft_constant(weft_graph *graph, weft_dtype dtype, double value);
/* A constant with the graph and dtype of x: weft_mul(x, weft_number(x, 0.5)). */
WEFT_API weft_tensor *weft_number(weft_tensor *x, double value);
/* The size of an axis as a tensor: i32 of rank 0, which weft_cast makes a float. A number where the size is one; along the
 * batch, WEFT_LENGTH, or an axis that is made of them, the size that each plan has, from one graph. No gradient. NULL after
 * an error: WEFT_ERROR_SHAPE (no such axis).
 *     weft_div(weft_sum(x), weft_cast(weft_size(x, 0), WEFT_F32))        a mean over the batch */
WEFT_API weft_tensor *weft_size(weft_tensor *x, int axis);
/* An f32 of rank 0 whose value can be changed between runs without a new plan (a learning rate). */
WEFT_API weft_tensor *weft_scalar(weft_graph *graph, const char *name, float value);
/* WEFT_ERROR_ARGUMENT: it is no scalar, or the rate of an optimizer and the value is below 0 or not finite. */
WEFT_API weft_status weft_scalar_set(weft_tensor *scalar, float value);
WEFT_API weft_status weft_scalar_get(const weft_tensor *scalar, float *value);
/* An array of numbers (copied) of any dtype, like a state without a name. */
WEFT_API weft_tensor *weft_array(
    weft_graph *graph, weft_dtype dtype, const void *data, int rank, const int64_t *dims);

/* ---- scopes: names, and layers that are used twice ---- */
/* Until its weft_scope_end, the names of parameters and states, and so of layers, begin with "name.", within the scopes
 * around it. name NULL or "": they keep their names. Layers without a name are numbered from 1 in each scope.
 *
 * share: a parameter or state whose name exists is that one, and its initialiser is not used again; else it is made. So
 * a function that opens a scope that shares makes one network, however often it is called: the towers of a siamese
 * network, a discriminator for real and generated images, a decoder for training and for sampling.
 *     weft_tensor *tower(weft_graph *graph, weft_tensor *x) {
 *         weft_scope_begin(graph, "tower", true);
 *         weft_tensor *y = weft_linear(weft_relu(weft_linear(x, 64)), 16);
 *         weft_scope_end(graph);
 *         return y;                                            "tower.linear1.weight", "tower.linear2.weight", ...
 *     }
 * Scopes within one that shares do so, too. A name that is shared with another shape or dtype is WEFT_ERROR_SHAPE,
 * which names both; one that exists and is not shared is WEFT_ERROR_ARGUMENT. Both calls also record their error in
 * the graph, so that their status need not be looked at. Errors of weft_scope_begin: WEFT_ERROR_ARGUMENT (more than 254
 * characters of open scopes); of weft_scope_end: WEFT_ERROR_STATE (no scope is open). */
WEFT_API weft_status weft_scope_begin(weft_graph *graph, const char *name, bool share);
WEFT_API weft_status weft_scope_end(weft_graph *graph); /* of the scope that was opened last */
/* What is made in the innermost open scope from now on, and in scopes within it, is in its form for inference in every plan,
 * those for training included: dropout does nothing, also within attention, recurrent layers and models, and norms with running
 * statistics use them and leave them as they are. It is PyTorch's eval() for a part of a network: a teacher, a frozen body, or
 * with a scope that shares a second use of a network that is trained beside it. Gradients flow, and parameters are
 * trained, as elsewhere (weft_freeze stops that). on false: the forms that plans choose, again.
 *     weft_scope_begin(graph, "teacher", false);
 *     weft_scope_inference(graph, true);
 *     weft_tensor *wanted = weft_resnet18(image, 10, NULL);
 *     weft_scope_end(graph);
 * The error is recorded in the graph, too: WEFT_ERROR_STATE (no scope is open), WEFT_ERROR_ARGUMENT (graph is NULL). */
WEFT_API weft_status weft_scope_inference(weft_graph *graph, bool on);
/* Moves the parameters and named states of the scope `to` towards those of the same names in the scope `from`, as one
 * output of plans: a run does to ← (1 - factor)·to + factor·from, on the device, with one launch for each run of parameters
 * that lie side by side in both; factor 1 copies, and so does every i32 state. Scopes within scopes are written with
 * dots. A target network, with `target` built like `online`:
 *     weft_tensor *follow = weft_scope_copy(graph, "online", "target", 0.005f);
 * All variables of `from` have their counterpart in `to`; `to` may have more. Not in one plan with an update of the
 * same parameters. NULL after an error: WEFT_ERROR_ARGUMENT (nothing is in the scope, or not its counterpart, a factor
 * outside of 0 < factor <= 1, a scope into itself), WEFT_ERROR_SHAPE (shapes or dtypes differ). */
WEFT_API weft_tensor *weft_scope_copy(weft_graph *graph, const char *from, const char *to, float factor);

/* ---- gradients and effects ---- */

/* d loss / d wrt, of the shape and dtype of wrt. loss: a float with one element (of any rank). Adds the nodes
 * of the backward pass, which have gradients themselves; an op on the way that has none (docs/ops.md: the second
 * gradient of CTC) is WEFT_ERROR_UNSUPPORTED. */
WEFT_API weft_tensor *weft_gradient(weft_tensor *loss, weft_tensor *wrt);
/* The same for several tensors at once; zeros for those that the loss does not reach. On an error every gradients[i] is NULL, and the graph does not keep the error. */
WEFT_API weft_status weft_gradients(
    weft_tensor *loss, weft_tensor *const *wrt, size_t count, weft_tensor **gradients);
/* variable ← value in each run of a plan that has this node among its outputs; both have the same shape and
 * dtype. All other nodes of that run see the old value. The node itself has no value: it is an output of plans, and
 * an error as the input of other nodes. Two assignments to one variable in one plan, or one to a parameter
 * beside an update of weft_minimize, are an error of weft_plan_create. */
WEFT_API weft_tensor *weft_assign(weft_tensor *variable, weft_tensor *value);
/* The same after everything else that a run does: value sees what the updates and the other assignments of the plan have
 * left in the parameters and states that it is computed from, also those of this variable. Several of them in one plan
 * see the same values, and no other node of the run sees theirs. value depends on no input (WEFT_ERROR_ARGUMENT of
 * weft_plan_create). A step of f16 that is skipped skips them, too; runs that only accumulate gradients do them. Weights
 * and pixels that stay within bounds:
 *     weft_plan_create(&plan, WEFT_TENSORS(train, weft_assign_after(p, weft_clamp(p, 0, 1))), NULL); */
WEFT_API weft_tensor *weft_assign_after(weft_tensor *variable, weft_tensor *value);
/* Returns x; no gradient flows back through it. */
WEFT_API weft_tensor *weft_stop_gradient(weft_tensor *x);
/* x (f32), which mixed precision leaves in f32: it and its gradient are stored in f32, and products, convolutions,
 * attention and recurrent layers that read one of them multiply in f32. weft_keep_f32(weft_linear(weft_keep_f32(x), 10))
 * is a layer without 16-bit numbers, forward and backward. The result has x's shape. NULL after an error:
 * WEFT_ERROR_DTYPE if x is not f32. */
WEFT_API weft_tensor *weft_keep_f32(weft_tensor *x);

/* ---- properties of tensors ---- */
WEFT_API weft_graph *weft_tensor_graph(const weft_tensor *tensor); /* borrowed; NULL for NULL */
WEFT_API weft_dtype weft_tensor_dtype(const weft_tensor *tensor);  /* WEFT_F32 for NULL */
WEFT_API int weft_tensor_rank(const weft_tensor *tensor);          /* -1 for NULL */
WEFT_API int64_t weft_tensor_dimension(
    const weft_tensor *tensor, int axis); /* axis may be negative; 0 if there is no such axis */
WEFT_API const char *weft_tensor_name(const weft_tensor *tensor); /* "" if it has none */

/* ---- the parameters and states of a graph ---- */
/* Their number, and each of them in order of creation; borrowed; NULL for an index beyond the last. */
WEFT_API size_t weft_graph_parameter_count(const weft_graph *graph);
WEFT_API weft_tensor *weft_graph_parameter(const weft_graph *graph, size_t index);
/* How many numbers the parameters of these names have (a star matches any characters; NULL: all), frozen ones included:
 * sum(p.numel() for p in model.parameters()). 0 if there are none. */
WEFT_API int64_t weft_graph_element_count(const weft_graph *graph, const char *parameters);
WEFT_API size_t weft_graph_state_count(const weft_graph *graph);
WEFT_API weft_tensor *weft_graph_state(const weft_graph *graph, size_t index);
/* The first parameter or state of that name; NULL, without an error, if there is none. */
WEFT_API weft_tensor *weft_graph_find(const weft_graph *graph, const char *name);
/* The input that was made first of those of that name; NULL, without an error, if there is none. */
WEFT_API weft_tensor *weft_graph_find_input(const weft_graph *graph, const char *name);
/* Copy all elements between host and device, row-major; bytes must be the exact size of the tensor. They wait
 * for the device. */
WEFT_API weft_status weft_tensor_read(weft_tensor *variable, void *data, size_t bytes);
WEFT_API weft_status weft_tensor_write(weft_tensor *variable, const void *data, size_t bytes);
/* Copies the elements of a parameter or state to another one on the device, without waiting; both have the same dtype and
 * shape, and may be of different graphs of one context. */
WEFT_API weft_status weft_tensor_copy(weft_tensor *to, weft_tensor *from);

/* ---- snapshots: everything that training changes, kept on the device ----
 * A snapshot holds what the graph's parameters and states hold, those of optimizers and L-BFGS's history included, the
 * counters of updates and of random numbers, and the scalars: after weft_snapshot_restore training goes on as it did after
 * weft_snapshot_take, as often as wanted. For the best weights of a training, trials of learning rates, a step that is taken
 * back. It takes as much device memory as the graph's variables (weft_plan_info.variable_bytes). Neither call waits for the
 * device. What was created since the last take keeps its value. */
typedef struct weft_snapshot weft_snapshot;
/* An empty one, which retains the graph. */
WEFT_API weft_status weft_snapshot_create(weft_snapshot **snapshot, weft_graph *graph);
WEFT_API void weft_snapshot_release(weft_snapshot *snapshot); /* NULL is allowed */
/* Replaces what it held. Errors: WEFT_ERROR_MEMORY_LIMIT, WEFT_ERROR_DEVICE_MEMORY; then it is empty. */
WEFT_API weft_status weft_snapshot_take(weft_snapshot *snapshot);
/* WEFT_ERROR_STATE: nothing has been taken. */
WEFT_API weft_status weft_snapshot_restore(weft_snapshot *snapshot);

/* ---- used by the macros ---- */
/* Dimensions up to the first WEFT_END. */
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
