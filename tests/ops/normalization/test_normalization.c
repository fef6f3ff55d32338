/* Norms without running statistics: values and gradients, large means, launches, bad input. Running
 * statistics are test_normalization_layer.c's. */
/* test slow gpu:optimised */
/* test.{formats} format={} reduced */
/* test.{formats}.gpu format={} reduced */
/* test.model-64.gpu WEFT_SUB_GROUPS=model-64 reduced */
/* test.least device=least reduced short_launches */
#include "support/op_case.h"

#include "ops/covered_ops.h"
#include "oracle/reference_normalization.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>

static const float epsilon = 1e-5f;

/* Absent inputs are NULL. */
static f64_norm norm_of(const f64_array *const *inputs) {
    return (f64_norm){inputs[1], inputs[2], (double)epsilon};
}

#define NORM(op, expected, call)                                                                             \
    static weft_tensor *build_##op(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {        \
        weft_tensor *const x = inputs[0], *const w = c->inputs[1].values != OP_ABSENT ? inputs[1] : NULL,    \
                           *const b = c->inputs[2].values != OP_ABSENT ? inputs[2] : NULL;                   \
        (void)graph, (void)b;                                                                                \
        return call;                                                                                         \
    }                                                                                                        \
    static f64_array *reference_##op(const op_case *c, const f64_array *const *inputs) {                     \
        const f64_array *const x = inputs[0];                                                                \
        const f64_norm norm = norm_of(inputs);                                                               \
        (void)c;                                                                                             \
        return expected;                                                                                     \
    }
NORM(batch_norm, f64_batch_norm(x, &norm), weft_batch_norm_with(x, w, b, NULL, epsilon))
NORM(instance_norm, f64_instance_norm(x, &norm), weft_instance_norm_with(x, w, b, NULL, epsilon))
NORM(group_norm, f64_group_norm(x, c->start, &norm), weft_group_norm_with(x, c->start, w, b, epsilon))
NORM(layer_norm, f64_layer_norm(x, (int)c->start, &norm),
    weft_layer_norm_with(x, (int)c->start, w, b, epsilon))
NORM(rms_norm, f64_rms_norm(x, (int)c->start, &norm), weft_rms_norm_with(x, (int)c->start, w, epsilon))

#define AFFINE(channels) F32(0.5, 1.5, channels), F32(-1, 1, channels)

static const op_case batch_norm_cases[] = {
    CASE("(N, C), 17 channels", batch_norm, INPUTS(F32(-2, 2, 9, 17), AFFINE(17))),
    CASE("images, one channel, plain", batch_norm, INPUTS(F32(-2, 2, WEFT_BATCH, 1, 3, 5))),
    CASE("images, channels last, no bias", batch_norm,
        INPUTS(F32_VIEW(OP_TRANSPOSED, -2, 2, 2, 64, 3, 3), F32(-1.5, -0.5, 64))),
    CASE("1 x 1 images", batch_norm, INPUTS(F32(-2, 2, 5, 3, 1, 1), AFFINE(3))),
    CASE("volumes", batch_norm, INPUTS(F32(-2, 2, WEFT_BATCH, 3, 2, 3, 4), AFFINE(3))),
    CASE("equal elements", batch_norm, INPUTS(F32_TIES(7, 7, 4, 3, 1, 1), AFFINE(3)), .no_gradient = true),
    CASE("mean 1e4, deviation 1e-2", batch_norm, INPUTS(F32(9999.99, 10000.01, 40, 17), AFFINE(17)),
        .no_gradient = true),
};
static const op_case instance_norm_cases[] = {
    CASE("(N, C, L), plain", instance_norm, INPUTS(F32(-2, 2, WEFT_BATCH, 17, 5))),
    CASE("images", instance_norm, INPUTS(F32(-2, 2, WEFT_BATCH, 3, 5, 3), AFFINE(3))),
    CASE("mean 1e4, deviation 1e-2", instance_norm, INPUTS(F32(9999.99, 10000.01, 3, 5, 9, 9), AFFINE(5)),
        .no_gradient = true),
};
static const op_case group_norm_cases[] = {
    CASE("(N, C), 2 groups", group_norm, INPUTS(F32(-2, 2, WEFT_BATCH, 6), AFFINE(6)), .start = 2),
    CASE("images, each channel", group_norm, INPUTS(F32(-2, 2, 2, 5, 3, 2), F32(0.5, 1.5, 5)), .start = 5),
    CASE("images, 64 channels, 8 groups", group_norm,
        INPUTS(F32_VIEW(OP_REVERSED, -2, 2, 2, 64, 3, 2), AFFINE(64)), .start = 8),
    CASE("mean 1e4, deviation 1e-2", group_norm, INPUTS(F32(9999.99, 10000.01, 3, 6, 9, 9), AFFINE(6)),
        .start = 2, .no_gradient = true),
};
static const op_case layer_norm_cases[] = {
    CASE("rows", layer_norm, INPUTS(F32(-2, 2, WEFT_BATCH, 17), AFFINE(17)), .start = 1),
    CASE("two axes, plain", layer_norm, INPUTS(F32(-2, 2, WEFT_BATCH, 3, 2, 5)), .start = 2),
    CASE("one element", layer_norm, INPUTS(F32(-2, 2, 4, 1), AFFINE(1)), .start = 1, .no_gradient = true),
    CASE("mean 1e4, deviation 1e-2", layer_norm, INPUTS(F32(9999.99, 10000.01, 7, 100), AFFINE(100)),
        .start = 1, .no_gradient = true),
};
static const op_case rms_norm_cases[] = {
    CASE("rows", rms_norm, INPUTS(F32(-2, 2, WEFT_BATCH, 17), F32(0.5, 1.5, 17)), .start = 1),
    CASE(
        "two axes", rms_norm, INPUTS(F32_VIEW(OP_REVERSED, -2, 2, 3, 2, 5), F32(0.5, 1.5, 2, 5)), .start = 2),
};

/* ---- gradients at a large mean, where differences of the reference say nothing ---- */

enum { N = 4, C = 3, L = 50, ALL = N * C * L };

typedef enum norm_kind { BATCH, LAYER } norm_kind;

/* Is element i of (N, C, L) in the set: a channel's for batch norm, an example's for layer norm over C and L?
 */
static bool is_in(norm_kind kind, int i, int set) {
    return (kind == BATCH ? i / L % C : i / (C * L)) == set;
}

static double mean_over(norm_kind kind, int set, const double *a, const double *b) {
    double sum = 0;
    for (int i = 0; i < ALL; i++) sum += is_in(kind, i, set) ? a[i] * (b ? b[i] : 1) : 0;
    return sum / (kind == BATCH ? N * L : C * L);
}

/* dx = (g - mean(g) - x̂·mean(g·x̂)) / sqrt(v + epsilon) */
static void gradient_in_float64(norm_kind kind, const float *x, const float *weights, double *dx) {
    double near[ALL], g[ALL];
    for (int set = 0; set < (kind == BATCH ? C : N); set++) {
        for (int i = 0; i < ALL; i++) near[i] = (double)x[i], g[i] = (double)weights[i];
        const double mean = mean_over(kind, set, near, NULL);
        for (int i = 0; i < ALL; i++) near[i] -= mean;
        const double scale = 1 / sqrt(mean_over(kind, set, near, near) + (double)epsilon);
        const double along = mean_over(kind, set, g, near) * scale * scale,
                     all = mean_over(kind, set, g, NULL);
        for (int i = 0; i < ALL; i++)
            if (is_in(kind, i, set)) dx[i] = (g[i] - all - near[i] * along) * scale;
    }
}

static void test_gradients_at_a_large_mean(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, C, L), *const g =
                                                                       weft_input(graph, "g", WEFT_F32, C, L);
    weft_tensor *const norms[2] = {
        weft_batch_norm_with(x, NULL, NULL, NULL, epsilon), weft_layer_norm_with(x, 2, NULL, NULL, epsilon)};
    weft_tensor *outputs[2];
    for (int k = 0; k < 2; k++) outputs[k] = weft_gradient(weft_sum(weft_mul(norms[k], g)), x);
    weft_plan *plan = NULL;
    assert_weft_ok(
        weft_plan_create(&plan, outputs, 2, &(weft_plan_options){WEFT_PLAN_OPTIONS_INIT, .batch = N}));
    float values[ALL], weights[ALL], got[ALL];
    double wanted[ALL];
    test_random random = test_random_named("large mean", 0);
    for (int i = 0; i < ALL; i++) values[i] = (float)test_random_between(&random, 9999.99, 10000.01);
    for (int i = 0; i < ALL; i++) weights[i] = (float)test_random_between(&random, -1, 1);
    assert_weft_ok(weft_plan_write(plan, x, values, sizeof values));
    assert_weft_ok(weft_plan_write(plan, g, weights, sizeof weights));
    assert_weft_ok(weft_plan_run(plan));
    for (int k = 0; k < 2; k++) {
        assert_weft_ok(weft_plan_read(plan, outputs[k], got, sizeof got));
        gradient_in_float64(k ? LAYER : BATCH, values, weights, wanted);
        for (int i = 0; i < ALL; i++)
            if (!(fabs((double)got[i] - wanted[i]) <= 2e-5 * 200))
                fail_msg("norm %d, element %d: %.9g, expected %.9g", k, i, (double)got[i], wanted[i]);
    }
    weft_plan_release(plan);
    weft_graph_release(graph);
}

/* ---- what training costs ---- */

/* Of images that lie channels-last, batch norm reads x for the statistics; with relu's slope between, its
 * gradients read x and g, compute y's sign anew and write the masked g, then read that and x and write dx:
 * seven times the images' bytes. The running statistics take no step of their own. */
static void test_bytes_moved(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, 16, 16, 64), *const g = weft_input(graph, "g",
                                                                             WEFT_F32, 16, 16, 64);
    weft_tensor *const weight = weft_parameter(graph, "w", weft_fill(1), 64), *const bias =
                                                                                  weft_parameter(graph, "b",
                                                                                      weft_fill(0), 64);
    const int64_t channels = 64;
    const weft_running running = {.mean = weft_state_shape(graph, "m", WEFT_F32, weft_zeros(), 1, &channels),
        .var = weft_state_shape(graph, "v", WEFT_F32, weft_fill(1), 1, &channels),
        .momentum = 0.1f};
    weft_tensor *const y = weft_permute(
        weft_batch_norm_with(weft_permute(x, 0, 3, 1, 2), weight, bias, &running, epsilon), 0, 2, 3, 1);
    weft_tensor *outputs[3], *const wrt[3] = {x, weight, bias};
    assert_weft_ok(weft_gradients(weft_sum(weft_mul(weft_relu(y), g)), wrt, 3, outputs));
    weft_plan *plan = NULL;
    weft_plan_info info;
    assert_weft_ok(
        weft_plan_create(&plan, outputs, 3, &(weft_plan_options){WEFT_PLAN_OPTIONS_INIT, .batch = 8}));
    assert_weft_ok(weft_plan_get_info(plan, &info));
    const double image_bytes = 8.0 * 16 * 16 * 64 * sizeof(float);
    assert_true(info.bytes_moved < 8.1 * image_bytes);
    assert_int_equal(info.steps, 3);
    assert_int_equal(info.conversions, 0);
    weft_plan_release(plan);
    weft_graph_release(graph);
}

/* ---- gradients of gradients ---- */

/* Of sum(dx²) with dx of group norm: against central differences of the library's own dx. */
static void test_second_gradient(void **state) {
    (void)state;
    enum { COUNT = 2 * 4 * 3 };
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input_shape(graph, "x", WEFT_F32, 3, (const int64_t[]){2, 4, 3});
    weft_tensor *const y = weft_group_norm_with(x, 2, NULL, NULL, epsilon);
    weft_tensor *const dx = weft_gradient(weft_sum(weft_mul(weft_square(y), y)), x);
    weft_tensor *const total = weft_sum(weft_square(dx));
    weft_tensor *const outputs[] = {total, weft_gradient(total, x)};
    weft_plan *plan = NULL;
    assert_weft_ok(weft_plan_create(&plan, outputs, 2, NULL));
    float values[COUNT], moved[COUNT], got[COUNT], ends[2];
    double direction[COUNT], wanted, along = 0;
    test_random random = test_random_named("second gradient", 0);
    for (int i = 0; i < COUNT; i++) values[i] = (float)test_random_between(&random, -2, 2);
    for (int i = 0; i < COUNT; i++) direction[i] = test_random_between(&random, -1, 1);
    for (int side = 0; side < 2; side++) {
        for (int i = 0; i < COUNT; i++) moved[i] = values[i] + (side ? 1 : -1) * 1e-2f * (float)direction[i];
        assert_weft_ok(weft_plan_write(plan, x, moved, sizeof moved));
        assert_weft_ok(weft_plan_run(plan));
        assert_weft_ok(weft_plan_read(plan, total, &ends[side], sizeof ends[side]));
    }
    assert_weft_ok(weft_plan_write(plan, x, values, sizeof values));
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_read(plan, outputs[1], got, sizeof got));
    for (int i = 0; i < COUNT; i++) along += (double)got[i] * direction[i];
    wanted = ((double)ends[1] - (double)ends[0]) / 2e-2;
    if (!(fabs(along - wanted) <= 2e-3 * fabs(wanted))) fail_msg("%g, expected %g", along, wanted);
    weft_plan_release(plan);
    weft_graph_release(graph);
}

/* ---- bad input ---- */

typedef struct things {
    weft_graph *graph;
    weft_tensor *x;       /* f32 (batch, 6, 5) */
    weft_tensor *row;     /* f32 (5) */
    weft_tensor *six;     /* f32 (6) */
    weft_tensor *whole;   /* i32 (batch, 6, 5) */
    weft_tensor *mean;    /* f32 state (6) */
    weft_tensor *batches; /* i32 state () */
} things;

static things make_things(void) {
    weft_graph *const g = test_graph();
    const int64_t five = 5, six = 6;
    return (things){g, weft_input(g, "x", WEFT_F32, 6, 5), weft_input_shape(g, "row", WEFT_F32, 1, &five),
        weft_input_shape(g, "six", WEFT_F32, 1, &six), weft_input(g, "whole", WEFT_I32, 6, 5),
        weft_state_shape(g, "mean", WEFT_F32, weft_zeros(), 1, &six),
        weft_state_shape(g, "batches", WEFT_I32, weft_zeros(), 0, NULL)};
}

#define RUNNING(...)                                                                                         \
    &(const weft_running) {                                                                                  \
        __VA_ARGS__                                                                                          \
    }
/* ROW(name, expression over t, status, texts of the line...): each is a test. */
#define BAD(ROW)                                                                                             \
    ROW(rank, weft_batch_norm_with(t.row, NULL, NULL, NULL, 0), SHAPE, "batch_norm", "(5)")                  \
    ROW(no_space, weft_instance_norm_with(weft_sum(t.x, -1), NULL, NULL, NULL, 0), SHAPE, "instance_norm",   \
        "(batch, 6)")                                                                                        \
    ROW(weight, weft_batch_norm_with(t.x, t.row, NULL, NULL, 0), SHAPE, "batch_norm", "weight", "(5)",       \
        "(6)")                                                                                               \
    ROW(bias, weft_group_norm_with(t.x, 2, NULL, t.row, 0), SHAPE, "group_norm", "bias", "(5)", "(6)")       \
    ROW(epsilon, weft_batch_norm_with(t.x, NULL, NULL, NULL, -1), ARGUMENT, "batch_norm", "epsilon", "-1")   \
    ROW(epsilon_nan, weft_rms_norm_with(t.x, 1, NULL, NAN), ARGUMENT, "rms_norm", "epsilon", "nan")          \
    ROW(whole, weft_batch_norm_with(t.whole, NULL, NULL, NULL, 0), DTYPE, "batch_norm", "i32")               \
    ROW(groups, weft_group_norm_with(t.x, 4, NULL, NULL, 0), ARGUMENT, "group_norm", "4 groups",             \
        "6 channels")                                                                                        \
    ROW(no_groups, weft_group_norm_with(t.x, 0, NULL, NULL, 0), ARGUMENT, "group_norm", "0 groups")          \
    ROW(axes, weft_layer_norm_with(t.x, 4, NULL, NULL, 0), ARGUMENT, "layer_norm", "axes is 4", "3")         \
    ROW(no_axes, weft_layer_norm_with(t.x, 0, NULL, NULL, 0), ARGUMENT, "layer_norm", "axes is 0")           \
    ROW(batch_axis, weft_rms_norm_with(t.x, 3, NULL, 0), SHAPE, "rms_norm", "(batch, 6, 5)")                 \
    ROW(row_weight, weft_layer_norm_with(t.x, 1, t.six, NULL, 0), SHAPE, "layer_norm", "(6)", "(5)")         \
    ROW(no_state, weft_batch_norm_with(t.x, NULL, NULL, RUNNING(.mean = t.six, .var = t.mean), 0), ARGUMENT, \
        "batch_norm", "running mean")                                                                        \
    ROW(no_variance, weft_batch_norm_with(t.x, NULL, NULL, RUNNING(.mean = t.mean), 0), ARGUMENT,            \
        "batch_norm", "running variance")                                                                    \
    ROW(count,                                                                                               \
        weft_batch_norm_with(t.x, NULL, NULL, RUNNING(.mean = t.mean, .var = t.mean, .batches = t.mean), 0), \
        ARGUMENT, "batch_norm", "count", "i32")                                                              \
    ROW(momentum,                                                                                            \
        weft_batch_norm_with(t.x, NULL, NULL, RUNNING(.mean = t.mean, .var = t.mean, .momentum = 1.5f), 0),  \
        ARGUMENT, "batch_norm", "momentum", "1.5")

#define BAD_TEST(name, expression, status, ...)                                                              \
    static void bad_##name(void **state) {                                                                   \
        (void)state;                                                                                         \
        const things t = make_things();                                                                      \
        assert_weft_ok(weft_graph_status(t.graph));                                                          \
        assert_null(expression);                                                                             \
        assert_weft_fails(WEFT_ERROR_##status, weft_graph_status(t.graph), __VA_ARGS__);                     \
        weft_graph_release(t.graph);                                                                         \
    }
BAD(BAD_TEST)
#define BAD_ENTRY(name, ...) cmocka_unit_test(bad_##name),

/* What only the batch tells: one value a channel. */
static void test_one_value(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, 3, 1, 1);
    weft_tensor *const batch = weft_batch_norm_with(x, NULL, NULL, NULL, epsilon),
                       *const instance = weft_instance_norm_with(x, NULL, NULL, NULL, epsilon);
    weft_plan *plan = NULL;
    assert_weft_fails(WEFT_ERROR_SHAPE, weft_plan_create(&plan, &batch, 1, NULL), "batch_norm",
        "one value per channel", "(batch, 3, 1, 1)", "batch 1");
    assert_null(plan);
    const weft_plan_options two = {WEFT_PLAN_OPTIONS_INIT, .batch = 2};
    assert_weft_fails(
        WEFT_ERROR_SHAPE, weft_plan_create(&plan, &instance, 1, &two), "instance_norm", "one value");
    assert_weft_ok(weft_plan_create(&plan, &batch, 1, &two));
    weft_plan_release(plan);
    weft_graph_release(graph);
}

int main(void) {
    static const op_cases ops[] = {NORMALIZATION_OPS(COVERED_CASES)};
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_gradients_at_a_large_mean),
        cmocka_unit_test(test_bytes_moved), cmocka_unit_test(test_second_gradient),
        cmocka_unit_test(test_one_value), BAD(BAD_ENTRY)};
    return test_finish(op_suite_run("normalization", ops, sizeof ops / sizeof ops[0]) +
                       cmocka_run_group_tests_name("normalization, the rest", tests, NULL, NULL));
}
