/* Reductions over any axes: sum, mean, max, argmax. */
/* test slow gpu:optimised */
/* test.{formats} format={} reduced */
/* test.{formats}.gpu format={} reduced */
/* test.model-16.gpu WEFT_SUB_GROUPS=model-16 reduced */
/* test.{least,group8} device={} reduced short_launches */
#include "support/op_case.h"

#include "ops/covered_ops.h"
#include <math.h>

/* Each op's build and reference: both take the axes and `keep` of the case. */
#define REDUCTION(op)                                                                                        \
    static weft_tensor *build_##op(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {        \
        (void)graph;                                                                                         \
        return weft_##op##_axes(inputs[0], c->list, c->keep);                                                \
    }                                                                                                        \
    static f64_array *reference_##op(const op_case *c, const f64_array *const *inputs) {                     \
        return f64_##op(inputs[0], c->list, c->keep);                                                        \
    }
REDUCTION(sum)
REDUCTION(mean)
REDUCTION(max)
REDUCTION(argmax)

/* What all go through. */
#define FEW_SHAPES(op, ...)                                                                                  \
    CASE("a number", op, INPUTS(F32_NUMBER(-2, 2)), ALL_AXES, __VA_ARGS__),                                  \
        CASE("one element", op, INPUTS(F32(-2, 2, 1)), ALL_AXES, __VA_ARGS__),                               \
        CASE("3, all", op, INPUTS(F32(-2, 2, 3)), ALL_AXES, __VA_ARGS__),                                    \
        CASE("16, all", op, INPUTS(F32(-2, 2, 16)), ALL_AXES, __VA_ARGS__),                                  \
        CASE("33, all", op, INPUTS(F32(-2, 2, 33)), ALL_AXES, __VA_ARGS__),                                  \
        CASE("1000, all", op, INPUTS(F32(-2, 2, 1000)), ALL_AXES, __VA_ARGS__),                              \
        CASE("9999, all", op, INPUTS(F32(-2, 2, 9999)), ALL_AXES, __VA_ARGS__),                              \
        CASE("rows", op, INPUTS(F32(-2, 2, WEFT_BATCH, 17)), LIST(1), __VA_ARGS__),                          \
        CASE("batch", op, INPUTS(F32(-2, 2, WEFT_BATCH, 7)), LIST(0), __VA_ARGS__),                          \
        CASE("batch and all", op, INPUTS(F32(-2, 2, WEFT_BATCH, 4)), ALL_AXES, __VA_ARGS__),                 \
        CASE("middle", op, INPUTS(F32(-2, 2, 3, 16, 5)), LIST(1), __VA_ARGS__),                              \
        CASE("many short rows", op, INPUTS(F32(-2, 2, WEFT_BATCH, 17, 6)), LIST(2), __VA_ARGS__),            \
        CASE("many rows of 32", op, INPUTS(F32(-2, 2, WEFT_BATCH, 17, 32)), LIST(2), __VA_ARGS__),           \
        CASE("first two, kept", op, INPUTS(F32(-2, 2, 4, 5, 3)), LIST(1, 0), .keep = true, __VA_ARGS__)
/* Where the axes and strides lie does not depend on what is reduced: sum and max are enough. */
#define MORE_SHAPES(op)                                                                                      \
    CASE("rank 3, all, kept", op, INPUTS(F32(-2, 2, 3, 5, 17)), ALL_AXES, .keep = true),                     \
        CASE("rows of 257", op, INPUTS(F32(-2, 2, 5, 257)), LIST(-1), .keep = true),                         \
        CASE("columns", op, INPUTS(F32(-2, 2, 15, 33)), LIST(0)),                                            \
        CASE("first and last", op, INPUTS(F32(-2, 2, 4, 3, 17)), LIST(0, 2)),                                \
        CASE("axis of one", op, INPUTS(F32(-2, 2, 4, 1, 3)), LIST(1)),                                       \
        CASE("transposed", op, INPUTS(F32_VIEW(OP_TRANSPOSED, -2, 2, 6, 17)), LIST(1)),                      \
        CASE("reversed", op, INPUTS(F32_VIEW(OP_REVERSED, -2, 2, 3, 4, 5)), LIST(0, 2)),                     \
        CASE("sliced", op, INPUTS(F32_VIEW(OP_SLICED, -2, 2, 5, 18)), LIST(-1)),                             \
        CASE("rank 5", op, INPUTS(F32(-2, 2, 2, 3, 4, 3, 2)), LIST(1, 3)),                                   \
        CASE("rank 8", op, INPUTS(F32(-2, 2, 2, 1, 2, 3, 1, 2, 2, 2)), LIST(0, 3, 6))

static const op_case sum_cases[] = {
    FEW_SHAPES(sum, .no_gradient = false),
    MORE_SHAPES(sum),
    CASE("i32", sum, INPUTS(I32(-1000, 1000, 7, 33)), LIST(1), .no_gradient = true),
};
static const op_case mean_cases[] = {FEW_SHAPES(mean, .no_gradient = false)};
static const op_case max_cases[] = {
    FEW_SHAPES(max, .no_gradient = false),
    MORE_SHAPES(max),
    CASE("i32", max, INPUTS(I32(-1000, 1000, 7, 33)), LIST(1), .no_gradient = true),
    CASE("ties", max, INPUTS(F32_TIES(0, 2, 6, 16)), LIST(1), .no_gradient = true),
};
static const op_case argmax_cases[] = {
    FEW_SHAPES(argmax, .no_gradient = true),
    CASE("ties", argmax, INPUTS(F32_TIES(0, 2, 6, 16)), LIST(1), .no_gradient = true),
    CASE("ties, two axes", argmax, INPUTS(F32_TIES(0, 5, 6, 5, 4)), LIST(0, 2), .no_gradient = true),
    CASE("i32", argmax, INPUTS(I32(-5, 5, 7, 33)), LIST(1), .no_gradient = true),
};

/* ---- what the shapes do not show ---- */

static const float rows[4][5] = {{1, NAN, 3, NAN, 2}, {-INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY},
    {INFINITY, 1, INFINITY, -INFINITY, 0}, {2, 2, 2, 1, 2}};

static void test_special_values(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input_shape(graph, "x", WEFT_F32, 2, (const int64_t[]){4, 5});
    weft_tensor *const largest = weft_max(x, 1);
    weft_tensor *const outputs[] = {
        largest, weft_argmax(x, 1), weft_sum(x, 1), weft_gradient(weft_sum(largest), x)};
    weft_plan *plan = NULL;
    assert_weft_ok(weft_plan_create(&plan, outputs, 4, NULL));
    assert_weft_ok(weft_plan_write(plan, x, rows, sizeof rows));
    assert_weft_ok(weft_plan_run(plan));
    float maxima[4], sums[4], gradient[4][5];
    int32_t places[4];
    assert_weft_ok(weft_plan_read(plan, outputs[0], maxima, sizeof maxima));
    assert_weft_ok(weft_plan_read(plan, outputs[1], places, sizeof places));
    assert_weft_ok(weft_plan_read(plan, outputs[2], sums, sizeof sums));
    assert_weft_ok(weft_plan_read(plan, outputs[3], gradient, sizeof gradient));
    assert_true(isnan(maxima[0]) && maxima[1] == -INFINITY && maxima[2] == INFINITY && maxima[3] == 2);
    assert_int_equal(places[0], 1);
    assert_int_equal(places[1], 0);
    assert_int_equal(places[2], 0);
    assert_int_equal(places[3], 0);
    assert_true(isnan(sums[0]) && sums[1] == -INFINITY && isnan(sums[2]) && sums[3] == 9);
    for (int i = 0; i < 5; i++) {
        assert_true(gradient[1][i] == 0.2f); /* five ties share evenly */
        assert_true(gradient[2][i] == (i == 0 || i == 2 ? 0.5f : 0));
        assert_true(gradient[3][i] == (i == 3 ? 0 : 0.25f));
    }
    weft_plan_release(plan);
    weft_graph_release(graph);
}

/* Axes of one element beside a reduction of other axes, in one step: each has index 0. */
static void test_index_of_single_elements(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, 1, 5);
    weft_tensor *const y = weft_mul(x, x);
    weft_tensor *const outputs[] = {
        weft_argmax_axes(y, (const int64_t[]){1, WEFT_END}, true), weft_argmin(y, 1), weft_softmax(y, 2)};
    float values[2][5], shares[2][5];
    int32_t indices[2][2][5];
    weft_plan *plan = NULL;
    for (int i = 0; i < 10; i++) values[i / 5][i % 5] = (float)(i % 5 - i / 5);
    assert_weft_ok(
        weft_plan_create(&plan, outputs, 3, &(weft_plan_options){WEFT_PLAN_OPTIONS_INIT, .batch = 2}));
    assert_weft_ok(weft_plan_write(plan, x, values, sizeof values));
    assert_weft_ok(weft_plan_run(plan));
    for (int i = 0; i < 2; i++)
        assert_weft_ok(weft_plan_read(plan, outputs[i], indices[i], sizeof indices[i]));
    assert_weft_ok(weft_plan_read(plan, outputs[2], shares, sizeof shares));
    for (int i = 0; i < 20; i++) assert_int_equal(indices[i / 10][i / 5 % 2][i % 5], 0);
    for (int row = 0; row < 2; row++) {
        double sum = 0;
        for (int i = 0; i < 5; i++) sum += (double)shares[row][i];
        assert_true(fabs(sum - 1) < 1e-5);
    }
    weft_plan_release(plan);
    weft_graph_release(graph);
}

int main(void) {
    static const op_cases ops[] = {REDUCE_OPS(COVERED_CASES)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_special_values), cmocka_unit_test(test_index_of_single_elements)};
    return test_finish(op_suite_run("reduce", ops, sizeof ops / sizeof ops[0]) +
                       cmocka_run_group_tests_name("reduce, special values", tests, NULL, NULL));
}
