/* Chains of diamonds: each node reads the one before it twice, so that there are 2^64 paths through the graph.
 * Whatever a plan asks of a graph, it must ask each node once. */
/* test once slow */
#include "support/fixture.h"

#include "base/platform.h"
#include <math.h>

enum { DIAMONDS = 64, ROWS = 8, COLUMNS = 24 };

/* Planning takes milliseconds; a walk along all paths would not end. */
static const double seconds_allowed = 2;

static weft_tensor *diamonds(weft_tensor *x, int count) {
    for (int i = 0; i < count; i++) x = weft_maximum(x, x);
    return x;
}

/* Plans the output, runs it on x = 0, 1/8, 2/8, ... */
static void compute(weft_tensor *x, weft_tensor *output, float *y, size_t bytes) {
    float values[ROWS * COLUMNS];
    for (int i = 0; i < ROWS * COLUMNS; i++) values[i] = (float)i / 8;
    weft_plan *plan = NULL;
    const double start = wi_clock_seconds();
    assert_weft_ok(weft_plan_create(
        &plan, &output, 1, &(weft_plan_options){WEFT_PLAN_OPTIONS_INIT, .compile_late = true}));
    const double seconds = wi_clock_seconds() - start;
    if (seconds > seconds_allowed) fail_msg("planning took %.1f s", seconds);
    assert_weft_ok(weft_plan_write(plan, x, values, sizeof values));
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_read(plan, output, y, bytes));
    weft_plan_release(plan);
}

static weft_tensor *image(weft_graph *graph) {
    return weft_input_shape(graph, "x", WEFT_F32, 2, (const int64_t[]){ROWS, COLUMNS});
}

/* Members of one step: exponentials are wanted by two passes, a chain that does not need them by one of those. */
static void test_members(void **state) {
    (void)state;
    static const int counts[] = {40, DIAMONDS}; /* the first chain fits into a step */
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        weft_graph *const graph = test_graph();
        weft_tensor *const x = image(graph);
        weft_tensor *const below = weft_sub(x, weft_max_axes(x, (const int64_t[]){1, WEFT_END}, true));
        weft_tensor *const power = weft_exp(below);
        weft_tensor *const total = weft_sum_axes(power, (const int64_t[]){1, WEFT_END}, true);
        weft_tensor *const other =
            weft_sum_axes(diamonds(below, counts[i]), (const int64_t[]){1, WEFT_END}, true);
        float y[ROWS * COLUMNS];
        double wanted = 0, factor = 0;
        compute(x, weft_mul(weft_div(power, total), other), y, sizeof y);
        for (int c = 0; c < COLUMNS; c++) {
            wanted += exp(-c / 8.0);
            factor -= c / 8.0;
        }
        for (int c = 0; c < COLUMNS; c++)
            assert_true(fabs(y[c] - exp((c - COLUMNS + 1) / 8.0) / wanted * factor) < 1e-5);
        weft_graph_release(graph);
    }
}

/* Inline values that are the same everywhere, read by a map, a reduction and the epilogue of a product. */
static void test_uniform_inline_values(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = image(graph);
    weft_tensor *const factor = diamonds(weft_scalar(graph, "factor", 3), 3 * DIAMONDS);
    float scaled[ROWS * COLUMNS], sums[ROWS], product[ROWS * ROWS];
    compute(x, weft_mul(x, factor), scaled, sizeof scaled);
    compute(x, weft_sum(weft_mul(x, factor), 1), sums, sizeof sums);
    compute(x, weft_mul(weft_matmul(x, weft_transpose(x)), factor), product, sizeof product);
    double sum = 0, square = 0;
    for (int c = 0; c < COLUMNS; c++) {
        assert_true(scaled[c] == 3 * (float)c / 8);
        sum += 3 * c / 8.0;
        square += 3 * c / 8.0 * c / 8.0;
    }
    assert_true(fabs(sums[0] - sum) < 1e-3 && fabs(product[0] - square) < 1e-3);
    weft_graph_release(graph);
}

/* Inline values that depend on the index, and those that read memory. */
static void test_other_inline_values(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = image(graph);
    weft_tensor *const places = diamonds(weft_arange(graph, WEFT_F32, 0, COLUMNS, 1), DIAMONDS);
    float y[ROWS * COLUMNS];
    compute(x, weft_add(places, diamonds(x, DIAMONDS)), y, sizeof y);
    for (int c = 0; c < COLUMNS; c++) assert_true(y[c] == (float)c + (float)c / 8);
    weft_graph_release(graph);
}

/* The way back is a chain of diamonds, too. */
static void test_gradients(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = image(graph);
    weft_tensor *y = x;
    for (int i = 0; i < DIAMONDS; i++) y = weft_add(weft_mul_number(y, 0.75), weft_mul_number(y, 0.25));
    weft_tensor *const loss = weft_sum(weft_square(y));
    float got[ROWS * COLUMNS];
    compute(x, weft_gradient(loss, x), got, sizeof got);
    for (int i = 0; i < ROWS * COLUMNS; i++) assert_true(got[i] == 2 * (float)i / 8);
    weft_graph_release(graph);
}

/* Between convolutions, where the order of images in memory is decided; maximum(x, x) is x. */
static void test_images(void **state) {
    (void)state;
    enum { SIZE = 8, CHANNELS = 4, COUNT = CHANNELS * (SIZE - 2) * (SIZE - 2) };
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input_shape(graph, "x", WEFT_F32, 4, (const int64_t[]){1, 3, SIZE, SIZE});
    weft_tensor *const y = weft_conv2d(x, CHANNELS, 3);
    float plain[COUNT], got[COUNT];
    assert_int_equal(3 * SIZE * SIZE, ROWS * COLUMNS);
    compute(x, weft_relu(y), plain, sizeof plain);
    compute(x, weft_relu(diamonds(y, DIAMONDS)), got, sizeof got);
    assert_memory_equal(got, plain, sizeof got);
    weft_graph_release(graph);
}

/* Gradients that reach a recurrent layer as a chain of sums. */
static void test_recurrent(void **state) {
    (void)state;
    enum { STEPS = 8, UNITS = 5 };
    weft_graph *const graph = test_graph();
    weft_tensor *const x =
        weft_input_shape(graph, "x", WEFT_F32, 3, (const int64_t[]){ROWS, STEPS, COLUMNS / STEPS});
    weft_tensor *y = weft_lstm(x, UNITS, NULL).y;
    float plain[ROWS * COLUMNS], got[ROWS * COLUMNS];
    compute(x, weft_gradient(weft_sum(weft_square(y)), x), plain, sizeof plain);
    for (int i = 0; i < DIAMONDS; i++) y = weft_mul_number(weft_add(y, y), 0.5);
    compute(x, weft_gradient(weft_sum(weft_square(y)), x), got, sizeof got);
    for (int i = 0; i < ROWS * COLUMNS; i++) assert_true(fabs((double)got[i] - plain[i]) < 1e-5);
    weft_graph_release(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_members),
        cmocka_unit_test(test_uniform_inline_values),
        cmocka_unit_test(test_other_inline_values),
        cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_images),
        cmocka_unit_test(test_recurrent),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
