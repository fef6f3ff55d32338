/* Activations with parameters: values and gradients, the gradients at the kinks, extreme values. */
/* test slow */
/* test.{formats} format={} reduced */
/* test.{formats}.gpu format={} reduced */
/* test.least device=least reduced short_launches */
#include "support/op_case.h"

#include "ops/covered_ops.h"
#include "oracle/reference_activation.h"
#include <math.h>
#include <stdlib.h>

/* The case's `start` and `end` are the parameters in hundredths. */
#define FIRST(c)  ((double)(c)->start / 100)
#define SECOND(c) ((double)(c)->end / 100)

#define WITH_NUMBERS(op, ...)                                                                                \
    static weft_tensor *build_##op(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {        \
        (void)graph;                                                                                         \
        return weft_##op(inputs[0], __VA_ARGS__);                                                            \
    }                                                                                                        \
    static f64_array *reference_##op(const op_case *c, const f64_array *const *inputs) {                     \
        return f64_##op(inputs[0], __VA_ARGS__);                                                             \
    }
WITH_NUMBERS(clamp, FIRST(c), SECOND(c))
WITH_NUMBERS(hardtanh, FIRST(c), SECOND(c))
WITH_NUMBERS(leaky_relu, FIRST(c))
WITH_NUMBERS(elu, FIRST(c))

static weft_tensor *build_prelu(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)c, (void)graph;
    return weft_prelu(inputs[0], inputs[1]);
}
static f64_array *reference_prelu(const op_case *c, const f64_array *const *inputs) {
    (void)c;
    return f64_prelu(inputs[0], inputs[1]);
}

static weft_tensor *build_glu(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    return weft_glu(inputs[0], c->axis);
}
static f64_array *reference_glu(const op_case *c, const f64_array *const *inputs) {
    return f64_glu(inputs[0], c->axis);
}

#define SHAPES(op, ...)                                                                                      \
    CASE("257", op, INPUTS(F32(-4, 4, 257)), __VA_ARGS__),                                                   \
        CASE("1 to 17", op, INPUTS(F32(-4, 4, WEFT_BATCH)), __VA_ARGS__),                                    \
        CASE("a number", op, INPUTS(F32_NUMBER(-4, 4)), __VA_ARGS__),                                        \
        CASE("transposed", op, INPUTS(F32_VIEW(OP_TRANSPOSED, -4, 4, 5, 7)), __VA_ARGS__)
static const op_case clamp_cases[] = {
    SHAPES(clamp, .start = -150, .end = 225),
    CASE("low above high", clamp, INPUTS(F32(-4, 4, 33)), .start = 200, .end = -100),
    CASE("i32", clamp, INPUTS(I32(-9, 9, 33)), .start = -300, .end = 500, .no_gradient = true),
};
static const op_case hardtanh_cases[] = {SHAPES(hardtanh, .start = -100, .end = 100)};
static const op_case leaky_relu_cases[] = {
    SHAPES(leaky_relu, .start = 1), CASE("negative slope", leaky_relu, INPUTS(F32(-4, 4, 33)), .start = -50)};
static const op_case elu_cases[] = {
    SHAPES(elu, .start = 100), CASE("alpha 0.3", elu, INPUTS(F32(-4, 4, 33)), .start = 30)};
static const op_case glu_cases[] = {
    CASE("two elements", glu, INPUTS(F32(-4, 4, 2)), .axis = 0),
    CASE("columns", glu, INPUTS(F32(-4, 4, WEFT_BATCH, 34)), .axis = -1),
    CASE("channels", glu, INPUTS(F32(-4, 4, WEFT_BATCH, 6, 5)), .axis = 1),
    CASE("of a transposed", glu, INPUTS(F32_VIEW(OP_TRANSPOSED, -4, 4, 6, 7)), .axis = 0),
};
static const op_case prelu_cases[] = {
    CASE("one weight", prelu, INPUTS(F32(-4, 4, WEFT_BATCH, 5), F32_PARAMETER(0.1, 0.5, 1))),
    CASE("channels", prelu, INPUTS(F32(-4, 4, WEFT_BATCH, 5), F32_PARAMETER(0.1, 0.5, 5))),
    CASE("channels of images", prelu, INPUTS(F32(-4, 4, WEFT_BATCH, 3, 2, 7), F32(0.1, 0.5, 3))),
    CASE("a vector", prelu, INPUTS(F32(-4, 4, 17), F32(0.1, 0.5, 1))),
    CASE("transposed", prelu, INPUTS(F32_VIEW(OP_TRANSPOSED, -4, 4, 5, 7), F32(0.1, 0.5, 7))),
};

/* ---- at the kinks and beyond: values and gradients of single numbers, as PyTorch 2.15 has them ---- */

#define MANY(...)   __VA_ARGS__
#define EDGE_VALUES MANY(-0.0f, -3, 3, 6, 200, -200, INFINITY, -INFINITY, NAN)
static const float edges[] = {EDGE_VALUES};
enum { EDGES = sizeof edges / sizeof edges[0], FUNCTIONS = 12 };

/* NAN in a gradient: not compared. */
static const struct edge_row {
    const char *name;
    float value[EDGES], gradient[EDGES];
} edge_rows[FUNCTIONS] = {
    {"clamp", {-0.0f, -3, 3, 3, 3, -3, 3, -3, NAN}, {1, 0, 0, 0, 0, 0, 0, 0, NAN}},
    {"clamp, no low", {-0.0f, -3, 3, 3, 3, -200, 3, -INFINITY, NAN}, {1, 1, 0, 0, 0, 1, 0, 1, NAN}},
    {"hardtanh", {-0.0f, -3, 3, 3, 3, -3, 3, -3, NAN}, {1, 0, 0, 0, 0, 0, 0, 0, NAN}},
    {"leaky_relu", {-0.0f, -0.75f, 3, 6, 200, -50, INFINITY, -INFINITY, NAN},
        {0.25f, 0.25f, 1, 1, 1, 0.25f, 1, 0.25f, NAN}},
    {"elu", {-0.0f, -1.9004259f, 3, 6, 200, -2, INFINITY, -2, NAN}, {2, 0.099574137f, 1, 1, 1, 0, 1, 0, NAN}},
    {"prelu", {-0.0f, -0.75f, 3, 6, 200, -50, INFINITY, -INFINITY, NAN},
        {0.25f, 0.25f, 1, 1, 1, 0.25f, 1, 0.25f, NAN}},
    {"relu6", {-0.0f, 0, 3, 6, 6, 0, 6, 0, NAN}, {0, 0, 1, 0, 0, 0, 0, 0, NAN}},
    {"hardsigmoid", {0.5f, 0, 1, 1, 1, 0, 1, 0, NAN}, {1 / 6.0f, 0, 0, 0, 0, 0, 0, 0, NAN}},
    {"hardswish", {-0.0f, -0.0f, 3, 6, 200, -0.0f, INFINITY, NAN, NAN}, {0.5f, 0, 1, 1, 1, 0, 1, 0, NAN}},
    {"abs", {0, 3, 3, 6, 200, 200, INFINITY, INFINITY, NAN}, {0, -1, 1, 1, 1, -1, 1, -1, NAN}},
    {"selu", {-0.0f, -1.6705687f, 3.1521030f, 6.3042059f, 210.1402f, -1.7580993f, INFINITY, -1.7580993f, NAN},
        {1.7580993f, 0.087530605f, 1.0507010f, 1.0507010f, 1.0507010f, 0, 1.0507010f, 0, NAN}},
    {"floor", {-0.0f, -3, 3, 6, 200, -200, INFINITY, -INFINITY, NAN}, {0, 0, 0, 0, 0, 0, 0, 0, 0}},
};

static bool same(float got, float wanted) {
    if (isnan(wanted)) return isnan(got);
    if (wanted == 0) return fabsf(got) < 1e-7f && (got != 0 || !signbit(got) == !signbit(wanted));
    return got == wanted || fabsf(got - wanted) <= 1e-6f * fabsf(wanted);
}

static void test_edges(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    const float quarter = 0.25f;
    weft_tensor *const x = weft_input_shape(graph, "x", WEFT_F32, 1, (const int64_t[]){EDGES});
    weft_tensor *const weight = weft_array(graph, WEFT_F32, &quarter, 1, (const int64_t[]){1});
    weft_tensor *outputs[2 * FUNCTIONS] = {weft_clamp(x, -3, 3), weft_clamp(x, -INFINITY, 3),
        weft_hardtanh(x, -3, 3), weft_leaky_relu(x, 0.25), weft_elu(x, 2), weft_prelu(x, weight),
        weft_relu6(x), weft_hardsigmoid(x), weft_hardswish(x), weft_abs(x), weft_selu(x), weft_floor(x)};
    for (int i = 0; i < FUNCTIONS; i++) outputs[FUNCTIONS + i] = weft_gradient(weft_sum(outputs[i]), x);
    weft_plan *plan = NULL;
    assert_weft_ok(weft_plan_create(&plan, outputs, 2 * FUNCTIONS, NULL));
    assert_weft_ok(weft_plan_write(plan, x, edges, sizeof edges));
    assert_weft_ok(weft_plan_run(plan));
    int wrong = 0;
    for (int i = 0; i < FUNCTIONS; i++) {
        const struct edge_row *const r = &edge_rows[i];
        float value[EDGES], gradient[EDGES];
        assert_weft_ok(weft_plan_read(plan, outputs[i], value, sizeof value));
        assert_weft_ok(weft_plan_read(plan, outputs[FUNCTIONS + i], gradient, sizeof gradient));
        for (int k = 0; k < EDGES; k++) {
            const bool gradient_right = isnan(r->gradient[k]) || fabsf(gradient[k] - r->gradient[k]) <=
                                                                     1e-6f * fmaxf(1, fabsf(r->gradient[k]));
            if (same(value[k], r->value[k]) && gradient_right) continue;
            print_error("%s(%g) is %.9g, not %.9g; gradient %.9g, not %.9g\n", r->name, (double)edges[k],
                (double)value[k], (double)r->value[k], (double)gradient[k], (double)r->gradient[k]);
            wrong++;
        }
    }
    weft_plan_release(plan);
    weft_graph_release(graph);
    assert_int_equal(wrong, 0);
}

/* ---- where the value is near its limit, the gradient keeps its digits ---- */

static void test_gradients_far_below(void **state) {
    (void)state;
    enum { POINTS = 5, CURVES = 3 };
    const float points[POINTS] = {-4, -9.5f, -15, -20, -80};
    const double factors[CURVES] = {2, 1.0507009873554805 * 1.6732632423543772, 1}; /* of exp(x) */
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input_shape(graph, "x", WEFT_F32, 1, (const int64_t[]){POINTS});
    weft_tensor *const curves[CURVES] = {weft_elu(x, 2), weft_selu(x), weft_expm1(x)};
    weft_tensor *slopes[CURVES];
    for (int i = 0; i < CURVES; i++) slopes[i] = weft_gradient(weft_sum(curves[i]), x);
    weft_plan *plan = NULL;
    assert_weft_ok(weft_plan_create(&plan, slopes, CURVES, NULL));
    assert_weft_ok(weft_plan_write(plan, x, points, sizeof points));
    assert_weft_ok(weft_plan_run(plan));
    for (int i = 0; i < CURVES; i++) {
        float got[POINTS];
        assert_weft_ok(weft_plan_read(plan, slopes[i], got, sizeof got));
        for (int k = 0; k < POINTS; k++) {
            const double wanted = factors[i] * exp((double)points[k]);
            if (!(fabs((double)got[k] - wanted) <= 2e-6 * wanted))
                fail_msg(
                    "curve %d: gradient %.9g at %g, not %.9g", i, (double)got[k], (double)points[k], wanted);
        }
    }
    weft_plan_release(plan);
    weft_graph_release(graph);
}

/* ---- i32: the remainder of anything by anything, the ends of the range ---- */

static void test_i32(void **state) {
    (void)state;
    enum { COUNT = 20 };
    const int32_t quotient[COUNT] = {
        2, -3, -3, 2, 0, 0, 0, INT32_MIN, 0, -1, -INT32_MAX, 0, 2, -2, -2, 0, 0, -1, 4, -1073741824};
    const int32_t a[COUNT] = {7, -7, 7, -7, 0, 5, -5, INT32_MIN, INT32_MIN, INT32_MAX, INT32_MAX, 1, 6, -6,
        INT32_MIN, 0, 3, -3, 9, INT32_MIN};
    const int32_t b[COUNT] = {
        3, 3, -3, -3, 5, 0, 0, -1, 0, INT32_MIN, -1, INT32_MAX, 3, 3, INT32_MAX, 0, 5, 5, 2, 2};
    const int32_t rest[COUNT] = {
        1, 2, -2, -1, 0, 5, -5, 0, INT32_MIN, -1, 0, 1, 0, 0, INT32_MAX - 1, 0, 3, 2, 1, 0};
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input_shape(graph, "a", WEFT_I32, 1, (const int64_t[]){COUNT});
    weft_tensor *const y = weft_input_shape(graph, "b", WEFT_I32, 1, (const int64_t[]){COUNT});
    weft_tensor *const outputs[] = {weft_remainder(x, y), weft_abs(x), weft_sign(x),
        weft_clamp(x, -INFINITY, 5), weft_clamp(x, -5, INFINITY), weft_floor_divide(x, y),
        weft_trunc_divide(x, y), weft_fmod(x, y)};
    enum { OUTPUTS = sizeof outputs / sizeof outputs[0] };
    weft_plan *plan = NULL;
    assert_weft_ok(weft_plan_create(&plan, outputs, OUTPUTS, NULL));
    assert_weft_ok(weft_plan_write(plan, x, a, sizeof a));
    assert_weft_ok(weft_plan_write(plan, y, b, sizeof b));
    assert_weft_ok(weft_plan_run(plan));
    int32_t got[OUTPUTS][COUNT];
    for (int i = 0; i < OUTPUTS; i++) assert_weft_ok(weft_plan_read(plan, outputs[i], got[i], sizeof got[i]));
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(got[0][i], rest[i]);
        assert_int_equal(got[1][i], a[i] == INT32_MIN ? a[i] : abs(a[i]));
        assert_int_equal(got[2][i], (a[i] > 0) - (a[i] < 0));
        assert_int_equal(got[3][i], a[i] > 5 ? 5 : a[i]);
        assert_int_equal(got[4][i], a[i] < -5 ? -5 : a[i]);
        assert_int_equal(got[5][i], quotient[i]);
        const bool plain = b[i] != 0 && b[i] != -1;
        assert_int_equal(got[6][i], plain ? a[i] / b[i] : quotient[i]);
        assert_int_equal(got[7][i], plain ? a[i] % b[i] : b[i] == 0 ? a[i] : 0);
    }
    weft_plan_release(plan);
    weft_graph_release(graph);
}

int main(void) {
    static const op_cases ops[] = {ACTIVATION_OPS(COVERED_CASES)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_edges), cmocka_unit_test(test_gradients_far_below), cmocka_unit_test(test_i32)};
    return test_finish(op_suite_run("activation", ops, sizeof ops / sizeof ops[0]) +
                       cmocka_run_group_tests_name("activation, edges", tests, NULL, NULL));
}
