/* Every wrong expression is the graph's first error, in one line that names the op and the shapes; NULL flows
 * on. */
#include "support/fixture.h"

#include <math.h>
#include <string.h>

static const weft_initialiser zeros = {.kind = WEFT_INIT_CONSTANT};

/* The tensors that the bad uses below are made of. */
typedef struct things {
    weft_graph *graph;
    weft_tensor *x;        /* f32 (batch, 3, 4) */
    weft_tensor *row;      /* f32 (5) */
    weft_tensor *number;   /* f32 () */
    weft_tensor *labels;   /* i32 (batch) */
    weft_tensor *mask;     /* bool (3, 4) */
    weft_tensor *bytes;    /* u8 (3, 4) */
    weft_tensor *weight;   /* parameter (4, 5) */
    weft_tensor *weight_t; /* (5, 4) */
} things;

static things make_things(void) {
    weft_graph *const g = test_graph();
    weft_tensor *const weight = weft_parameter(g, "weight", zeros, 4, 5);
    const things t = {g, weft_input(g, "x", WEFT_F32, 3, 4),
        weft_input_shape(g, "row", WEFT_F32, 1, (const int64_t[]){5}),
        weft_input_shape(g, "number", WEFT_F32, 0, NULL), weft_input(g, "labels", WEFT_I32),
        weft_input_shape(g, "mask", WEFT_BOOL, 2, (const int64_t[]){3, 4}),
        weft_input_shape(g, "bytes", WEFT_U8, 2, (const int64_t[]){3, 4}), weight, weft_transpose(weight)};
    assert_weft_ok(weft_graph_status(g));
    return t;
}

#define INPUT(...)                                                                                           \
    weft_input_shape(t.graph, "bad", WEFT_F32, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t),           \
        (const int64_t[]){__VA_ARGS__})
#define INDEX(...)                                                                                           \
    weft_input_shape(t.graph, "index", WEFT_I32, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t),         \
        (const int64_t[]){__VA_ARGS__})
#define HUGE_DIM ((int64_t)1 << 62)

/* ROW(name, expression over t, status, texts of the line...): each is a test. */
#define SHAPES(ROW)                                                                                          \
    ROW(add_shapes, weft_add(t.x, t.row), SHAPE, "add", "(batch, 3, 4)", "(5)")                              \
    ROW(batches, INPUT(WEFT_BATCH, WEFT_BATCH, WEFT_BATCH, WEFT_BATCH), SHAPE, "input", "2^60 elements")     \
    ROW(parameter_bytes, weft_parameter(t.graph, "vast", zeros, (int64_t)1 << 28, (int64_t)1 << 28), MEMORY, \
        "parameter 'vast'", "288230376151711744 bytes")                                                      \
    ROW(assignment_read, weft_abs(weft_assign(t.weight, t.weight)), ARGUMENT, "abs", "no value")             \
    ROW(mul_shapes, weft_mul(t.row, t.x), SHAPE, "mul", "(batch, 3, 4)", "(5)")                              \
    ROW(where_shapes, weft_where(t.mask, t.row, t.row), SHAPE, "where", "(3, 4)", "(5)")                     \
    ROW(matmul_inner, weft_matmul(t.x, t.weight_t), SHAPE, "matmul", "(batch, 3, 4)", "(5, 4)")              \
    ROW(matmul_rank, weft_matmul(t.x, t.row), SHAPE, "matmul", "(batch, 3, 4)", "(5)")                       \
    ROW(matmul_number, weft_matmul(t.number, t.number), SHAPE, "matmul", "()")                               \
    ROW(linear_weight, weft_linear_with(t.x, t.weight, NULL), SHAPE, "linear", "(batch, 3, 4)", "(4, 5)")    \
    ROW(linear_bias, weft_linear_with(t.x, t.weight_t, t.weight), SHAPE, "(4, 5)")                           \
    ROW(sum_axis, weft_sum(t.x, 3), SHAPE, "sum", "3", "(batch, 3, 4)")                                      \
    ROW(mean_axis, weft_mean(t.x, -4), SHAPE, "mean", "-4", "(batch, 3, 4)")                                 \
    ROW(max_axis, weft_max(t.row, 1), SHAPE, "max", "1", "(5)")                                              \
    ROW(argmax_axis, weft_argmax(t.number, 0), SHAPE, "argmax", "()")                                        \
    ROW(min_axis, weft_min(t.x, 3), SHAPE, "min", "3", "(batch, 3, 4)")                                      \
    ROW(argmin_axis, weft_argmin(t.number, 0), SHAPE, "argmin", "()")                                        \
    ROW(prod_axis, weft_prod(t.x, -4), SHAPE, "prod", "-4", "(batch, 3, 4)")                                 \
    ROW(var_axis, weft_var(t.row, 1), SHAPE, "var", "1", "(5)")                                              \
    ROW(std_axis, weft_std(t.row, -2), SHAPE, "std", "-2", "(5)")                                            \
    ROW(norm_axis, weft_norm(t.row, 1), SHAPE, "norm", "1", "(5)")                                           \
    ROW(logsumexp_axis, weft_logsumexp(t.row, 1), SHAPE, "logsumexp", "1", "(5)")                            \
    ROW(any_axis, weft_any(t.mask, 2), SHAPE, "any", "2", "(3, 4)")                                          \
    ROW(all_axis, weft_all(t.mask, 2), SHAPE, "all", "2", "(3, 4)")                                          \
    ROW(count_nonzero_axis, weft_count_nonzero(t.mask, 2), SHAPE, "count_nonzero", "2", "(3, 4)")            \
    ROW(min_of_nothing, weft_min(INPUT(3, 0), 1), SHAPE, "input", "zero")                                    \
    ROW(softmax_axis, weft_softmax(t.x, 3), SHAPE, "softmax", "(batch, 3, 4)")                               \
    ROW(log_softmax_axis, weft_log_softmax(t.number, 0), SHAPE, "log_softmax", "()")                         \
    ROW(cross_entropy_shapes, weft_cross_entropy(t.x, t.labels), SHAPE, "cross_entropy", "(batch, 3, 4)",    \
        "(batch)")                                                                                           \
    ROW(mse_shapes, weft_mse(t.x, t.row), SHAPE, "(batch, 3, 4)", "(5)")                                     \
    ROW(reshape_count, weft_reshape(t.x, WEFT_BATCH, 13), SHAPE, "reshape", "(batch, 3, 4)", "(batch, 13)")  \
    ROW(reshape_batch, weft_reshape(t.x, 12), SHAPE, "reshape", "(batch, 3, 4)", "(12)")                     \
    ROW(reshape_zero, weft_reshape(t.x, WEFT_BATCH, 0), SHAPE, "reshape", "0")                               \
    ROW(permute_twice, weft_permute(t.x, 0, 1, 1), SHAPE, "permute", "(batch, 3, 4)")                        \
    ROW(permute_few, weft_permute(t.x, 1, 0), SHAPE, "permute", "(batch, 3, 4)")                             \
    ROW(transpose_row, weft_transpose(t.row), SHAPE, "transpose", "(5)")                                     \
    ROW(flatten_number, weft_flatten(t.number), SHAPE, "flatten", "()")                                      \
    ROW(expand_shapes, weft_expand(t.row, 2, (const int64_t[]){5, 1}), SHAPE, "expand", "(5)", "(5, 1)")     \
    ROW(expand_rank, weft_expand(t.row, 9, (const int64_t[]){1, 1, 1, 1, 1, 1, 1, 1, 5}), SHAPE, "expand")   \
    ROW(slice_empty, weft_slice(t.row, 0, 2, 2), SHAPE, "slice", "2", "(5)")                                 \
    ROW(slice_outside, weft_slice(t.row, 0, 2, 6), SHAPE, "slice", "6", "(5)")                               \
    ROW(slice_before, weft_slice(t.row, 0, -6, 3), SHAPE, "slice", "-6", "(5)")                              \
    ROW(slice_axis, weft_slice(t.row, 1, 0, 1), SHAPE, "slice", "(5)")                                       \
    ROW(slice_batch, weft_slice(t.x, 0, 2, 1), SHAPE, "slice", "(batch, 3, 4)")                              \
    ROW(concat_shapes, weft_concat((weft_tensor *const[]){t.x, t.row}, 2, 0), SHAPE, "concat",               \
        "(batch, 3, 4)", "(5)")                                                                              \
    ROW(concat_axis, weft_concat((weft_tensor *const[]){t.row, t.row}, 2, 1), SHAPE, "concat", "(5)")        \
    ROW(assign_shapes, weft_assign(t.weight, t.row), SHAPE, "assign", "weight", "(4, 5)", "(5)")             \
    ROW(gradient_loss, weft_gradient(t.row, t.weight), SHAPE, "(5)")                                         \
    ROW(uniform_zero, weft_uniform(t.graph, 0, 1, 1, (const int64_t[]){0}), SHAPE, "uniform", "0")           \
    ROW(input_zero, INPUT(3, 0), SHAPE, "input", "0")                                                        \
    ROW(input_overflow, INPUT(HUGE_DIM, 3), SHAPE, "input")                                                  \
    ROW(input_product, INPUT(1 << 30, 1 << 30, 1 << 30), SHAPE, "input")                                     \
    ROW(input_negative, INPUT(INT64_MIN + 1), SHAPE, "input")                                                \
    ROW(input_rank, INPUT(1, 1, 1, 1, 1, 1, 1, 1, 1), SHAPE, "bad", "9")                                     \
    ROW(expand_overflow, weft_expand(t.number, 2, (const int64_t[]){HUGE_DIM, HUGE_DIM}), SHAPE, "expand")   \
    ROW(parameter_batch, weft_parameter(t.graph, "p", zeros, WEFT_BATCH), SHAPE, "'p'")                      \
    ROW(parameter_zero, weft_parameter(t.graph, "p", zeros, 0), SHAPE, "parameter", "0")                     \
    ROW(matmul_lead, weft_matmul(t.x, INPUT(7, 4, 5)), SHAPE, "matmul", "leading dimensions", "(7, 4, 5)")   \
    ROW(index_batches, weft_index_select(t.x, 1, INDEX(WEFT_BATCH, WEFT_BATCH)), SHAPE, "index_select",      \
        "more than one batch axis")                                                                          \
    ROW(index_rank, weft_index_select(t.x, 1, INDEX(1, 1, 1, 1, 1, 1, 2)), SHAPE, "index_select",            \
        "too many axes")                                                                                     \
    ROW(einsum_rank, weft_einsum("...a,...b->...ab", INPUT(1, 1, 1, 1, 1, 1, 1, 3), t.x), ARGUMENT,          \
        "einsum", "more axes than the highest rank")                                                         \
    ROW(input_no_dims, weft_input_shape(t.graph, "bad", WEFT_F32, 2, NULL), SHAPE, "bad")

#define DTYPES(ROW)                                                                                          \
    ROW(add_dtypes, weft_add(t.x, weft_constant(t.graph, WEFT_I32, 1)), DTYPE, "add", "f32", "i32")          \
    ROW(add_bytes, weft_add(t.bytes, t.bytes), DTYPE, "add", "u8")                                           \
    ROW(div_dtype, weft_div(t.labels, t.labels), DTYPE, "div", "i32")                                        \
    ROW(exp_dtype, weft_exp(t.labels), DTYPE, "exp", "i32")                                                  \
    ROW(relu_bool, weft_relu(t.mask), DTYPE, "relu", "bool")                                                 \
    ROW(where_dtype, weft_where(t.x, t.x, t.x), DTYPE, "where", "f32")                                       \
    ROW(less_dtype, weft_less(t.mask, t.mask), DTYPE, "less", "bool")                                        \
    ROW(sum_dtype, weft_sum(t.bytes), DTYPE, "sum", "u8")                                                    \
    ROW(mean_dtype, weft_mean(t.labels), DTYPE, "mean", "i32")                                               \
    ROW(min_dtype, weft_min(t.bytes), DTYPE, "min", "u8")                                                    \
    ROW(max_dtype, weft_max(t.mask), DTYPE, "max", "bool")                                                   \
    ROW(argmin_dtype, weft_argmin(t.mask), DTYPE, "argmin", "bool")                                          \
    ROW(prod_dtype, weft_prod(t.bytes), DTYPE, "prod", "u8")                                                 \
    ROW(var_dtype, weft_var(t.labels), DTYPE, "var", "i32")                                                  \
    ROW(std_dtype, weft_std(t.labels), DTYPE, "std", "i32")                                                  \
    ROW(norm_dtype, weft_norm(t.labels), DTYPE, "norm", "i32")                                               \
    ROW(logsumexp_dtype, weft_logsumexp(t.mask), DTYPE, "logsumexp", "bool")                                 \
    ROW(matmul_dtype, weft_matmul(t.bytes, t.bytes), DTYPE, "matmul", "u8")                                  \
    ROW(softmax_dtype, weft_softmax(t.labels, 0), DTYPE, "softmax", "i32")                                   \
    ROW(cross_entropy_dtype, weft_cross_entropy(t.x, t.mask), DTYPE, "cross_entropy", "bool")                \
    ROW(dropout_dtype, weft_dropout(t.labels, 0.5f), DTYPE, "dropout", "i32")                                \
    ROW(cast_dtype, weft_cast(t.x, (weft_dtype)77), DTYPE, "cast", "77")                                     \
    ROW(array_dtype, weft_array(t.graph, (weft_dtype)77, &t, 0, NULL), DTYPE, "array: 77 is not a dtype")    \
    ROW(input_dtype, weft_input(t.graph, "bad", (weft_dtype)-1, 3), DTYPE, "bad")                            \
    ROW(constant_dtype, weft_constant(t.graph, WEFT_U8, 1), DTYPE, "constant", "u8")                         \
    ROW(state_dtype, weft_state_shape(t.graph, "s", WEFT_U8, zeros, 0, NULL), DTYPE, "'s'", "u8")            \
    ROW(parameter_dtype, weft_parameter_dtype(t.graph, "p", WEFT_I32, zeros, 0, NULL), DTYPE, "'p'", "i32")  \
    ROW(gradient_dtype, weft_gradient(weft_sum(t.labels), t.weight), DTYPE, "i32")                           \
    ROW(gradient_wrt, weft_gradient(weft_sum(t.x), t.labels), DTYPE, "i32")

#define ELEMENTWISE(ROW)                                                                                     \
    ROW(pow_shapes, weft_pow(t.x, t.row), SHAPE, "pow", "(batch, 3, 4)", "(5)")                              \
    ROW(atan2_shapes, weft_atan2(t.row, t.x), SHAPE, "atan2", "(5)", "(batch, 3, 4)")                        \
    ROW(logical_shapes, weft_logical_and(t.mask, weft_less(t.row, t.row)), SHAPE, "logical_and", "(3, 4)",   \
        "(5)")                                                                                               \
    ROW(prelu_shapes, weft_prelu(t.x, t.row), SHAPE, "prelu", "(5)", "(batch, 3, 4)")                        \
    ROW(prelu_rank, weft_prelu(t.x, t.weight), SHAPE, "prelu", "(4, 5)")                                     \
    ROW(pow_dtype, weft_pow(t.labels, t.labels), DTYPE, "pow", "i32")                                        \
    ROW(sin_dtype, weft_sin(t.mask), DTYPE, "sin", "bool")                                                   \
    ROW(gelu_dtype, weft_gelu(t.bytes), DTYPE, "gelu", "u8")                                                 \
    ROW(abs_dtype, weft_abs(t.bytes), DTYPE, "abs", "u8")                                                    \
    ROW(remainder_dtype, weft_remainder(t.labels, t.number), DTYPE, "remainder", "i32", "f32")               \
    ROW(isnan_dtype, weft_isnan(t.mask), DTYPE, "isnan", "bool")                                             \
    ROW(logical_dtype, weft_logical_or(t.mask, t.x), DTYPE, "logical_or", "bool", "f32")                     \
    ROW(logical_not_dtype, weft_logical_not(t.x), DTYPE, "logical_not", "f32")                               \
    ROW(clamp_dtype, weft_clamp(t.bytes, 0, 1), DTYPE, "clamp", "u8")                                        \
    ROW(hardtanh_dtype, weft_hardtanh(t.labels, -1, 1), DTYPE, "hardtanh", "i32")                            \
    ROW(leaky_relu_dtype, weft_leaky_relu(t.labels, 0.1), DTYPE, "leaky_relu", "i32")                        \
    ROW(elu_dtype, weft_elu(t.mask, 1), DTYPE, "elu", "bool")                                                \
    ROW(prelu_dtype, weft_prelu(t.x, t.labels), DTYPE, "prelu", "i32")                                       \
    ROW(pow_number_dtype, weft_pow_number(t.labels, 2), DTYPE, "pow", "i32")                                 \
    ROW(clamp_bound, weft_clamp(t.x, NAN, 1), ARGUMENT, "clamp", "NaN")                                      \
    ROW(hardtanh_bounds, weft_hardtanh(t.x, 1, 1), ARGUMENT, "hardtanh", "1")                                \
    ROW(hardtanh_bound, weft_hardtanh(t.x, -1, NAN), ARGUMENT, "hardtanh", "NaN")                            \
    ROW(add_number_i32, weft_add_number(t.labels, 0.5), ARGUMENT, "add_number", "0.5", "i32")                \
    ROW(less_number_i32, weft_less_number(t.labels, INFINITY), ARGUMENT, "less_number", "inf")

#define ARGUMENTS(ROW)                                                                                       \
    ROW(add_null, weft_add(t.x, NULL), ARGUMENT, "add", "1", "NULL")                                         \
    ROW(matmul_null, weft_matmul(NULL, t.x), ARGUMENT, "matmul", "0", "NULL")                                \
    ROW(where_null, weft_where(t.mask, NULL, t.x), ARGUMENT, "where", "NULL")                                \
    ROW(concat_null, weft_concat((weft_tensor *const[]){t.x, NULL}, 2, 0), ARGUMENT, "concat", "NULL")       \
    ROW(var_correction, weft_var_with(t.x, -1, NULL, false), ARGUMENT, "var", "-1")                          \
    ROW(std_correction, weft_std_with(t.x, -2, NULL, false), ARGUMENT, "std", "-2")                          \
    ROW(norm_order, weft_norm_with(t.x, 3, NULL, false), ARGUMENT, "norm", "3", "1, 2 or INFINITY")          \
    ROW(norm_nan, weft_norm_with(t.x, NAN, NULL, false), ARGUMENT, "norm", "nan")                            \
    ROW(uniform_order, weft_uniform(t.graph, 1, -1, 0, NULL), ARGUMENT, "uniform", "from 1 to -1")           \
    ROW(uniform_nan, weft_uniform(t.graph, NAN, 1, 0, NULL), ARGUMENT, "uniform", "from nan to 1")           \
    ROW(uniform_wide, weft_uniform(t.graph, -3e38f, 3e38f, 0, NULL), ARGUMENT, "uniform", "finite")          \
    ROW(normal_deviation, weft_normal(t.graph, 0, -1, 0, NULL), ARGUMENT, "normal", "deviation -1")          \
    ROW(normal_nan, weft_normal(t.graph, 0, NAN, 0, NULL), ARGUMENT, "normal", "deviation nan")              \
    ROW(normal_mean, weft_normal(t.graph, INFINITY, 1, 0, NULL), ARGUMENT, "normal", "mean inf")             \
    ROW(dropout_one, weft_dropout(t.x, 1), ARGUMENT, "dropout", "1")                                         \
    ROW(dropout_nan, weft_dropout(t.x, NAN), ARGUMENT, "dropout")                                            \
    ROW(assign_input, weft_assign(t.x, t.x), ARGUMENT, "assign", "input")                                    \
    ROW(input_no_name, weft_input(t.graph, NULL, WEFT_F32, 3), ARGUMENT, "name")                             \
    ROW(concat_count, weft_concat((weft_tensor *const[]){t.row}, (size_t)1 << 20, 0), ARGUMENT, "concat",    \
        "1048576", "at most 4096")                                                                           \
    ROW(state_no_name, weft_state_shape(t.graph, NULL, WEFT_F32, zeros, 0, NULL), ARGUMENT, "state: name")   \
    ROW(attention_no_weights, weft_multi_head_attention_with(t.x, t.x, t.x, 1, NULL, NULL), ARGUMENT,        \
        "weights must not be NULL")                                                                          \
    ROW(attention_name,                                                                                      \
        weft_multi_head_attention_with(t.x, t.x, t.x, 1, &(weft_multi_head_weights){0},                      \
            &(weft_multi_head_options){WEFT_MULTI_HEAD_OPTIONS_INIT, .name = "a"}),                          \
        ARGUMENT, "name and no_bias")                                                                        \
    ROW(embedding_norm, weft_embedding(t.labels, 5, 3, .max_norm = -1), ARGUMENT, "max_norm is -1")          \
    ROW(cell_reset,                                                                                          \
        weft_lstm_cell_layer(INPUT(WEFT_BATCH, 3), 4, NULL, NULL,                                            \
            &(weft_cell_options){WEFT_CELL_OPTIONS_INIT, .reset_first = true})                               \
            .h,                                                                                              \
        ARGUMENT, "reset_first is set, but only a GRU has it")                                               \
    ROW(array_no_data, weft_array(t.graph, WEFT_F32, NULL, 0, NULL), ARGUMENT, "array", "NULL")              \
    ROW(same_name, weft_parameter(t.graph, "weight", zeros, 3), ARGUMENT, "weight")                          \
    ROW(unknown_initialiser, weft_parameter(t.graph, "p", ((weft_initialiser){.kind = 99}), 3), ARGUMENT,    \
        "initialiser")

/* Later errors and uses of NULL change nothing, and every later call tells of the first. */
static void check_kept(things t, weft_tensor *bad, weft_status status, const char *const *texts) {
    assert_null(bad);
    test_assert_fails(weft_graph_status(t.graph), status, "weft_graph_status", __FILE__, __LINE__, texts);
    char first[512];
    strncpy(first, weft_last_error(), sizeof first - 1);
    first[sizeof first - 1] = '\0';
    assert_null(strchr(first, '\n'));
    assert_null(weft_relu(weft_add(bad, t.x)));
    assert_null(weft_softmax(t.x, 99));
    assert_null(weft_mul(t.x, t.x));
    weft_plan *plan = (weft_plan *)(void *)&plan;
    weft_tensor *const outputs[] = {t.x};
    assert_int_equal(weft_plan_create(&plan, outputs, 1, NULL), status);
    assert_string_equal(weft_last_error(), first);
    weft_tensor *gradient = t.x;
    assert_int_equal(weft_gradients(t.x, outputs, 1, &gradient), status);
    assert_string_equal(weft_last_error(), first);
}

#define TEST(name, expression, status, ...)                                                                  \
    static void test_##name(void **state) {                                                                  \
        (void)state;                                                                                         \
        const things t = make_things();                                                                      \
        const char *const texts[] = {__VA_ARGS__, NULL};                                                     \
        check_kept(t, (expression), WEFT_ERROR_##status, texts);                                             \
        weft_graph_release(t.graph);                                                                         \
    }
SHAPES(TEST)
DTYPES(TEST)
ELEMENTWISE(TEST)
ARGUMENTS(TEST)

/* ---- NULL everywhere ---- */

static void test_null_flows(void **state) {
    (void)state;
    assert_null(weft_add(NULL, NULL));
    assert_null(weft_exp(NULL));
    assert_null(weft_sum(NULL));
    assert_null(weft_min(NULL));
    assert_null(weft_var(NULL));
    assert_null(weft_norm(NULL, 1));
    assert_null(weft_any(NULL));
    assert_null(weft_reshape(NULL, 3));
    assert_null(weft_number(NULL, 1));
    assert_null(weft_concat(NULL, 2, 0));
    assert_null(weft_context_graph(NULL));
    assert_non_null(strstr(weft_last_error(), "weft_context_graph: context is NULL"));
    assert_null(weft_concat((weft_tensor *const[]){NULL}, 0, 0));
    assert_null(weft_gradient(NULL, NULL));
    assert_null(weft_assign(NULL, NULL));
    assert_null(weft_input(NULL, "x", WEFT_F32));
    assert_null(weft_parameter(NULL, "x", zeros));
    assert_null(weft_scalar(NULL, "x", 1));
    assert_null(weft_uniform(NULL, 0, 1, 0, NULL));
    assert_null(weft_tensor_graph(NULL));
    assert_int_equal(weft_tensor_rank(NULL), -1);
    assert_int_equal(weft_tensor_dimension(NULL, 0), 0);
    assert_string_equal(weft_tensor_name(NULL), "");
    weft_graph_release(NULL);
    assert_int_equal(weft_gradients(NULL, NULL, 0, NULL), WEFT_ERROR_ARGUMENT);
    assert_int_equal(weft_graph_create(NULL, test_context()), WEFT_ERROR_ARGUMENT);
    weft_graph *graph = NULL;
    assert_int_equal(weft_graph_create(&graph, NULL), WEFT_ERROR_ARGUMENT);
    assert_int_not_equal(weft_scalar_set(NULL, 1), WEFT_OK);
    assert_int_not_equal(weft_tensor_read(NULL, &graph, 1), WEFT_OK);
}

/* Tensors of two graphs do not meet; the error stands in one of them. */
static void test_two_graphs(void **state) {
    (void)state;
    const things a = make_things(), b = make_things();
    assert_null(weft_add(a.x, b.x));
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_graph_status(a.graph), "add", "graph");
    weft_tensor *gradient = a.x;
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_gradients(weft_sum(b.x), &a.weight, 1, &gradient),
        "weft_gradients: tensor 0 belongs to another graph");
    assert_weft_ok(weft_graph_status(b.graph));
    weft_graph_release(a.graph);
    weft_graph_release(b.graph);
}

static void test_tensor_sizes(void **state) {
    (void)state;
    const things t = make_things();
    float values[20] = {0};
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_tensor_write(t.weight, values, 16), "weight", "16", "80");
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_tensor_read(t.weight, values, 84), "weight", "84", "80");
    assert_int_equal(weft_tensor_read(t.x, values, 80), WEFT_ERROR_ARGUMENT);
    assert_int_equal(weft_tensor_read(t.weight, NULL, 80), WEFT_ERROR_ARGUMENT);
    assert_int_equal(weft_scalar_set(t.x, 1), WEFT_ERROR_ARGUMENT);
    assert_weft_ok(weft_tensor_read(t.weight, values, 80));
    assert_weft_ok(weft_graph_status(t.graph));
    weft_graph_release(t.graph);
}

#define UNIT_TEST(name, ...) cmocka_unit_test(test_##name),

int main(void) {
    const struct CMUnitTest tests[] = {SHAPES(UNIT_TEST) DTYPES(UNIT_TEST) ELEMENTWISE(UNIT_TEST)
                                           ARGUMENTS(UNIT_TEST) cmocka_unit_test(test_null_flows),
        cmocka_unit_test(test_two_graphs), cmocka_unit_test(test_tensor_sizes)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
