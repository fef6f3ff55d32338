/* Reductions over any axes: min, argmin, prod, any, all, count_nonzero. Where axes and strides lie is proved
 * in test_reduce.c; here it is what is reduced, in every form of kernel. */
/* test slow */
/* test.model-{8,16,32,64}.gpu WEFT_SUB_GROUPS=model-{} */
/* test.f64.model-16.gpu format=f64 WEFT_SUB_GROUPS=model-16 */
/* test.f64.full format=f64 */
/* test.f64.full.gpu format=f64 */
#include "oracle/reference_reduce.h"
#include "support/op_case.h"

#include "ops/covered_ops.h"
#include <limits.h>
#include <math.h>

#define REDUCTION(op)                                                                                        \
    static weft_tensor *build_##op(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {        \
        (void)graph;                                                                                         \
        return weft_##op##_axes(inputs[0], c->list, c->keep);                                                \
    }                                                                                                        \
    static f64_array *reference_##op(const op_case *c, const f64_array *const *inputs) {                     \
        return f64_##op(inputs[0], c->list, c->keep);                                                        \
    }
REDUCTION(min)
REDUCTION(argmin)
REDUCTION(prod)
REDUCTION(any)
REDUCTION(all)
REDUCTION(count_nonzero)

/* A row of one piece with a rest, of a batch; whole pieces; columns with a rest, and a piece; short columns. Numbers between low and
 * high.
 */
#define SHAPES(op, low, high, ...)                                                                           \
    CASE("a number", op, INPUTS(F32_NUMBER(low, high)), ALL_AXES, __VA_ARGS__),                              \
        CASE("rows", op, INPUTS(F32(low, high, WEFT_BATCH, 17)), LIST(1), __VA_ARGS__),                      \
        CASE("first and last, kept", op, INPUTS(F32(low, high, 4, 3, 33)), LIST(2, 0), .keep = true,         \
            __VA_ARGS__),                                                                                    \
        CASE("columns", op, INPUTS(F32_VIEW(OP_SLICED, low, high, 15, 33)), LIST(0), __VA_ARGS__),           \
        CASE("batch, reversed", op, INPUTS(F32_VIEW(OP_REVERSED, low, high, WEFT_BATCH, 7)), LIST(0),        \
            __VA_ARGS__)

static const op_case min_cases[] = {
    SHAPES(min, -2, 2, .no_gradient = false),
    CASE("i32", min, INPUTS(I32(-1000, 1000, 7, 33)), LIST(1), .no_gradient = true),
    CASE("i32, columns", min, INPUTS(I32(-1000, 1000, 7, 33)), LIST(0), .no_gradient = true),
};
static const op_case argmin_cases[] = {
    SHAPES(argmin, -2, 2, .no_gradient = true),
    CASE("ties, two axes", argmin, INPUTS(F32_TIES(0, 5, 6, 5, 4)), LIST(0, 2), .no_gradient = true),
    CASE("i32", argmin, INPUTS(I32(-5, 5, 7, 33)), LIST(1), .no_gradient = true),
    CASE("i32, columns", argmin, INPUTS(I32(-5, 5, 7, 33)), LIST(0), .no_gradient = true),
};
/* The logarithms of such numbers are 0 on average, so that a product of 132 is about 1. None is near 0: the central difference of a product
 * is wrong by the square of its relative steps, which was 1.6e-6 of a gradient where the least of 132 numbers between -2 and 2 was 7e-4. */
static const op_case prod_cases[] = {
    SHAPES(prod, 0.5, 1.6, .no_gradient = false),
    CASE("negative numbers", prod, INPUTS(F32(-1.6, -0.5, 3, 15)), LIST(1)),
    CASE("both signs in columns", prod, INPUTS(F32(-2, 2, 4, 11)), LIST(0)),
    CASE("zeros", prod, INPUTS(F32_TIES(-2, 2, 40, 4)), LIST(1)),
    CASE("zeros in columns", prod, INPUTS(F32_TIES(-2, 2, 4, 40)), LIST(0)),
    CASE("i32 wraps around", prod, INPUTS(I32(1, 2, 9, 19)), LIST(1), .no_gradient = true),
    CASE("i32, columns", prod, INPUTS(I32(-3, 3, 5, 33)), LIST(0), .no_gradient = true),
};
#define TRUTHS(op)                                                                                           \
    CASE("f32 rows", op, INPUTS(F32_TIES(0, 1, WEFT_BATCH, 3)), LIST(1), .no_gradient = true),               \
        CASE("bool, all", op, INPUTS(BOOLS(5, 7)), ALL_AXES, .no_gradient = true),                           \
        CASE("bool columns, kept", op, INPUTS(BOOLS(3, 33)), LIST(0), .keep = true, .no_gradient = true),    \
        CASE("i32 number", op, INPUTS({WEFT_I32, OP_RANDOM, 0, 1, {WEFT_END}, OP_WHOLE}), ALL_AXES,          \
            .no_gradient = true)
#define BOOLS(...)                                                                                           \
    { WEFT_BOOL, OP_RANDOM, 0, 1, DIMS(__VA_ARGS__), OP_WHOLE }
static const op_case any_cases[] = {TRUTHS(any)};
static const op_case all_cases[] = {TRUTHS(all)};
static const op_case count_nonzero_cases[] = {TRUTHS(count_nonzero)};

/* ---- under a mask, the second input ---- */

static weft_tensor *build_masked_mean(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    return weft_masked_mean_axes(inputs[0], inputs[1], c->list, c->keep);
}
static f64_array *reference_masked_mean(const op_case *c, const f64_array *const *inputs) {
    return f64_masked_mean(inputs[0], inputs[1], c->list, c->keep);
}
static const op_case masked_mean_cases[] = {
    CASE("all", masked_mean, INPUTS(F32(-2, 2, WEFT_BATCH, 17), BOOLS(WEFT_BATCH, 17)), ALL_AXES),
    CASE("rows, a flag a column", masked_mean, INPUTS(F32(-2, 2, WEFT_BATCH, 33), BOOLS(33)), LIST(1)),
    CASE("columns, a number a row", masked_mean, INPUTS(F32(-2, 2, 15, 33), I32(0, 2, 15, 1)), LIST(0)),
    CASE("the middle, kept", masked_mean, INPUTS(F32_VIEW(OP_TRANSPOSED, -2, 2, 4, 33, 5), BOOLS(4, 33, 5)),
        LIST(1), .keep = true),
    CASE("long", masked_mean, INPUTS(F32(-2, 2, 3, 5000), BOOLS(3, 5000)), LIST(1)),
};

/* ---- what the shapes do not show ---- */

enum { ROWS = 5, LONG = 5 };
static const float rows[ROWS][LONG] = {{1, NAN, 3, NAN, 2},
    {INFINITY, INFINITY, INFINITY, INFINITY, INFINITY}, {INFINITY, 1, -INFINITY, -INFINITY, 0},
    {2, 2, 2, 3, 2}, {0x1p-149f, 0, -0x1p-149f, 0, 1}};

static void check_extremes(const float *minima, const int32_t *places, const float (*gradient)[LONG]) {
    static const int32_t wanted[ROWS] = {1, 0, 2, 0, 2};
    assert_true(isnan(minima[0]) && minima[1] == INFINITY && minima[2] == -INFINITY && minima[3] == 2);
    for (int i = 0; i < 4; i++) assert_int_equal(places[i], wanted[i]);
    if (!test_device_flushes()) {
        assert_true(minima[4] == -0x1p-149f);
        assert_int_equal(places[4], wanted[4]);
    }
    for (int i = 0; i < LONG; i++) {
        assert_true(isnan(gradient[0][i])); /* as torch.amin has it */
        assert_true(gradient[1][i] == 0.2f);
        assert_true(gradient[2][i] == (i == 2 || i == 3 ? 0.5f : 0));
        assert_true(gradient[3][i] == (i == 3 ? 0 : 0.25f));
    }
}

static void test_special_values(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input_shape(graph, "x", WEFT_F32, 2, (const int64_t[]){ROWS, LONG});
    weft_tensor *const smallest = weft_min(x, 1), *const product = weft_prod(x, 1);
    weft_tensor *const outputs[] = {smallest, weft_argmin(x, 1), weft_gradient(weft_sum(smallest), x),
        product, weft_any(x, 1), weft_all(x, 1), weft_count_nonzero(x, 1)};
    weft_plan *plan = NULL;
    assert_weft_ok(weft_plan_create(&plan, outputs, 7, NULL));
    assert_weft_ok(weft_plan_write(plan, x, rows, sizeof rows));
    assert_weft_ok(weft_plan_run(plan));
    float minima[ROWS], gradient[ROWS][LONG], products[ROWS];
    int32_t places[ROWS], counts[ROWS];
    uint8_t any[ROWS], all[ROWS];
    assert_weft_ok(weft_plan_read(plan, outputs[0], minima, sizeof minima));
    assert_weft_ok(weft_plan_read(plan, outputs[1], places, sizeof places));
    assert_weft_ok(weft_plan_read(plan, outputs[2], gradient, sizeof gradient));
    assert_weft_ok(weft_plan_read(plan, outputs[3], products, sizeof products));
    assert_weft_ok(weft_plan_read(plan, outputs[4], any, sizeof any));
    assert_weft_ok(weft_plan_read(plan, outputs[5], all, sizeof all));
    assert_weft_ok(weft_plan_read(plan, outputs[6], counts, sizeof counts));
    check_extremes(minima, places, (const float(*)[LONG])gradient);
    assert_true(isnan(products[0]) && products[1] == INFINITY && isnan(products[2]));
    assert_true(products[3] == 48 && products[4] == 0);
    static const int32_t nonzero[ROWS] = {5, 5, 4, 5, 3};
    for (int i = 0; i < ROWS - test_device_flushes(); i++) {
        assert_int_equal(counts[i], nonzero[i]);
        assert_int_equal(any[i], nonzero[i] > 0);
        assert_int_equal(all[i], nonzero[i] == LONG);
    }
    weft_plan_release(plan);
    weft_graph_release(graph);
}

/* Rows and columns of integers that are all at an end of their range, and of one that is not. */
static void test_ends_of_integers(void **state) {
    (void)state;
    enum { N = 4, LENGTH = 19 };
    int32_t numbers[N][LENGTH];
    for (int i = 0; i < N; i++)
        for (int k = 0; k < LENGTH; k++) numbers[i][k] = i % 2 ? INT_MAX : INT_MIN;
    numbers[2][17] = INT_MAX;
    numbers[3][17] = INT_MIN;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input_shape(graph, "x", WEFT_I32, 2, (const int64_t[]){N, LENGTH});
    weft_tensor *const t = weft_input_shape(graph, "t", WEFT_I32, 2, (const int64_t[]){LENGTH, N});
    weft_tensor *const outputs[] = {weft_min(x, 1), weft_argmin(x, 1), weft_max(x, 1), weft_argmax(x, 1),
        weft_min(t, 0), weft_argmin(t, 0), weft_max(t, 0), weft_argmax(t, 0)};
    static const int32_t wanted[4][N] = {{INT_MIN, INT_MAX, INT_MIN, INT_MIN}, {0, 0, 0, 17},
        {INT_MIN, INT_MAX, INT_MAX, INT_MAX}, {0, 0, 17, 0}};
    int32_t transposed[LENGTH][N], got[N];
    for (int i = 0; i < N; i++)
        for (int k = 0; k < LENGTH; k++) transposed[k][i] = numbers[i][k];
    weft_plan *plan = NULL;
    assert_weft_ok(weft_plan_create(&plan, outputs, 8, NULL));
    assert_weft_ok(weft_plan_write(plan, x, numbers, sizeof numbers));
    assert_weft_ok(weft_plan_write(plan, t, transposed, sizeof transposed));
    assert_weft_ok(weft_plan_run(plan));
    for (int o = 0; o < 8; o++) {
        assert_weft_ok(weft_plan_read(plan, outputs[o], got, sizeof got));
        for (int i = 0; i < N; i++)
            if (got[i] != wanted[o % 4][i])
                fail_msg("output %d, row %d: %d instead of %d", o, i, got[i], wanted[o % 4][i]);
    }
    weft_plan_release(plan);
    weft_graph_release(graph);
}

int main(void) {
    static const op_cases ops[] = {REDUCE_KIND_OPS(COVERED_CASES)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_special_values), cmocka_unit_test(test_ends_of_integers)};
    return test_finish(op_suite_run("reduce kinds", ops, sizeof ops / sizeof ops[0]) +
                       cmocka_run_group_tests_name("reduce kinds, special values", tests, NULL, NULL));
}
