/* Norms, and logsumexp. */
/* test slow */
/* test.{formats} format={} reduced */
/* test.{formats}.gpu format={} reduced */
#include "oracle/reference_reduce.h"
#include "support/op_case.h"

#include "ops/covered_ops.h"
#include <math.h>

/* The case's `start` is the order, 0 for INFINITY. */
static double order_of(const op_case *c) {
    return c->start ? (double)c->start : (double)INFINITY;
}
static weft_tensor *build_norm(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    return weft_norm_with(inputs[0], order_of(c), c->list, c->keep);
}
static f64_array *reference_norm(const op_case *c, const f64_array *const *inputs) {
    return f64_norm(inputs[0], order_of(c), c->list, c->keep);
}
static weft_tensor *build_logsumexp(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    return weft_logsumexp_axes(inputs[0], c->list, c->keep);
}
static f64_array *reference_logsumexp(const op_case *c, const f64_array *const *inputs) {
    return f64_logsumexp(inputs[0], c->list, c->keep);
}

static weft_tensor *build_normalize(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    return weft_normalize(inputs[0], order_of(c), c->axis, 0.5);
}
static f64_array *reference_normalize(const op_case *c, const f64_array *const *inputs) {
    return f64_normalize(inputs[0], order_of(c), c->axis, 0.5);
}

#define ORDER(p)                                                                                             \
    CASE(#p ": rows", norm, INPUTS(F32(-2, 2, WEFT_BATCH, 17)), LIST(1), .start = p),                        \
        CASE(#p ": columns, kept", norm, INPUTS(F32_VIEW(OP_SLICED, -2, 2, 15, 33)), LIST(0), .keep = true,  \
            .start = p),                                                                                     \
        CASE(#p ": a number", norm, INPUTS(F32_NUMBER(-2, -1)), ALL_AXES, .start = p)
static const op_case norm_cases[] = {
    ORDER(1),
    ORDER(2),
    ORDER(0),
    CASE("first and last", norm, INPUTS(F32(-2, 2, 4, 3, 17)), LIST(0, 2), .start = 2),
    CASE("batch and all", norm, INPUTS(F32(-2, 2, WEFT_BATCH, 4)), ALL_AXES, .start = 2),
};
static const op_case normalize_cases[] = {
    CASE("rows", normalize, INPUTS(F32(-2, 2, WEFT_BATCH, 17)), .axis = 1, .start = 2),
    CASE("columns of order 1", normalize, INPUTS(F32(-2, 2, 5, 33)), .axis = 0, .start = 1),
    CASE("the largest", normalize, INPUTS(F32_VIEW(OP_TRANSPOSED, -2, 2, 7, 5)), .axis = -1, .start = 0),
    CASE("short vectors", normalize, INPUTS(F32(-0.2, 0.2, WEFT_BATCH, 3)), .axis = 1, .start = 2),
};
static const op_case logsumexp_cases[] = {
    CASE("a number", logsumexp, INPUTS(F32_NUMBER(-2, 2)), ALL_AXES),
    CASE("rows, large", logsumexp, INPUTS(F32(-200, 200, WEFT_BATCH, 17)), LIST(1)),
    CASE("columns", logsumexp, INPUTS(F32_VIEW(OP_TRANSPOSED, -4, 4, 15, 33)), LIST(0)),
    CASE("batch and last, kept", logsumexp, INPUTS(F32(995, 1005, WEFT_BATCH, 3, 4)), LIST(0, -1),
        .keep = true),
    CASE("all", logsumexp, INPUTS(F32(-4, 4, 1000)), ALL_AXES),
};

/* ---- where the formulas are not smooth ---- */

enum { ROWS = 6, LONG = 4 };
static const float rows[ROWS][LONG] = {{0, 0, 0, 0}, {3, 0, -4, 0}, {2, -2, 1, -2}, {NAN, 1, 2, 3},
    {-INFINITY, -INFINITY, -INFINITY, -INFINITY}, {INFINITY, 1, -INFINITY, 2}};

typedef struct results {
    float value[ROWS], gradient[ROWS][LONG];
} results;

static void run_all(results got[4]) {
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input_shape(graph, "x", WEFT_F32, 2, (const int64_t[]){ROWS, LONG});
    static const int64_t last[] = {1, WEFT_END};
    weft_tensor *const values[4] = {weft_norm_with(x, 1, last, false), weft_norm(x, 1),
        weft_norm_with(x, (double)INFINITY, last, false), weft_logsumexp(x, 1)};
    weft_tensor *outputs[8];
    for (int i = 0; i < 4; i++) {
        outputs[2 * i] = values[i];
        outputs[2 * i + 1] = weft_gradient(weft_sum(values[i]), x);
    }
    weft_plan *plan = NULL;
    assert_weft_ok(weft_plan_create(&plan, outputs, 8, NULL));
    assert_weft_ok(weft_plan_write(plan, x, rows, sizeof rows));
    assert_weft_ok(weft_plan_run(plan));
    for (int i = 0; i < 4; i++) {
        assert_weft_ok(weft_plan_read(plan, outputs[2 * i], got[i].value, sizeof got[i].value));
        assert_weft_ok(weft_plan_read(plan, outputs[2 * i + 1], got[i].gradient, sizeof got[i].gradient));
    }
    weft_plan_release(plan);
    weft_graph_release(graph);
}

static void assert_row(const float *got, float a, float b, float c, float d) {
    const float wanted[LONG] = {a, b, c, d};
    for (int i = 0; i < LONG; i++) {
        if (isnan(wanted[i]) ? isnan(got[i]) : fabsf(got[i] - wanted[i]) <= 1e-6f) continue;
        fail_msg("element %d is %g, not %g", i, (double)got[i], (double)wanted[i]);
    }
}

/* Expected: what PyTorch 2.15 gives, but for the gradient of logsumexp where all are -inf, which is NaN there. */
static void test_special_values(void **state) {
    (void)state;
    static results r[4];
    run_all(r);
    const results *const one = &r[0], *const two = &r[1], *const most = &r[2], *const sums = &r[3];
    for (int i = 0; i < 3; i++) {
        assert_row(r[i].gradient[0], 0, 0, 0, 0);
        assert_true(r[i].value[0] == 0 && isnan(r[i].value[3]) && r[i].value[4] == INFINITY);
        assert_true(r[i].value[5] == INFINITY);
    }
    assert_true(one->value[1] == 7 && two->value[1] == 5 && most->value[1] == 4);
    assert_row(one->gradient[1], 1, 0, -1, 0);
    assert_row(two->gradient[1], 0.6f, 0, -0.8f, 0);
    assert_row(most->gradient[1], 0, 0, -1, 0);
    assert_row(most->gradient[2], 1 / 3.0f, -1 / 3.0f, 0, -1 / 3.0f);
    assert_row(one->gradient[3], 0, 1, 1, 1);
    assert_row(most->gradient[3], 0, 0, 0, 0);
    assert_row(one->gradient[4], -1, -1, -1, -1);
    assert_row(most->gradient[4], -0.25f, -0.25f, -0.25f, -0.25f);
    assert_row(most->gradient[5], 0.5f, 0, -0.5f, 0);
    assert_row(two->gradient[5], NAN, 0, NAN, 0);
    assert_true(fabsf(sums->value[0] - logf(4)) < 1e-6f && isnan(sums->value[3]));
    assert_true(sums->value[4] == -INFINITY && sums->value[5] == INFINITY);
    assert_row(sums->gradient[0], 0.25f, 0.25f, 0.25f, 0.25f);
    assert_row(sums->gradient[4], 0, 0, 0, 0);
    assert_row(sums->gradient[5], NAN, 0, 0, 0);
}

int main(void) {
    static const op_cases ops[] = {NORM_OPS(COVERED_CASES)};
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_special_values)};
    return test_finish(op_suite_run("norms", ops, sizeof ops / sizeof ops[0]) +
                       cmocka_run_group_tests_name("norms, special values", tests, NULL, NULL));
}
