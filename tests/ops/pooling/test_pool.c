/* Pooling: windows of every kind over images of one, two and three axes; ties, NaN and infinities; bad
 * options. */
/* test slow gpu:optimised */
/* test.indices64.gpu WEFT_TEST_INDICES=64 reduced */
/* test.least device=least reduced short_launches */
#include "support/op_case.h"

#include "ops/covered_ops.h"
#include "oracle/reference_pooling.h"
#include <math.h>
#include <string.h>

#define X(...) F32(-2, 2, __VA_ARGS__)

/* What a case is made of; sizes: of an adaptive one. */
typedef struct pool_row {
    weft_pool_options options;
    int64_t sizes[3];
    double p;
} pool_row;
#define POOL(...)                                                                                            \
    .row = &(const pool_row) {                                                                               \
        .options = { WEFT_POOL_OPTIONS_INIT, __VA_ARGS__ }                                                   \
    }
#define LP(order, ...)                                                                                       \
    .row = &(const pool_row) {                                                                               \
        .p = order, .options = { WEFT_POOL_OPTIONS_INIT, __VA_ARGS__ }                                       \
    }
#define SIZES(...)                                                                                           \
    .row = &(const pool_row) {                                                                               \
        .sizes = { __VA_ARGS__ }                                                                             \
    }

/* ---- cases ---- */

#define BUILD(function, ...)                                                                                 \
    static weft_tensor *build_##function(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {  \
        (void)graph;                                                                                         \
        const pool_row *const row = c->row;                                                                  \
        (void)row;                                                                                           \
        return weft_##function(inputs[0], __VA_ARGS__);                                                      \
    }
#define REFERENCE(function, ...)                                                                             \
    static f64_array *reference_##function(const op_case *c, const f64_array *const *inputs) {               \
        const pool_row *const row = c->row;                                                                  \
        (void)row;                                                                                           \
        return f64_##function(inputs[0], __VA_ARGS__);                                                       \
    }

BUILD(max_pool, &row->options)
BUILD(avg_pool, &row->options)
BUILD(lp_pool, row->p, &row->options)
BUILD(adaptive_max_pool, row->sizes)
BUILD(adaptive_avg_pool, row->sizes)
BUILD(max_pool2d, 2)
BUILD(avg_pool2d, 3)
static weft_tensor *build_global_max_pool(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)c, (void)graph;
    return weft_global_max_pool(inputs[0]);
}
static weft_tensor *build_global_avg_pool(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)c, (void)graph;
    return weft_global_avg_pool(inputs[0]);
}
REFERENCE(max_pool, &row->options)
REFERENCE(avg_pool, &row->options)
REFERENCE(lp_pool, row->p, &row->options)
REFERENCE(adaptive_max_pool, row->sizes)
REFERENCE(adaptive_avg_pool, row->sizes)
static f64_array *reference_max_pool2d(const op_case *c, const f64_array *const *inputs) {
    (void)c;
    return f64_max_pool(inputs[0], &(const weft_pool_options){.windows = {2, 2}});
}
static f64_array *reference_avg_pool2d(const op_case *c, const f64_array *const *inputs) {
    (void)c;
    return f64_avg_pool(inputs[0], &(const weft_pool_options){.windows = {3, 3}});
}
static f64_array *reference_global_max_pool(const op_case *c, const f64_array *const *inputs) {
    (void)c;
    return f64_global_max_pool(inputs[0]);
}
static f64_array *reference_global_avg_pool(const op_case *c, const f64_array *const *inputs) {
    (void)c;
    return f64_global_avg_pool(inputs[0]);
}

/* The windows that max and mean are both tried with. */
#define WINDOW_CASES(op)                                                                                     \
    CASE("side by side, batch", op, INPUTS(X(WEFT_BATCH, 3, 4, 5)), POOL(.windows = {2, 2})),                \
        CASE("a small image", op, INPUTS(X(1, 1, 4, 5)), POOL(.windows = {2, 3}, .strides = {1, 2})),        \
        CASE("overlapping, padded", op, INPUTS(X(2, 17, 9, 7)),                                              \
            POOL(.windows = {3, 3}, .strides = {2, 2}, .paddings = {1, 1})),                                 \
        CASE("at every place", op, INPUTS(X(1, 64, 4, 3)),                                                   \
            POOL(.windows = {3, 3}, .strides = {1, 1}, .paddings = {1, 1})),                                 \
        CASE("ceil", op, INPUTS(X(1, 64, 7, 6)),                                                             \
            POOL(.windows = {3, 3}, .strides = {2, 2}, .ceil_mode = true)),                                  \
        CASE("ceil, padded, steps beyond the window", op, INPUTS(X(2, 3, 8, 11)),                            \
            POOL(.windows = {2, 3}, .strides = {3, 5}, .paddings = {1, 1}, .ceil_mode = true)),              \
        CASE("dilated", op, INPUTS(X(2, 1, 9, 10)),                                                          \
            POOL(.windows = {2, 3}, .strides = {1, 2}, .paddings = {1, 2}, .dilations = {3, 2})),            \
        CASE("an image of 1 x 1", op, INPUTS(X(3, 17, 1, 1)), POOL(.windows = {1, 1})),                      \
        CASE("an image of 1 x 1, padded", op, INPUTS(X(3, 3, 1, 1)),                                         \
            POOL(.windows = {3, 2}, .strides = {1, 1}, .paddings = {1, 1})),                                 \
        CASE("window and image are one", op, INPUTS(X(2, 64, 5, 3)), POOL(.windows = {5, 3})),               \
        CASE("signal", op, INPUTS(X(WEFT_BATCH, 3, 17)),                                                     \
            POOL(.windows = {4}, .strides = {3}, .paddings = {2})),                                          \
        CASE("volume", op, INPUTS(X(2, 20, 4, 5, 3)),                                                        \
            POOL(.windows = {2, 3, 2}, .strides = {2, 1, 1}, .paddings = {1, 1, 0})),                        \
        CASE("dilated volume, ceil", op, INPUTS(X(1, 3, 5, 6, 7)),                                           \
            POOL(.windows = {2, 2, 3}, .strides = {2, 2, 2}, .dilations = {2, 3, 1}, .ceil_mode = true)),    \
        CASE("of a permuted", op, INPUTS(F32_VIEW(OP_REVERSED, -2, 2, 2, 5, 6, 7)),                          \
            POOL(.windows = {3, 3}, .strides = {2, 2}))

static const op_case max_pool_cases[] = {WINDOW_CASES(max_pool)};

static const op_case avg_pool_cases[] = {WINDOW_CASES(avg_pool),
    CASE("without the padding", avg_pool, INPUTS(X(2, 17, 6, 5)),
        POOL(.windows = {3, 3}, .strides = {2, 2}, .paddings = {1, 1}, .exclude_padding = true)),
    CASE("without the padding, dilated, ceil", avg_pool, INPUTS(X(2, 3, 8, 7)),
        POOL(.windows = {3, 2}, .strides = {2, 2}, .paddings = {2, 1}, .dilations = {2, 2},
            .exclude_padding = true, .ceil_mode = true)),
    CASE("ceil behind the padding", avg_pool, INPUTS(X(1, 3, 4, 6)),
        POOL(.windows = {3, 4}, .strides = {2, 3}, .paddings = {1, 2}, .ceil_mode = true)),
    CASE("divisor", avg_pool, INPUTS(X(1, 17, 4, 5)),
        POOL(.windows = {3, 2}, .paddings = {1, 1}, .divisor = 5, .exclude_padding = true))};

static const op_case lp_pool_cases[] = {
    CASE("p = 1", lp_pool, INPUTS(X(1, 3, 4, 4)), LP(1, .windows = {2, 2})),
    CASE("p = 2", lp_pool, INPUTS(X(WEFT_BATCH, 3, 7, 6)), LP(2, .windows = {3, 2}, .strides = {2, 2})),
    CASE("p = 2, padded, dilated", lp_pool, INPUTS(X(2, 17, 7, 6)),
        LP(2, .windows = {3, 3}, .strides = {2, 1}, .paddings = {1, 2}, .dilations = {1, 2})),
    CASE("p = 2.5, ceil", lp_pool, INPUTS(F32(0.25, 2, 2, 3, 7, 8)),
        LP(2.5, .windows = {3, 3}, .strides = {2, 2}, .ceil_mode = true)),
    CASE("signal", lp_pool, INPUTS(F32(0.25, 2, 2, 3, 9)), LP(3, .windows = {4}, .strides = {2})),
    CASE("volume", lp_pool, INPUTS(X(2, 3, 4, 4, 5)), LP(2, .windows = {2, 2, 3}))};

#define ADAPTIVE_CASES(op)                                                                                   \
    CASE("dividing", op, INPUTS(X(WEFT_BATCH, 17, 6, 4)), SIZES(3, 2)),                                      \
        CASE("overlapping", op, INPUTS(X(2, 3, 7, 5)), SIZES(3, 4)),                                         \
        CASE("more than there are", op, INPUTS(X(1, 64, 3, 2)), SIZES(5, 4)),                                \
        CASE("one", op, INPUTS(X(1, 3, 4, 4)), SIZES(1, 1)),                                                 \
        CASE("signal", op, INPUTS(X(2, 3, 11)), SIZES(4)),                                                   \
        CASE("volume", op, INPUTS(X(2, 5, 3, 4, 5)), SIZES(2, 4, 3))
static const op_case adaptive_max_pool_cases[] = {ADAPTIVE_CASES(adaptive_max_pool)};
static const op_case adaptive_avg_pool_cases[] = {ADAPTIVE_CASES(adaptive_avg_pool)};

#define GLOBAL_CASES(op)                                                                                     \
    CASE("image", op, INPUTS(X(WEFT_BATCH, 17, 7, 5))), CASE("signal", op, INPUTS(X(2, 3, 8))),              \
        CASE("volume", op, INPUTS(X(1, 64, 2, 3, 4))), CASE("1 x 1", op, INPUTS(X(2, 3, 1, 1)))
static const op_case global_max_pool_cases[] = {GLOBAL_CASES(global_max_pool)};
static const op_case global_avg_pool_cases[] = {GLOBAL_CASES(global_avg_pool)};

static const op_case max_pool2d_cases[] = {CASE("of 2 x 2", max_pool2d, INPUTS(X(1, 3, 4, 5)))};
static const op_case avg_pool2d_cases[] = {CASE("of 3 x 3", avg_pool2d, INPUTS(X(2, 17, 6, 7)))};

/* ---- ties, NaN and infinities ---- */

/* y and dx of the sum of y · (1, 2, 3, ...), from x (1, channels, length) with all channels alike. */
static void check_winners(int64_t channels, const weft_pool_options *options, const float *x, int64_t length,
    const float *wanted, const float *wanted_gradient) {
    weft_graph *const graph = test_graph();
    const int64_t dims[] = {1, channels, length};
    weft_tensor *const input = weft_input_shape(graph, "x", WEFT_F32, 3, dims);
    weft_tensor *const y = weft_max_pool(input, options);
    assert_non_null(y);
    const int64_t count = weft_tensor_dimension(y, 2);
    weft_tensor *const places = weft_arange(graph, WEFT_F32, 1, (double)(count + 1), 1);
    weft_tensor *const gradient = weft_gradient(weft_sum(weft_mul(y, places)), input);
    weft_plan *plan = NULL;
    assert_weft_ok(weft_plan_create(&plan, (weft_tensor *[]){y, gradient}, 2, NULL));
    float data[64 * 16], got[64 * 16], got_gradient[64 * 16];
    for (int64_t c = 0; c < channels; c++) memcpy(data + c * length, x, (size_t)length * sizeof *x);
    assert_weft_ok(weft_plan_write(plan, input, data, (size_t)(channels * length) * sizeof *data));
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_read(plan, y, got, (size_t)(channels * count) * sizeof *got));
    assert_weft_ok(
        weft_plan_read(plan, gradient, got_gradient, (size_t)(channels * length) * sizeof *got_gradient));
    for (int64_t c = 0; c < channels; c++) {
        for (int64_t i = 0; i < count; i++) {
            const float v = got[c * count + i];
            if (!(v == wanted[i] || (isnan(v) && isnan(wanted[i]))))
                fail_msg("channel %d, place %d: %g, not %g", (int)c, (int)i, (double)v, (double)wanted[i]);
        }
        for (int64_t i = 0; i < length; i++) {
            if (got_gradient[c * length + i] != wanted_gradient[i])
                fail_msg("channel %d, gradient of element %d: %g, not %g", (int)c, (int)i,
                    (double)got_gradient[c * length + i], (double)wanted_gradient[i]);
        }
    }
    weft_plan_release(plan);
    weft_graph_release(graph);
}

/* As torch.nn.functional.max_pool1d does: the first of equals, the last of several NaN. */
static void test_winners(void **state) {
    (void)state;
    const float inf = INFINITY, nan = NAN;
    const weft_pool_options threes_by_two = {
        WEFT_POOL_OPTIONS_INIT, .windows = {3}, .strides = {2}, .paddings = {1}};
    const float x[] = {1, 1, 0, 0, nan, 5, nan, -inf, -inf, -inf, -inf, inf};
    /* windows:        -.1 1 | 1 0 0 | 0 nan 5 | 5 nan -inf | -inf -inf -inf | -inf -inf inf */
    const float y[] = {1, 1, nan, nan, -inf, inf};
    const float dx[] = {1, 2, 0, 0, 3, 0, 4, 5, 0, 0, 0, 6};
    for (int64_t channels = 1; channels <= 64; channels = channels == 1 ? 17 : channels + 47)
        check_winners(channels, &threes_by_two, x, 12, y, dx);
    if (test_reduced()) return;
    const weft_pool_options overlapping = {WEFT_POOL_OPTIONS_INIT, .windows = {4}, .strides = {1}};
    const float x2[] = {nan, 2, nan, 7, 7, nan, 0, 0};
    const float y2[] = {nan, nan, nan, nan, nan};
    const float dx2[] = {0, 0, 1 + 2, 0, 0, 3 + 4 + 5, 0, 0};
    check_winners(3, &overlapping, x2, 8, y2, dx2);
    /* A window of two taps, both in the padding of a short signal: nothing wins, nothing flows. */
    const weft_pool_options far = {
        WEFT_POOL_OPTIONS_INIT, .windows = {2}, .strides = {1}, .paddings = {1}, .dilations = {4}};
    const float x3[] = {4, 5, 6}, y3[] = {-inf}, dx3[] = {0, 0, 0};
    check_winners(3, &far, x3, 3, y3, dx3);
}

/* ---- bad input ---- */

typedef struct bad_pool {
    weft_status status;
    const char *message;
    weft_tensor *(*build)(weft_tensor *x, weft_tensor *flat);
} bad_pool;

#define BAD(name, expression)                                                                                \
    static weft_tensor *name(weft_tensor *x, weft_tensor *flat) {                                            \
        (void)x, (void)flat;                                                                                 \
        return expression;                                                                                   \
    }
#define OPTIONS(...) (&(const weft_pool_options){WEFT_POOL_OPTIONS_INIT, __VA_ARGS__})
BAD(too_long, weft_max_pool(x, OPTIONS(.windows = {7, 2}, .paddings = {1, 0})))
BAD(too_long_dilated, weft_avg_pool(x, OPTIONS(.windows = {2, 3}, .dilations = {1, 3})))
BAD(much_padding, weft_max_pool(x, OPTIONS(.windows = {2, 3}, .paddings = {1, 2})))
BAD(negative_padding, weft_avg_pool(x, OPTIONS(.windows = {2, 3}, .paddings = {-1, 0})))
BAD(no_window, weft_max_pool(x, OPTIONS(.stride = 2)))
BAD(negative_stride, weft_lp_pool(x, 2, OPTIONS(.windows = {2, 2}, .strides = {1, -1})))
BAD(negative_dilation, weft_max_pool(x, OPTIONS(.windows = {2, 2}, .dilations = {-2, 1})))
BAD(no_options, weft_avg_pool(x, NULL))
BAD(old_options, weft_max_pool(x, &(const weft_pool_options){.windows = {2, 2}}))
BAD(no_lp_options, weft_lp_pool(x, 2, NULL))
BAD(max_divisor, weft_max_pool(x, OPTIONS(.windows = {2, 2}, .divisor = 3)))
BAD(lp_padding, weft_lp_pool(x, 2, OPTIONS(.windows = {2, 2}, .exclude_padding = true)))
BAD(negative_divisor, weft_avg_pool(x, OPTIONS(.windows = {2, 2}, .divisor = -3)))
BAD(zero_order, weft_lp_pool(x, 0, OPTIONS(.windows = {2, 2})))
BAD(infinite_order, weft_lp_pool(x, INFINITY, OPTIONS(.windows = {2, 2})))
BAD(no_image, weft_max_pool(flat, OPTIONS(.windows = {2, 2})))
BAD(no_picture, weft_max_pool2d(weft_flatten_axes(x, 2, 3), 2))
BAD(batch_axis, weft_global_avg_pool(weft_permute(x, 1, 2, 0, 3)))
BAD(no_sizes, weft_adaptive_max_pool(x, NULL))
BAD(zero_size, weft_adaptive_avg_pool(x, (const int64_t[]){2, 0}))
BAD(integers, weft_max_pool2d(weft_cast(x, WEFT_I32), 2))
BAD(zero_square, weft_avg_pool2d(x, 0))

static const bad_pool bad_pools[] = {
    {WEFT_ERROR_SHAPE,
        "max_pool: a window over 7 elements is longer than axis 2 of (batch, 3, 4, 6) with padding 1",
        too_long},
    {WEFT_ERROR_SHAPE,
        "avg_pool: a window over 7 elements is longer than axis 3 of (batch, 3, 4, 6) with padding 0",
        too_long_dilated},
    {WEFT_ERROR_ARGUMENT, "max_pool: a padding of 2 along axis 3 of (batch, 3, 4, 6) is not in 0..1",
        much_padding},
    {WEFT_ERROR_ARGUMENT, "avg_pool: a padding of -1 along axis 2 of (batch, 3, 4, 6) is not in 0..1",
        negative_padding},
    {WEFT_ERROR_ARGUMENT, "max_pool: a window of 0 along axis 2 of (batch, 3, 4, 6) is not in 1..1073741824",
        no_window},
    {WEFT_ERROR_ARGUMENT, "avg_pool: a stride of -1 along axis 3", negative_stride},
    {WEFT_ERROR_ARGUMENT, "max_pool: a dilation of -2 along axis 2", negative_dilation},
    {WEFT_ERROR_ARGUMENT, "avg_pool: options is NULL; set its field size or sizes", no_options},
    {WEFT_ERROR_ARGUMENT, "max_pool: the options have struct_size 0, expected ", old_options},
    {WEFT_ERROR_ARGUMENT, "lp_pool: options is NULL; set its field size or sizes", no_lp_options},
    {WEFT_ERROR_ARGUMENT, "max_pool: the options exclude_padding and divisor are only for avg_pool",
        max_divisor},
    {WEFT_ERROR_ARGUMENT, "lp_pool: the options exclude_padding and divisor are only for avg_pool",
        lp_padding},
    {WEFT_ERROR_ARGUMENT, "avg_pool: divisor is -3, expected 0 to 2^31 - 1", negative_divisor},
    {WEFT_ERROR_ARGUMENT, "lp_pool: p = 0 is not a positive number", zero_order},
    {WEFT_ERROR_ARGUMENT, "lp_pool: p = inf is not a positive number", infinite_order},
    {WEFT_ERROR_SHAPE, "max_pool: (batch, 5) is not (N, C, L), (N, C, H, W) or (N, C, D, H, W)", no_image},
    {WEFT_ERROR_SHAPE, "max_pool2d: (batch, 3, 24) is not (N, C, H, W)", no_picture},
    {WEFT_ERROR_SHAPE, "global_avg_pool: axis 2 of (3, 4, batch, 6) must be a fixed size of at most 2^30",
        batch_axis},
    {WEFT_ERROR_ARGUMENT, "adaptive_max_pool: sizes is NULL", no_sizes},
    {WEFT_ERROR_ARGUMENT, "adaptive_avg_pool: sizes[1] = 0 is not in 1..2^30", zero_size},
    {WEFT_ERROR_DTYPE, "max_pool2d: takes f32, not i32", integers},
    {WEFT_ERROR_ARGUMENT, "avg_pool: a window of 0 along axis 2", zero_square},
};

static void test_bad_input(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof bad_pools / sizeof *bad_pools; i++) {
        weft_graph *const graph = test_graph();
        weft_tensor *const x = weft_input_shape(
                               graph, "x", WEFT_F32, 4, (const int64_t[]){WEFT_BATCH, 3, 4, 6}),
                           *const flat =
                               weft_input_shape(graph, "f", WEFT_F32, 2, (const int64_t[]){WEFT_BATCH, 5});
        assert_null(bad_pools[i].build(x, flat));
        assert_weft_fails(bad_pools[i].status, weft_graph_status(graph), bad_pools[i].message);
        weft_graph_release(graph);
    }
    assert_null(weft_max_pool2d(NULL, 2));
    assert_null(weft_global_avg_pool(NULL));
}

int main(void) {
    static const op_cases ops[] = {POOL_OPS(COVERED_CASES)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_winners),
        cmocka_unit_test(test_bad_input),
    };
    const int failed = op_suite_run("pool", ops, sizeof ops / sizeof *ops);
    return test_finish(failed + cmocka_run_group_tests(tests, NULL, NULL));
}
