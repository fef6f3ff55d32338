/* Every wrong use of a convolution is the graph's first error, in one line that names the op and what is
 * wrong. */
#include "support/fixture.h"

#include <weft/convolution.h>

/* The tensors that the bad uses below are made of. */
typedef struct things {
    weft_graph *graph;
    weft_tensor *x;      /* f32 (batch, 6, 5, 4) */
    weft_tensor *w;      /* f32 (4, 6, 3, 3) */
    weft_tensor *wt;     /* f32 (6, 4, 3, 3), for transposed ones */
    weft_tensor *flat;   /* f32 (batch, 6) */
    weft_tensor *deep;   /* f32 (batch, 6, 2, 2, 2, 2) */
    weft_tensor *line;   /* f32 (4, 6, 3) */
    weft_tensor *four;   /* f32 (4) */
    weft_tensor *three;  /* f32 (3) */
    weft_tensor *whole;  /* i32 (batch, 6, 5, 4) */
    weft_tensor *w_i32;  /* i32 (4, 6, 3, 3) */
    weft_tensor *b_i32;  /* i32 (4) */
    weft_tensor *tall;   /* f32 (2, 6, batch, 4) */
    weft_tensor *wide;   /* f32 (2, batch, 5, 4) */
    weft_tensor *wide_w; /* f32 (batch, 6, 3, 3) */
} things;

static weft_tensor *input(weft_graph *graph, weft_dtype dtype, int rank, const int64_t *dims) {
    return weft_input_shape(graph, "input", dtype, rank, dims);
}
#define F32(...) input(g, WEFT_F32, sizeof((int64_t[]){__VA_ARGS__}) / 8, (const int64_t[]){__VA_ARGS__})
#define I32(...) input(g, WEFT_I32, sizeof((int64_t[]){__VA_ARGS__}) / 8, (const int64_t[]){__VA_ARGS__})

static things make_things(void) {
    weft_graph *const g = test_graph();
    const things t = {.graph = g,
        .x = F32(WEFT_BATCH, 6, 5, 4),
        .w = F32(4, 6, 3, 3),
        .wt = F32(6, 4, 3, 3),
        .flat = F32(WEFT_BATCH, 6),
        .deep = F32(WEFT_BATCH, 6, 2, 2, 2, 2),
        .line = F32(4, 6, 3),
        .four = F32(4),
        .three = F32(3),
        .whole = I32(WEFT_BATCH, 6, 5, 4),
        .w_i32 = I32(4, 6, 3, 3),
        .b_i32 = I32(4),
        .tall = F32(2, 6, WEFT_BATCH, 4),
        .wide = F32(2, WEFT_BATCH, 5, 4),
        .wide_w = F32(WEFT_BATCH, 6, 3, 3)};
    assert_weft_ok(weft_graph_status(g));
    return t;
}

#define OPTIONS(...)                                                                                         \
    &(const weft_conv_options) {                                                                             \
        WEFT_CONV_OPTIONS_INIT, __VA_ARGS__                                                                  \
    }
#define SMALL                                                                                                \
    &(const weft_conv_options) {                                                                             \
        .struct_size = 1                                                                                     \
    }
#define CONV(...)      weft_conv_with(t.x, t.w, NULL, OPTIONS(__VA_ARGS__))
#define TRANSPOSE(...) weft_conv_transpose_with(t.x, t.wt, NULL, OPTIONS(__VA_ARGS__))

/* ROW(name, expression over t, status, texts of the line...): each is a test. */
#define SHAPES(ROW)                                                                                          \
    ROW(flat, weft_conv_with(t.flat, t.w, NULL, NULL), SHAPE, "conv: x (batch, 6)", "one to three")          \
    ROW(deep, weft_conv_with(t.deep, t.w, NULL, NULL), SHAPE, "conv: x (batch, 6, 2, 2, 2, 2)",              \
        "one to three")                                                                                      \
    ROW(short_weight, weft_conv_with(t.x, t.line, NULL, NULL), SHAPE, "weight (4, 6, 3)", "the same rank")   \
    ROW(channels, weft_conv_with(t.x, t.wt, NULL, NULL), SHAPE, "(batch, 6, 5, 4)", "weight (6, 4, 3, 3)",   \
        "with 1 group the weight must be (F, C / groups, K...)")                                             \
    ROW(no_divisor_of_filters, CONV(.groups = 3), SHAPE, "with 3 groups", "divide C and F")                  \
    ROW(no_divisor, weft_conv_with(t.x, F32_OF(t.graph, 5, 3, 3, 3), NULL, OPTIONS(.groups = 2)), SHAPE,     \
        "with 2 groups", "(5, 3, 3, 3)")                                                                     \
    ROW(bias, weft_conv_with(t.x, t.w, t.three, NULL), SHAPE, "weight (3)", "the bias must be (F)")          \
    ROW(bias_rank, weft_conv_with(t.x, t.w, t.w, NULL), SHAPE, "the bias must be (F)")                       \
    ROW(spatial_batch, weft_conv_with(t.tall, t.w, NULL, NULL), SHAPE, "(2, 6, batch, 4)", "not the batch")  \
    ROW(channel_batch, weft_conv_with(t.wide, t.w, NULL, NULL), SHAPE, "(2, batch, 5, 4)", "not the batch")  \
    ROW(filter_batch, weft_conv_with(t.x, t.wide_w, NULL, NULL), SHAPE, "(batch, 6, 3, 3)", "not the batch") \
    ROW(window, weft_conv_with(t.x, t.w, NULL, OPTIONS(.dilations = {1, 3})), SHAPE, "spatial axis 1",       \
        "a window of 7 is larger than the padded image of 4")                                                \
    ROW(padded_window, CONV(.dilations = {4, 1}, .paddings = {1, 0}), SHAPE, "spatial axis 0",               \
        "a window of 9 is larger than the padded image of 7")                                                \
    ROW(transposed_flat, weft_conv_transpose_with(t.flat, t.wt, NULL, NULL), SHAPE,                          \
        "conv_transpose: x (batch, 6)", "one to three")                                                      \
    ROW(transposed_deep, weft_conv_transpose_with(t.deep, t.wt, NULL, NULL), SHAPE, "conv_transpose",        \
        "one to three")                                                                                      \
    ROW(transposed_channels, weft_conv_transpose_with(t.x, t.w, NULL, NULL), SHAPE, "conv_transpose",        \
        "weight (4, 6, 3, 3)", "(C, F / groups, K...)")                                                      \
    ROW(transposed_groups, TRANSPOSE(.groups = 4), SHAPE, "conv_transpose", "with 4 groups",                 \
        "groups must divide C")                                                                              \
    ROW(transposed_bias, weft_conv_transpose_with(t.x, t.wt, t.three, NULL), SHAPE, "conv_transpose",        \
        "the bias must be (F)")                                                                              \
    ROW(transposed_bias_of_groups, weft_conv_transpose_with(t.x, t.wt, t.four, OPTIONS(.groups = 2)), SHAPE, \
        "conv_transpose", "the bias must be (F)")                                                            \
    ROW(transposed_batch, weft_conv_transpose_with(t.tall, t.wt, NULL, NULL), SHAPE, "conv_transpose",       \
        "not the batch")                                                                                     \
    ROW(negative, TRANSPOSE(.paddings = {0, 3}), SHAPE, "conv_transpose", "spatial axis 1",                  \
        "would have 0 elements")

#define DTYPES(ROW)                                                                                          \
    ROW(x_dtype, weft_conv_with(t.whole, t.w, NULL, NULL), DTYPE, "conv: takes f32", "(i32, f32)")           \
    ROW(w_dtype, weft_conv_with(t.x, t.w_i32, NULL, NULL), DTYPE, "conv: takes f32", "(f32, i32)")           \
    ROW(b_dtype, weft_conv_with(t.x, t.w, t.b_i32, NULL), DTYPE, "conv: takes f32", "(f32, f32, i32)")       \
    ROW(transposed_dtype, weft_conv_transpose_with(t.x, t.wt, t.b_i32, NULL), DTYPE,                         \
        "conv_transpose: takes f32", "(f32, f32, i32)")

#define MOST "1 or more"
#define ARGUMENTS(ROW)                                                                                       \
    ROW(size, weft_conv_with(t.x, t.w, NULL, SMALL), ARGUMENT, "conv: the options have struct_size 1",       \
        "WEFT_CONV_OPTIONS_INIT")                                                                            \
    ROW(transposed_size, weft_conv_transpose_with(t.x, t.wt, NULL, SMALL), ARGUMENT,                         \
        "conv_transpose: the options")                                                                       \
    ROW(groups, CONV(.groups = -1), ARGUMENT, "conv: groups is -1", MOST)                                    \
    ROW(many_groups, CONV(.groups = INT64_C(1) << 32), ARGUMENT, "conv: groups is 4294967296")               \
    ROW(mode, CONV(.mode = (weft_conv_padding)3), ARGUMENT, "conv: padding mode 3 is not supported")         \
    ROW(transposed_mode, TRANSPOSE(.mode = WEFT_PADDING_SAME), ARGUMENT,                                     \
        "conv_transpose: padding mode 2 is not supported")                                                   \
    ROW(stride, CONV(.strides = {1, -2}), ARGUMENT, "conv: a stride of -2 along spatial axis 1", MOST)       \
    ROW(far_stride, CONV(.stride = INT64_C(1) << 33), ARGUMENT, "conv: a stride of 8589934592", MOST)        \
    ROW(dilation, CONV(.dilations = {-1, 1}), ARGUMENT, "a dilation of -1 along spatial axis 0", MOST)       \
    ROW(far_dilation, CONV(.dilation = INT64_MAX), ARGUMENT, "a dilation of 9223372036854775807")            \
    ROW(padding, CONV(.paddings = {0, -1}), ARGUMENT, "a padding of -1 along spatial axis 1", "0 or more")   \
    ROW(far_padding, CONV(.paddings = {INT64_MAX}), ARGUMENT, "a padding of 9223372036854775807")            \
    ROW(after, CONV(.mode = WEFT_PADDING_EACH, .paddings_after = {-1}), ARGUMENT,                            \
        "a padding after the image of -1 along spatial axis 0", "0 or more")                                 \
    ROW(far_after, CONV(.mode = WEFT_PADDING_EACH, .paddings_after = {INT64_MAX}), ARGUMENT,                 \
        "a padding after the image of 9223372036854775807")                                                  \
    ROW(output, CONV(.output_paddings = {1}), ARGUMENT, "conv: an output padding of 1", "transposed")        \
    ROW(transposed_output, TRANSPOSE(.output_paddings = {0, 2}, .strides = {2, 2}), ARGUMENT,                \
        "conv_transpose: an output padding of 2 along spatial axis 1", "below the stride or dilation")       \
    ROW(transposed_negative_output, TRANSPOSE(.output_paddings = {-1}), ARGUMENT,                            \
        "conv_transpose: an output padding of -1", "0 or more")                                              \
    ROW(null_x, weft_conv_with(NULL, t.w, NULL, NULL), ARGUMENT, "conv: input 0 is NULL")                    \
    ROW(null_weight, weft_conv_with(t.x, NULL, t.four, NULL), ARGUMENT, "conv: input 1 is NULL")             \
    ROW(transposed_null, weft_conv_transpose_with(t.x, NULL, NULL, NULL), ARGUMENT,                          \
        "conv_transpose: input 1 is NULL")

#define F32_OF(graph, ...)                                                                                   \
    input(graph, WEFT_F32, sizeof((int64_t[]){__VA_ARGS__}) / 8, (const int64_t[]){__VA_ARGS__})
#define TEST(name, expression, status, ...)                                                                  \
    static void test_##name(void **state) {                                                                  \
        (void)state;                                                                                         \
        const things t = make_things();                                                                      \
        assert_null(expression);                                                                             \
        assert_weft_fails(WEFT_ERROR_##status, weft_graph_status(t.graph), __VA_ARGS__);                     \
        weft_graph_release(t.graph);                                                                         \
    }
SHAPES(TEST)
DTYPES(TEST)
ARGUMENTS(TEST)

static void test_all_null(void **state) {
    (void)state;
    assert_null(weft_conv_with(NULL, NULL, NULL, NULL));
    assert_null(weft_conv_transpose_with(NULL, NULL, NULL, NULL));
}

static void test_two_graphs(void **state) {
    (void)state;
    const things a = make_things(), b = make_things();
    assert_null(weft_conv_with(a.x, a.w, b.four, NULL));
    assert_weft_fails(
        WEFT_ERROR_ARGUMENT, weft_graph_status(a.graph), "conv: input 2 belongs to another graph");
    weft_graph_release(a.graph);
    weft_graph_release(b.graph);
}

/* What stands just inside of each bound is taken. */
static void test_bounds_are_taken(void **state) {
    (void)state;
    const things t = make_things();
    const weft_tensor *const y = CONV(.dilations = {3, 2}, .paddings = {1, 1}); /* windows of 7 and 5 */
    assert_non_null(y);
    assert_int_equal(weft_tensor_dimension(y, 2), 1);
    assert_int_equal(weft_tensor_dimension(y, 3), 2);
    const weft_tensor *const z = TRANSPOSE(.paddings = {3, 2}, .output_paddings = {0, 1}, .strides = {1, 2});
    assert_non_null(z);
    assert_int_equal(weft_tensor_dimension(z, 2), 1);
    assert_int_equal(weft_tensor_dimension(z, 3), 6);
    weft_graph_release(t.graph);
}

int main(void) {
#define UNIT(name, expression, status, ...) cmocka_unit_test(test_##name),
    const struct CMUnitTest tests[] = {SHAPES(UNIT) DTYPES(UNIT) ARGUMENTS(UNIT)
                                           cmocka_unit_test(test_all_null),
        cmocka_unit_test(test_two_graphs), cmocka_unit_test(test_bounds_are_taken)};
    return test_finish(cmocka_run_group_tests_name("conv errors", tests, NULL, NULL));
}
