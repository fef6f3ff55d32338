/* Running sums, products and linear recurrences: values, gradients, gradients of gradients; long lines,
 * zeros, numbers that leave the range of float32 on the way. */
/* test slow gpu:optimised */
/* test.{narrow_formats} format={} reduced */
/* test.{narrow_formats}.gpu format={} reduced */
/* test.indices64.gpu WEFT_TEST_INDICES=64 reduced */
/* test.least device=least reduced short_launches */
#include "oracle/reference_scan.h"
#include "support/op_case.h"

#include "ops/covered_ops.h"
#include <math.h>

#define X(...) F32(-1, 1, __VA_ARGS__)

static int axis_of(const op_case *c, const f64_array *x) {
    return c->axis < 0 ? c->axis + x->rank : c->axis;
}
/* keep: exclusive; start: reverse */
static f64_scan form_of(const op_case *c) {
    return (f64_scan){c->axis, c->keep, c->start != 0};
}

/* ---- cumsum and cumprod ---- */

static weft_tensor *build_cumsum(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    return c->keep || c->start ? weft_cumsum_with(inputs[0], c->axis, c->keep, c->start != 0)
                               : weft_cumsum(inputs[0], c->axis);
}
static f64_array *reference_cumsum(const op_case *c, const f64_array *const *inputs) {
    return f64_cumsum(inputs[0], form_of(c));
}
static weft_tensor *build_cumprod(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    return c->keep || c->start ? weft_cumprod_with(inputs[0], c->axis, c->keep, c->start != 0)
                               : weft_cumprod(inputs[0], c->axis);
}
static f64_array *reference_cumprod(const op_case *c, const f64_array *const *inputs) {
    return f64_cumprod(inputs[0], form_of(c));
}

/* The gradient of sum(cumprod(x) · w) as an op of its own: its gradients are the second ones. */
static weft_tensor *build_slope(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    weft_tensor *y = build_cumprod(c, graph, inputs);
    return weft_gradient(weft_sum(weft_mul(y, inputs[1])), inputs[0]);
}
static f64_array *reference_slope(const op_case *c, const f64_array *const *inputs) {
    const f64_array *x = inputs[0], *w = inputs[1];
    f64_array *y = f64_copy(x);
    const int axis = axis_of(c, x);
    for (size_t number = 0; number < f64_line_count(x, axis); number++) {
        const f64_line l = f64_line_of(x, axis, number, c->start != 0);
        for (size_t i = 0; i < l.n; i++) {
            double product = 1, sum = 0, size = 0;
            for (size_t k = 0; k < l.n; k++) {
                const double before = product;
                if (k != i) product *= x->value[l.start + k * l.step];
                const double term = (c->keep ? before : product) * w->value[l.start + k * l.step];
                if (c->keep ? k > i : k >= i) {
                    sum += term;
                    size += fabs(term);
                }
            }
            y->value[l.start + i * l.step] = sum;
            y->error[l.start + i * l.step] = f64_scan_rounding(l.n) * size;
        }
    }
    return y;
}

static const op_case cumsum_cases[] = {
    CASE("one axis", cumsum, INPUTS(X(37)), .axis = 0),
    CASE("a single element", cumsum, INPUTS(X(1)), .axis = 0),
    CASE("last axis", cumsum, INPUTS(X(3, 100)), .axis = -1),
    CASE("first axis", cumsum, INPUTS(X(70, 5)), .axis = 0),
    CASE("middle axis, batch", cumsum, INPUTS(X(WEFT_BATCH, 4, 3)), .axis = 1),
    CASE("wide middle axis", cumsum, INPUTS(X(2, 9, 37)), .axis = 1),
    CASE("along the batch", cumsum, INPUTS(X(WEFT_BATCH, 3)), .axis = 0),
    CASE("many short lines", cumsum, INPUTS(X(3001, 5)), .axis = 1),
    CASE("transposed", cumsum, INPUTS(F32_VIEW(OP_TRANSPOSED, -1, 1, 7, 5)), .axis = 1),
    CASE("exclusive", cumsum, INPUTS(X(2, 40)), .axis = 1, .keep = true),
    CASE("reverse", cumsum, INPUTS(X(2, 41)), .axis = 1, .start = 1),
    CASE("exclusive and reverse", cumsum, INPUTS(X(41, 2)), .axis = 0, .start = 1, .keep = true),
    CASE("a long line", cumsum, INPUTS(X(1000003)), .axis = 0),
    CASE("rounding that does not cancel", cumsum, INPUTS(F32(0.1, 0.1, 1000003)), .axis = 0, .start = 1,
        .no_gradient = true),
    CASE("the same in columns", cumsum, INPUTS(F32(0.1, 0.1, 500009, 2)), .axis = 0, .no_gradient = true),
    CASE("few long columns", cumsum, INPUTS(X(30011, 3)), .axis = 0, .keep = true),
    CASE("integers", cumsum, INPUTS(I32(-1000, 1000, 5, 41)), .axis = 1, .no_gradient = true),
    CASE("columns of integers", cumsum, INPUTS(I32(-1000, 1000, 5, 41)), .axis = 0, .no_gradient = true),
    CASE("many integers", cumsum, INPUTS(I32(-1000, 1000, 100003)), .axis = 0, .no_gradient = true),
};
static const op_case cumprod_cases[] = {
    CASE("one axis", cumprod, INPUTS(F32(-2, 2, 37)), .axis = 0),
    CASE("a single element", cumprod, INPUTS(X(1)), .axis = 0),
    CASE("zeros", cumprod, INPUTS(F32_TIES(-1, 2, 6, 7)), .axis = 1),
    CASE("zeros in columns, reverse", cumprod, INPUTS(F32_TIES(-1, 2, 9, 5)), .axis = 0, .start = 1),
    CASE("exclusive, with zeros", cumprod, INPUTS(F32_TIES(-2, 2, 5, 40)), .axis = 1, .keep = true),
    CASE("middle axis, batch", cumprod, INPUTS(F32(-2, 2, WEFT_BATCH, 9, 21)), .axis = 1),
    CASE("a line in parts", cumprod, INPUTS(F32(0.999, 1.001, 40009)), .axis = 0),
    CASE("columns in parts, reverse", cumprod, INPUTS(F32(0.999, 1.001, 20011, 2)), .axis = 0, .start = 1),
    CASE("integers", cumprod, INPUTS(I32(-3, 3, 5, 11)), .axis = 1, .no_gradient = true),
    CASE("the gradient", slope, INPUTS(F32(-2, 2, 2, 9), X(2, 9)), .axis = 1),
    CASE("the gradient at zeros", slope, INPUTS(F32_TIES(-1, 1, 8, 5), X(8, 5)), .axis = 1),
    CASE("the gradient, reverse", slope, INPUTS(F32_TIES(-1, 2, 7, 3), X(7, 3)), .axis = 0, .start = 1),
    CASE("the gradient, exclusive", slope, INPUTS(F32_TIES(-1, 2, 5, 6), X(5, 6)), .axis = 1, .keep = true),
};

/* ---- linear_scan ---- */

static weft_tensor *build_linear_scan(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    return weft_linear_scan(inputs[0], inputs[1], c->axis, c->start != 0);
}
static f64_array *reference_linear_scan(const op_case *c, const f64_array *const *inputs) {
    return f64_linear_scan(inputs[0], inputs[1], c->axis, c->start != 0);
}

/* The gradient of sum(y · w) with regard to the factors. */
static weft_tensor *build_factors(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    weft_tensor *y = build_linear_scan(c, graph, inputs);
    return weft_gradient(weft_sum(weft_mul(y, inputs[2])), inputs[0]);
}
static f64_array *reference_factors(const op_case *c, const f64_array *const *inputs) {
    const f64_array *a = inputs[0], *w = inputs[2], *y = reference_linear_scan(c, inputs);
    f64_array *slope = f64_copy(a);
    const int axis = axis_of(c, a);
    for (size_t i = 0; i < f64_line_count(a, axis); i++) {
        const f64_line l = f64_line_of(a, axis, i, c->start != 0);
        double reach = 0, size = 0;
        for (size_t j = l.n; j-- > 0;) {
            const size_t at = l.start + j * l.step;
            reach += w->value[at];
            size += fabs(w->value[at]);
            const double before = j ? y->value[at - l.step] : 0;
            slope->value[at] = reach * before;
            slope->error[at] = f64_scan_rounding(l.n) * size *
                               (fabs(before) + (j ? y->error[at - l.step] / f64_scan_rounding(l.n) : 0));
            reach *= a->value[at];
            size *= fabs(a->value[at]);
        }
    }
    return slope;
}

static const op_case linear_scan_cases[] = {
    CASE("one axis", linear_scan, INPUTS(X(37), X(37)), .axis = 0),
    CASE("a single element", linear_scan, INPUTS(X(1), X(1)), .axis = 0),
    CASE("columns, reverse", linear_scan, INPUTS(X(9, 5), X(9, 5)), .axis = 0, .start = 1),
    CASE("reverse", linear_scan, INPUTS(X(3, 41), X(3, 41)), .axis = -1, .start = 1),
    CASE("one factor", linear_scan, INPUTS(F32_NUMBER(0.9, 0.99), X(3, 20)), .axis = 1),
    CASE("batch, zeros", linear_scan, INPUTS(F32_TIES(-1, 1, WEFT_BATCH, 6), X(WEFT_BATCH, 6)), .axis = 1),
    CASE("a line in parts", linear_scan, INPUTS(X(40009), X(40009)), .axis = 0),
    CASE("columns in parts", linear_scan, INPUTS(X(20011, 2), X(20011, 2)), .axis = 0),
    CASE("the gradient", factors, INPUTS(X(3, 9), X(3, 9), X(3, 9)), .axis = 1),
    CASE("the gradient, reverse", factors, INPUTS(X(7, 3), X(7, 3), X(7, 3)), .axis = 0, .start = 1),
};

/* ---- numbers at the ends of the range ---- */

enum { EXTREME = 40, EXTREMES = 6 };

/* Filled up with `rest`. along: 40 lanes of a line; else the same as a column. */
typedef struct extreme {
    const char *name;
    weft_tensor *(*build)(weft_tensor *x, int axis);
    float x[5], rest;
    float y[5], y_rest;
} extreme;

static weft_tensor *sum_of(weft_tensor *x, int axis) {
    return weft_cumsum(x, axis);
}
static weft_tensor *product_of(weft_tensor *x, int axis) {
    return weft_cumprod(x, axis);
}
/* Of the sum of all products; the later ones overflow, but the zero takes them away. */
static weft_tensor *slope_of(weft_tensor *x, int axis) {
    return weft_gradient(weft_sum(weft_cumprod(x, axis)), x);
}
static weft_tensor *scan_of(weft_tensor *x, int axis) {
    return weft_linear_scan(
        weft_where(weft_equal(x, weft_number(x, 2)), weft_number(x, 0), weft_number(x, 1)), x, axis, false);
}

static const extreme extremes[EXTREMES] = {
    {"a sum over infinity", sum_of, {1, INFINITY, 2, 3, 4}, 0, {1, INFINITY, INFINITY, INFINITY, INFINITY},
        INFINITY},
    {"a sum over both infinities", sum_of, {1, -INFINITY, 2, INFINITY, 4}, 0,
        {1, -INFINITY, -INFINITY, NAN, NAN}, NAN},
    {"a product that comes back into range", product_of, {1e-30f, 1e-30f, 1e30f, 1e30f, 1e30f}, 1,
        {1e-30f, 0, 1e-30f, 1, 1e30f}, 1e30f},
    {"a product with a zero", product_of, {2, 0, 1e30f, 1e30f, -1}, 1e30f, {2, 0, 0, 0, 0}, 0},
    {"the gradient before and behind a zero", slope_of, {1, 1, 0, 2, 1}, 1e30f, {2, 1, INFINITY, 0, 0}, 0},
    {"a recurrence that forgets", scan_of, {NAN, INFINITY, 2, 1, 1}, 0, {NAN, NAN, 2, 3, 4}, 4},
};

static bool near(float got, float wanted) {
    return isnan(wanted) ? isnan(got) : got == wanted || fabsf(got - wanted) <= 1e-6f * fabsf(wanted);
}

static void test_extremes(void **state) {
    (void)state;
    weft_graph *graph = test_graph();
    weft_tensor *inputs[EXTREMES], *outputs[2 * EXTREMES];
    for (int i = 0; i < EXTREMES; i++) {
        inputs[i] = weft_input_shape(graph, extremes[i].name, WEFT_F32, 1, (const int64_t[]){EXTREME});
        outputs[2 * i] = extremes[i].build(inputs[i], 0);
        outputs[2 * i + 1] = extremes[i].build(
            weft_expand(weft_reshape(inputs[i], EXTREME, 1), 2, (const int64_t[]){EXTREME, 2}), 0);
        if (extremes[i].build == slope_of) outputs[2 * i + 1] = outputs[2 * i];
    }
    weft_plan *plan;
    assert_weft_ok(weft_plan_create(&plan, outputs, 2 * EXTREMES, NULL));
    for (int i = 0; i < EXTREMES; i++) {
        float x[EXTREME];
        for (int j = 0; j < EXTREME; j++) x[j] = j < 5 ? extremes[i].x[j] : extremes[i].rest;
        assert_weft_ok(weft_plan_write(plan, inputs[i], x, sizeof x));
    }
    assert_weft_ok(weft_plan_run(plan));
    for (int i = 0; i < 2 * EXTREMES; i++) {
        const extreme *e = &extremes[i / 2];
        float y[2 * EXTREME];
        const int width = weft_tensor_rank(outputs[i]);
        assert_weft_ok(weft_plan_read(plan, outputs[i], y, (size_t)width * EXTREME * sizeof *y));
        for (int j = 0; j < EXTREME; j++) {
            const float wanted = j < 5 ? e->y[j] : e->y_rest;
            if (!near(y[width * j], wanted))
                fail_msg("%s: element %d is %g, not %g", e->name, j, (double)y[width * j], (double)wanted);
        }
    }
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
        {WEFT_ERROR_DTYPE, "cumsum: takes f32, f16, "},
        {WEFT_ERROR_DTYPE, "cumprod: takes f32, f16, "},
        {WEFT_ERROR_SHAPE, "cumsum: axis 2 is not an axis of (4, 3)"},
        {WEFT_ERROR_SHAPE, "cumprod: axis -3 is not an axis of (4, 3)"},
        {WEFT_ERROR_DTYPE, "linear_scan: takes two tensors of one dtype, f32, f16"},
        {WEFT_ERROR_SHAPE, "linear_scan: (4, 3) and (3, 4) do not broadcast"},
        {WEFT_ERROR_SHAPE, "linear_scan: axis 2 is not an axis of (4, 3)"},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        weft_graph *graph = test_graph();
        weft_tensor *x = weft_input_shape(graph, "x", WEFT_F32, 2, (const int64_t[]){4, 3});
        weft_tensor *const built[] = {i == 0 ? weft_cumsum(weft_less(x, x), 0) : NULL,
            i == 1 ? weft_cumprod(weft_cast(x, WEFT_U8), 0) : NULL, i == 2 ? weft_cumsum(x, 2) : NULL,
            i == 3 ? weft_cumprod_with(x, -3, true, true) : NULL,
            i == 4 ? weft_linear_scan(x, weft_cast(x, WEFT_I32), 0, false) : NULL,
            i == 5 ? weft_linear_scan(x, weft_transpose(x), 0, false) : NULL,
            i == 6 ? weft_linear_scan(x, x, 2, false) : NULL};
        assert_null(built[i]);
        assert_weft_fails(wanted[i].status, weft_graph_status(graph), wanted[i].message);
        weft_graph_release(graph);
    }
}

int main(void) {
    static const op_cases ops[] = {SCAN_OPS(COVERED_CASES)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_bad_input),
    };
    const int failed = op_suite_run("scan", ops, sizeof ops / sizeof *ops);
    return test_finish(failed + cmocka_run_group_tests(tests, NULL, NULL));
}
