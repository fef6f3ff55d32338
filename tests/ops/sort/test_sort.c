/* Sorting and the greatest elements: every path of the kernels by length and k, ties, NaN, zeros of both
 * signs, the ends of the integers. Indices compare exactly, so stability is proven with them. */
/* test gpu:optimised */
/* test.{narrow_formats} format={} reduced */
/* test.{narrow_formats}.gpu format={} reduced */
/* test.indices64.gpu WEFT_TEST_INDICES=64 reduced */
/* test.{least,processor,group8} device={} reduced short_launches */
#include "oracle/reference_sort.h"
#include "support/op_case.h"

#include "ops/covered_ops.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define X(...) F32(-100, 100, __VA_ARGS__)

/* axis, keep: descending or largest, start: k (0: all) */
static f64_order order_of(const op_case *c) {
    return (f64_order){c->axis, c->keep, c->start};
}

static weft_tensor *build_argsort(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    return weft_argsort(inputs[0], c->axis, c->keep);
}
static weft_tensor *build_sort(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    return weft_sort(inputs[0], c->axis, c->keep);
}
static weft_tensor *build_topk_indices(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    return weft_topk_indices(inputs[0], c->start, c->axis, c->keep);
}
static weft_tensor *build_topk(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    return weft_topk(inputs[0], c->start, c->axis, c->keep);
}
static f64_array *reference_argsort(const op_case *c, const f64_array *const *inputs) {
    return f64_sorted_places(inputs[0], order_of(c));
}
static f64_array *reference_sort(const op_case *c, const f64_array *const *inputs) {
    return f64_sorted(inputs[0], order_of(c));
}
#define reference_topk_indices reference_argsort
#define reference_topk         reference_sort

/* The gradient of sum(sort(x) · w): w back at its places; its gradient with regard to w sorts by x. */
static weft_tensor *build_slope(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    weft_tensor *y = c->start ? build_topk(c, graph, inputs) : build_sort(c, graph, inputs);
    return weft_gradient(weft_sum(weft_mul(y, inputs[1])), inputs[0]);
}
static f64_array *reference_slope(const op_case *c, const f64_array *const *inputs) {
    const f64_array *order = f64_sorted_places(inputs[0], order_of(c)), *w = inputs[1];
    f64_array *y = f64_zeros(inputs[0]->rank, inputs[0]->dims);
    const size_t n = (size_t)y->dims[1], k = (size_t)order->dims[1];
    for (size_t i = 0; i < order->count; i++) y->value[i / k * n + (size_t)order->value[i]] = w->value[i];
    return y;
}

#define NO_GRADIENT .no_gradient = true

static const op_case argsort_cases[] = {
    CASE("one axis", argsort, INPUTS(X(17)), .axis = 0, NO_GRADIENT),
    CASE("a single element", argsort, INPUTS(X(1)), .axis = 0, NO_GRADIENT),
    CASE("ties, batch", argsort, INPUTS(F32_TIES(-2, 2, WEFT_BATCH, 9)), .axis = 1, NO_GRADIENT),
    CASE("ties, descending", argsort, INPUTS(F32_TIES(-2, 2, 4, 9)), .axis = 1, .keep = true, NO_GRADIENT),
    CASE("all equal", argsort, INPUTS(F32_TIES(1, 1, 100)), .axis = 0, .keep = true, NO_GRADIENT),
    CASE("along the batch", argsort, INPUTS(X(WEFT_BATCH, 2)), .axis = 0, NO_GRADIENT),
    CASE("middle axis", argsort, INPUTS(X(3, 70, 4)), .axis = 1, NO_GRADIENT),
    CASE("transposed", argsort, INPUTS(F32_VIEW(OP_TRANSPOSED, -9, 9, 7, 5)), .axis = 1, NO_GRADIENT),
    CASE("many short lines", argsort, INPUTS(F32_TIES(-2, 2, 3001, 5)), .axis = 1, NO_GRADIENT),
    CASE("a whole tile", argsort, INPUTS(F32_TIES(-500, 500, 1024)), .axis = 0, NO_GRADIENT),
    CASE("one more", argsort, INPUTS(F32_TIES(-500, 500, 2, 1025)), .axis = 1, .keep = true, NO_GRADIENT),
    CASE("a long line", argsort, INPUTS(X(100003)), .axis = 0, NO_GRADIENT),
    CASE("ties in long columns", argsort, INPUTS(F32_TIES(-50, 50, 30011, 2)), .axis = 0, NO_GRADIENT),
    CASE("integers", argsort, INPUTS(I32(-9, 9, 3, 40)), .axis = 1, NO_GRADIENT),
    CASE("large integers", argsort, INPUTS(I32(-2000000000, 2000000000, 100)), .axis = 0, .keep = true,
        NO_GRADIENT),
};
static const op_case sort_cases[] = {
    CASE("one axis", sort, INPUTS(X(17)), .axis = 0),
    CASE("a single element", sort, INPUTS(X(1)), .axis = 0, .keep = true),
    CASE("descending, batch", sort, INPUTS(X(WEFT_BATCH, 6)), .axis = -1, .keep = true),
    CASE("first axis", sort, INPUTS(X(40, 5)), .axis = 0),
    CASE("many lines", sort, INPUTS(X(40, 300)), .axis = 1),
    CASE("integers", sort, INPUTS(I32(-9, 9, 3, 11)), .axis = 1, NO_GRADIENT),
    CASE("the gradient", slope, INPUTS(X(3, 9), X(3, 9)), .axis = 1),
};
static const op_case topk_indices_cases[] = {
    CASE("greatest", topk_indices, INPUTS(F32_TIES(-2, 2, 4, 9)), .axis = 1, .start = 1, .keep = true,
        NO_GRADIENT),
    CASE("all", topk_indices, INPUTS(F32_TIES(-9, 9, 3, 7)), .axis = 1, .start = 7, NO_GRADIENT),
    CASE("a few of a long line", topk_indices, INPUTS(F32_TIES(-999, 999, 100003)), .axis = 0, .start = 10,
        .keep = true, NO_GRADIENT),
    CASE("a hundred", topk_indices, INPUTS(F32_TIES(-99, 99, 2, 3000)), .axis = 1, .start = 100, NO_GRADIENT),
    CASE("a hundred of many", topk_indices, INPUTS(F32_TIES(-99, 99, 30011)), .axis = 0, .start = 100,
        .keep = true, NO_GRADIENT),
    CASE("half of a tile", topk_indices, INPUTS(F32_TIES(-999, 999, 3001)), .axis = 0, .start = 512,
        NO_GRADIENT),
    CASE("more than half", topk_indices, INPUTS(F32_TIES(-999, 999, 30011)), .axis = 0, .start = 20000,
        .keep = true, NO_GRADIENT),
};
static const op_case topk_cases[] = {
    CASE("greatest", topk, INPUTS(X(4, 9)), .axis = 1, .start = 3, .keep = true),
    CASE("least, batch", topk, INPUTS(X(WEFT_BATCH, 6)), .axis = 1, .start = 2),
    CASE("first axis", topk, INPUTS(X(40, 5)), .axis = 0, .start = 4, .keep = true),
    CASE("along the batch", topk, INPUTS(X(WEFT_BATCH * 2, 3)), .axis = 0, .start = 2, .keep = true),
    CASE("of many lines", topk, INPUTS(X(40, 300)), .axis = -1, .start = 70),
    CASE("integers", topk, INPUTS(I32(-9, 9, 3, 11)), .axis = 1, .start = 5, .keep = true, NO_GRADIENT),
    CASE("the gradient", slope, INPUTS(X(3, 9), X(3, 4)), .axis = 1, .start = 4, .keep = true),
};

/* ---- numbers at the ends of the range ---- */

enum { FLOATS = 12, INTEGERS = 6, KINDS = 4 };

static void check_order(weft_plan *plan, weft_tensor *order, const int32_t *wanted, int count) {
    int32_t got[FLOATS];
    assert_weft_ok(weft_plan_read(plan, order, got, (size_t)count * sizeof *got));
    for (int i = 0; i < count; i++)
        if (got[i] != wanted[i]) fail_msg("place %d has element %d, not %d", i, got[i], wanted[i]);
}

/* Also that denormals are told apart where the device flushes them, and that values keep their bits. */
static void test_extremes(void **state) {
    (void)state;
    const float negative_nan = -NAN;
    const float floats[FLOATS] = {NAN, 0.0f, INFINITY, -0.0f, 1e-45f, -1e-45f, 3e-45f, -INFINITY,
        negative_nan, 0.0f, 3.4e38f, -3.4e38f};
    static const int32_t up[FLOATS] = {7, 11, 5, 1, 3, 9, 4, 6, 10, 2, 0, 8},
                         down[FLOATS] = {0, 8, 2, 10, 6, 4, 1, 3, 9, 5, 11, 7};
    static const int32_t integers[INTEGERS] = {0, INT32_MIN, INT32_MAX, -1, INT32_MIN, 1},
                         integers_up[INTEGERS] = {1, 4, 3, 0, 5, 2},
                         integers_down[INTEGERS] = {2, 5, 0, 3, 1, 4};
    weft_graph *graph = test_graph();
    weft_tensor *x = weft_input_shape(graph, "x", WEFT_F32, 1, (const int64_t[]){FLOATS}),
                *i = weft_input_shape(graph, "i", WEFT_I32, 1, (const int64_t[]){INTEGERS});
    weft_tensor *outputs[] = {weft_argsort(x, 0, false), weft_argsort(x, 0, true), weft_argsort(i, 0, false),
        weft_argsort(i, 0, true), weft_topk_indices(x, 3, 0, true), weft_topk_indices(x, 3, 0, false),
        weft_sort(x, 0, false)};
    weft_plan *plan;
    assert_weft_ok(weft_plan_create(&plan, outputs, sizeof outputs / sizeof *outputs, NULL));
    assert_weft_ok(weft_plan_write(plan, x, floats, sizeof floats));
    assert_weft_ok(weft_plan_write(plan, i, integers, sizeof integers));
    assert_weft_ok(weft_plan_run(plan));
    check_order(plan, outputs[0], up, FLOATS);
    check_order(plan, outputs[1], down, FLOATS);
    check_order(plan, outputs[2], integers_up, INTEGERS);
    check_order(plan, outputs[3], integers_down, INTEGERS);
    check_order(plan, outputs[4], down, 3);
    check_order(plan, outputs[5], up, 3);
    uint32_t bits[FLOATS], wanted[FLOATS];
    assert_weft_ok(weft_plan_read(plan, outputs[6], bits, sizeof bits));
    memcpy(wanted, floats, sizeof wanted);
    for (int r = 0; r < FLOATS; r++) assert_int_equal(bits[r], wanted[up[r]]);
    weft_plan_release(plan);
    weft_graph_release(graph);
}

/* Values and indices of the same arguments are sorted once. */
static void test_sorted_once(void **state) {
    (void)state;
    weft_graph *graph = test_graph();
    weft_tensor *x = weft_input_shape(graph, "x", WEFT_F32, 1, (const int64_t[]){9});
    weft_tensor *outputs[] = {weft_sort(x, 0, true), weft_argsort(x, 0, true)};
    weft_plan *plan;
    weft_plan_info info;
    assert_weft_ok(weft_plan_create(&plan, outputs, 2, NULL));
    weft_plan_get_info(plan, &info);
    assert_int_equal(info.launches, 2);
    weft_plan_release(plan);
    weft_graph_release(graph);
}

/* ---- bad input ---- */

static void test_bad_input(void **state) {
    (void)state;
    static const struct {
        weft_status status;
        const char *message;
    } wanted[] = {
        {WEFT_ERROR_DTYPE, "sort: takes f32, f16, "},
        {WEFT_ERROR_DTYPE, "argsort: takes f32, f16, "},
        {WEFT_ERROR_DTYPE, "topk: takes f32, f16, "},
        {WEFT_ERROR_SHAPE, "sort: axis 2 is not an axis of (4, 3)"},
        {WEFT_ERROR_SHAPE, "argsort: axis -3 is not an axis of (4, 3)"},
        {WEFT_ERROR_SHAPE, "topk_indices: axis 5 is not an axis of (4, 3)"},
        {WEFT_ERROR_ARGUMENT, "topk: k = 0 is not in 1..3, axis 1 of (4, 3)"},
        {WEFT_ERROR_ARGUMENT, "topk_indices: k = 5 is not in 1..4, axis 0 of (4, 3)"},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        weft_graph *graph = test_graph();
        weft_tensor *x = weft_input_shape(graph, "x", WEFT_F32, 2, (const int64_t[]){4, 3});
        weft_tensor *const built[] = {i == 0 ? weft_sort(weft_less(x, x), 0, false) : NULL,
            i == 1 ? weft_argsort(weft_cast(x, WEFT_U8), 0, false) : NULL,
            i == 2 ? weft_topk(weft_cast(x, WEFT_I64), 1, 0, true) : NULL,
            i == 3 ? weft_sort(x, 2, true) : NULL, i == 4 ? weft_argsort(x, -3, true) : NULL,
            i == 5 ? weft_topk_indices(x, 1, 5, true) : NULL, i == 6 ? weft_topk(x, 0, 1, true) : NULL,
            i == 7 ? weft_topk_indices(x, 5, 0, true) : NULL};
        assert_null(built[i]);
        assert_weft_fails(wanted[i].status, weft_graph_status(graph), wanted[i].message);
        weft_graph_release(graph);
    }
}

int main(void) {
    static const op_cases ops[] = {SORT_OPS(COVERED_CASES)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_sorted_once),
        cmocka_unit_test(test_bad_input),
    };
    const int failed = op_suite_run("sort", ops, sizeof ops / sizeof *ops);
    return test_finish(failed + cmocka_run_group_tests(tests, NULL, NULL));
}
