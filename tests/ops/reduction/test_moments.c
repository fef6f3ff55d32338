/* Variance and standard deviation. */
/* test slow */
/* test.{formats} format={} reduced */
/* test.{formats}.gpu format={} reduced */
#include "oracle/reference_reduce.h"
#include "support/op_case.h"

#include "ops/covered_ops.h"
#include <math.h>

/* The case's `start` is the correction. */
#define MOMENT(op)                                                                                           \
    static weft_tensor *build_##op(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {        \
        (void)graph;                                                                                         \
        return weft_##op##_with(inputs[0], (int)c->start, c->list, c->keep);                                 \
    }                                                                                                        \
    static f64_array *reference_##op(const op_case *c, const f64_array *const *inputs) {                     \
        return f64_##op(inputs[0], (double)c->start, c->list, c->keep);                                      \
    }
MOMENT(var)
MOMENT(std)

static const op_case var_cases[] = {
    CASE("a number, correction 1", var, INPUTS(F32_NUMBER(-2, 2)), ALL_AXES, .start = 1, .no_gradient = true),
    CASE("one element", var, INPUTS(F32(-2, 2, 1)), ALL_AXES),
    CASE("rows", var, INPUTS(F32(-2, 2, WEFT_BATCH, 17)), LIST(1), .start = 1),
    CASE("two, correction 2", var, INPUTS(F32(-2, 2, 3, 2)), LIST(1), .start = 2, .no_gradient = true),
    CASE("correction above the length", var, INPUTS(F32(-2, 2, 3, 2)), LIST(1), .start = 3,
        .no_gradient = true),
    CASE("batch and last", var, INPUTS(F32(-2, 2, WEFT_BATCH, 3, 4)), LIST(0, -1), .keep = true, .start = 1),
    CASE("batch, no correction", var, INPUTS(F32(-2, 2, WEFT_BATCH, 7)), LIST(0)),
    CASE("batch, correction 1", var, INPUTS(F32(-2, 2, WEFT_BATCH, 7)), LIST(0), .start = 1,
        .no_gradient = true), /* NaN for a batch of one */
    CASE("many short rows", var, INPUTS(F32(-2, 2, WEFT_BATCH, 17, 6)), LIST(2), .start = 1),
    CASE("columns, mean 1e4", var, INPUTS(F32_VIEW(OP_SLICED, 9999, 10001, 15, 33)), LIST(0), .start = 1),
    CASE("rows, mean 1e6", var, INPUTS(F32(999999, 1000001, 3, 1000)), LIST(1), .start = 1),
    CASE("equal elements", var, INPUTS(F32_TIES(7, 7, 3, 33)), LIST(1)),
    CASE("middle, reversed", var, INPUTS(F32_VIEW(OP_REVERSED, -2, 2, 3, 16, 5)), LIST(1), .start = 1),
};
static const op_case std_cases[] = {
    CASE("rows", std, INPUTS(F32(-2, 2, WEFT_BATCH, 17)), LIST(1), .start = 1),
    CASE("all, mean 1e4", std, INPUTS(F32(9999, 10001, 1000)), ALL_AXES, .start = 1),
    CASE("columns, kept", std, INPUTS(F32(-2, 2, 15, 33)), LIST(0), .keep = true),
    CASE("one element", std, INPUTS(F32(-2, 2, 5, 1)), LIST(1)),
};

/* ---- what random numbers do not show ---- */

enum { ROWS = 5, LONG = 4 };
static const float rows[ROWS][LONG] = {{0.1f, 0.1f, 0.1f, 0.1f}, {1, NAN, 2, 3}, {INFINITY, 1, 2, 3},
    {1e18f, -1e18f, 1e18f, -1e18f}, {16777216, 16777216, 16777216, 16777218}};

/* A deviation of zero has gradient zero; NaN and infinities become NaN, as in PyTorch. */
static void test_special_values(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input_shape(graph, "x", WEFT_F32, 2, (const int64_t[]){ROWS, LONG});
    weft_tensor *const deviation = weft_std(x, 1);
    weft_tensor *const outputs[] = {deviation, weft_gradient(weft_sum(deviation), x), weft_var(x, 1),
        weft_var(weft_slice(x, 1, 0, 1), 1)};
    weft_plan *plan = NULL;
    assert_weft_ok(weft_plan_create(&plan, outputs, 4, NULL));
    assert_weft_ok(weft_plan_write(plan, x, rows, sizeof rows));
    assert_weft_ok(weft_plan_run(plan));
    float deviations[ROWS], gradient[ROWS][LONG], variances[ROWS], single[ROWS];
    assert_weft_ok(weft_plan_read(plan, outputs[0], deviations, sizeof deviations));
    assert_weft_ok(weft_plan_read(plan, outputs[1], gradient, sizeof gradient));
    assert_weft_ok(weft_plan_read(plan, outputs[2], variances, sizeof variances));
    assert_weft_ok(weft_plan_read(plan, outputs[3], single, sizeof single));
    assert_true(deviations[0] == 0 && isnan(deviations[1]) && isnan(deviations[2]));
    for (int i = 0; i < LONG; i++) assert_true(gradient[0][i] == 0);
    assert_true(fabsf(variances[3] / (4e36f / 3) - 1) < 1e-6f);
    assert_true(variances[4] == 1 && deviations[4] == 1);
    for (int i = 0; i < ROWS; i++) assert_true(isnan(single[i]) || test_device_loose());
    weft_plan_release(plan);
    weft_graph_release(graph);
}

/* The variance of a fused expression is one launch while rows are short, and two steps when they are long: a launch each
 * where it joins its own splits, which it does where work-items are neighbours. */
static void test_launches(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input_shape(graph, "x", WEFT_F32, 2, (const int64_t[]){64, 500});
    weft_tensor *const y = weft_input_shape(graph, "y", WEFT_F32, 1, (const int64_t[]){200000});
    weft_tensor *const short_rows = weft_var(weft_relu(weft_add(x, x)), 1);
    weft_tensor *const long_row = weft_var(weft_relu(weft_add(y, y)));
    const bool walks = weft_context_device(test_context())->device_class == WEFT_CLASS_CPU;
    const size_t most[2] = {1, walks ? 4 : 2};
    for (int i = 0; i < 2; i++) {
        weft_plan *plan = NULL;
        weft_plan_info info;
        assert_weft_ok(weft_plan_create(&plan, i ? &long_row : &short_rows, 1, NULL));
        assert_weft_ok(weft_plan_get_info(plan, &info));
        assert_in_range(info.launches, 1, most[i]);
        weft_plan_release(plan);
    }
    weft_graph_release(graph);
}

int main(void) {
    static const op_cases ops[] = {MOMENT_OPS(COVERED_CASES)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_special_values), cmocka_unit_test(test_launches)};
    return test_finish(op_suite_run("moments", ops, sizeof ops / sizeof ops[0]) +
                       cmocka_run_group_tests_name("moments, special values", tests, NULL, NULL));
}
