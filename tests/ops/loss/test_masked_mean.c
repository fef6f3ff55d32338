/* weft_masked_mean: values and gradients against sums written out, in all precisions; and what it refuses. */
#include "support/fixture.h"
#include <math.h>

enum { ROWS = 5, COLUMNS = 7, ELEMENTS = ROWS * COLUMNS };

typedef struct numbers {
    float x[ELEMENTS], mask[ELEMENTS];
} numbers;

/* Row 2 counts nowhere; what does not count is NaN. */
static numbers make_numbers(void) {
    numbers n;
    test_random random = test_random_named("masked_mean", 0);
    for (int i = 0; i < ELEMENTS; i++) {
        n.mask[i] = i / COLUMNS != 2 && i % 3 ? (float)(i % 2 ? -1 : 2) : 0;
        n.x[i] = n.mask[i] == 0 ? NAN : (float)(test_random_below(&random, 9) - 4) / 4;
    }
    return n;
}

typedef struct network {
    weft_graph *graph;
    weft_plan *plan;
    weft_tensor *x, *mask;
} network;

static network begin(weft_dtype mask) {
    network n = {.graph = test_graph()};
    n.x = weft_input(n.graph, "x", WEFT_F32, COLUMNS);
    weft_tensor *const given = weft_input(n.graph, "mask", WEFT_F32, COLUMNS);
    n.mask = mask == WEFT_F32 ? given : weft_cast(given, mask);
    return n;
}

static void run(network *n, weft_tensor *const *outputs, size_t count, weft_precision precision) {
    const numbers given = make_numbers();
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = ROWS};
    assert_weft_ok(weft_graph_set_precision(n->graph, precision));
    assert_weft_ok(weft_plan_create(&n->plan, outputs, count, &options));
    assert_weft_ok(weft_plan_write(n->plan, n->x, given.x, sizeof given.x));
    assert_weft_ok(
        weft_plan_write(n->plan, weft_graph_find_input(n->graph, "mask"), given.mask, sizeof given.mask));
    assert_weft_ok(weft_plan_run(n->plan));
}

static void end(network *n) {
    weft_plan_release(n->plan);
    weft_graph_release(n->graph);
}

/* Over the row of each element: its mean and its share. */
static void row_of(const numbers *n, int row, double *mean, double *share) {
    double sum = 0, count = 0;
    for (int c = 0; c < COLUMNS; c++) {
        if (n->mask[row * COLUMNS + c] == 0) continue;
        sum += (double)n->x[row * COLUMNS + c];
        count++;
    }
    *mean = count > 0 ? sum / count : 0;
    *share = count > 0 ? 1 / count : 0;
}

static void check(weft_dtype mask, weft_precision precision) {
    const numbers given = make_numbers();
    network n = begin(mask);
    weft_tensor *const rows = weft_masked_mean(n.x, n.mask, 1), *const all = weft_masked_mean(n.x, n.mask);
    weft_tensor *const outputs[] = {
        rows, all, weft_gradient(weft_sum(weft_mul_number(rows, 3)), n.x), weft_gradient(all, n.x)};
    float values[ROWS], gradient[ELEMENTS], of_all[ELEMENTS], whole = NAN;
    run(&n, outputs, 4, precision);
    assert_weft_ok(weft_plan_read(n.plan, rows, values, sizeof values));
    assert_weft_ok(weft_plan_read(n.plan, all, &whole, sizeof whole));
    assert_weft_ok(weft_plan_read(n.plan, outputs[2], gradient, sizeof gradient));
    assert_weft_ok(weft_plan_read(n.plan, outputs[3], of_all, sizeof of_all));
    const double allowed = precision == WEFT_PRECISION_F32 ? 1e-6 : 1e-2;
    double sum = 0, count = 0;
    for (int i = 0; i < ELEMENTS; i++) {
        sum += given.mask[i] == 0 ? 0 : (double)given.x[i];
        count += given.mask[i] != 0;
    }
    assert_true(fabs((double)whole - sum / count) <= allowed);
    for (int i = 0; i < ELEMENTS; i++) {
        double mean, share;
        row_of(&given, i / COLUMNS, &mean, &share);
        const bool counts = given.mask[i] != 0;
        assert_true(fabs((double)values[i / COLUMNS] - mean) <= allowed);
        assert_true(fabs((double)gradient[i] - (counts ? 3 * share : 0)) <= allowed);
        assert_true(fabs((double)of_all[i] - (counts ? 1 / count : 0)) <= allowed);
    }
    end(&n);
}

static void test_masks_of_all_types(void **state) {
    (void)state;
    check(WEFT_F32, WEFT_PRECISION_F32);
    check(WEFT_I32, WEFT_PRECISION_F32);
    check(WEFT_BOOL, WEFT_PRECISION_F32);
}

static void test_mixed_precision(void **state) {
    (void)state;
    check(WEFT_BOOL, WEFT_PRECISION_BF16);
    check(WEFT_BOOL, WEFT_PRECISION_F16);
}

/* One mask for each row, and one for each column. */
static void test_masks_that_broadcast(void **state) {
    (void)state;
    network n = begin(WEFT_F32);
    weft_tensor *const ones = weft_where(weft_equal(n.mask, n.mask), weft_number(n.x, 2), n.x);
    weft_tensor *const rows =
        weft_slice(n.mask, 1, 1, 2); /* (batch, 1): not 0 but in rows 2 and those that i % 3 leaves out */
    weft_tensor *const columns =
        weft_array(n.graph, WEFT_I32, (const int32_t[]){0, 0, 0, 0, 0, 0, 1}, 1, (const int64_t[]){COLUMNS});
    weft_tensor *const outputs[] = {weft_masked_mean(ones, rows), weft_masked_mean(ones, columns, 0),
        weft_masked_mean_axes(ones, rows, (const int64_t[]){0, 1, WEFT_END}, true),
        weft_masked_mean(ones, weft_number(columns, 0))};
    float values[COLUMNS];
    assert_int_equal(weft_tensor_rank(outputs[2]), 2);
    assert_int_equal(weft_tensor_rank(outputs[0]), 0);
    run(&n, outputs, 4, WEFT_PRECISION_F32);
    assert_weft_ok(weft_plan_read(n.plan, outputs[0], values, sizeof *values));
    assert_true(values[0] == 2);
    assert_weft_ok(weft_plan_read(n.plan, outputs[1], values, sizeof values));
    for (int c = 0; c < COLUMNS; c++) assert_true(values[c] == (c == COLUMNS - 1 ? 2 : 0));
    assert_weft_ok(weft_plan_read(n.plan, outputs[3], values, sizeof *values));
    assert_true(values[0] == 0);
    end(&n);
}

/* A loss of one's own over it is empty where the mask lets nothing through. */
static void test_empty_run(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, 2), *const mask =
                                                                    weft_input(graph, "mask", WEFT_F32);
    weft_tensor *const error = weft_square(weft_squeeze(weft_linear(x, 1), 1));
    weft_tensor *const loss = weft_mul_number(weft_masked_mean(error, mask), 0.5);
    weft_optimizer rule = weft_sgd_momentum(0.1f, 0.9f, 0.1f);
    weft_tensor *const outputs[] = {loss, weft_train_step(loss, rule, NULL)};
    weft_plan *plan = NULL;
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = 2};
    assert_weft_ok(weft_plan_create(&plan, outputs, 2, &options));
    float weight[3][2];
    for (int i = 0; i < 3; i++) {
        assert_weft_ok(weft_plan_write(plan, x, (const float[]){1, 2, 3, 4}, 4 * sizeof(float)));
        assert_weft_ok(weft_plan_write(plan, mask, (const float[]){i == 1 ? 0 : 1, 0}, 2 * sizeof(float)));
        assert_weft_ok(weft_plan_run(plan));
        assert_weft_ok(
            weft_tensor_read(weft_graph_find(graph, "linear1.weight"), weight[i], sizeof weight[i]));
    }
    assert_memory_equal(weight[0], weight[1], sizeof weight[0]);
    assert_true(weight[1][0] != weight[2][0]);
    weft_plan_release(plan);
    weft_graph_release(graph);
}

static void test_refusals(void **state) {
    (void)state;
    network n = begin(WEFT_F32);
    assert_null(weft_masked_mean(weft_sum(n.x, 1), n.mask));
    assert_weft_fails(WEFT_ERROR_SHAPE, weft_graph_status(n.graph), "masked_mean", "(batch, 7)", "(batch)");
    weft_graph_release(n.graph);
    n = begin(WEFT_I32);
    assert_null(weft_masked_mean(n.mask, n.x));
    assert_weft_fails(WEFT_ERROR_DTYPE, weft_graph_status(n.graph), "masked_mean", "i32");
    weft_graph_release(n.graph);
    n = begin(WEFT_F32);
    assert_null(weft_masked_mean(n.x, n.mask, 2));
    assert_weft_fails(WEFT_ERROR_SHAPE, weft_graph_status(n.graph), "masked_mean", "2");
    assert_null(weft_masked_mean(NULL, NULL));
    weft_graph_release(n.graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_masks_of_all_types),
        cmocka_unit_test(test_mixed_precision),
        cmocka_unit_test(test_masks_that_broadcast),
        cmocka_unit_test(test_empty_run),
        cmocka_unit_test(test_refusals),
    };
    return test_finish(cmocka_run_group_tests_name("masked mean", tests, NULL, NULL));
}
