/* Images in memory: the two views, and a tower of maps, norms, pads, slices and joins between ops of images
 * against float64. In test_layout_conversions.c it is counted what such towers cost. */
/* test slow */
/* test.{formats} format={} reduced */
#include "support/image_tower.h"
#include "support/op_case.h"

#include "ops/covered_ops.h"
#include "oracle/reference_movement.h"

#define X(...) F32(-2, 2, __VA_ARGS__)

/* ---- the views ---- */

static weft_tensor *build_channels_last(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)c, (void)graph;
    return weft_channels_last(inputs[0]);
}
static weft_tensor *build_channels_first(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)c, (void)graph;
    return weft_channels_first(inputs[0]);
}
static f64_array *reference_channels_last(const op_case *c, const f64_array *const *inputs) {
    (void)c;
    return f64_move_axis(inputs[0], 1, -1);
}
static f64_array *reference_channels_first(const op_case *c, const f64_array *const *inputs) {
    (void)c;
    return f64_move_axis(inputs[0], -1, 1);
}
static const op_case channels_last_cases[] = {
    CASE("columns", channels_last, INPUTS(X(WEFT_BATCH, 17))),
    CASE("a signal", channels_last, INPUTS(X(WEFT_BATCH, 3, 5))),
    CASE("an image", channels_last, INPUTS(X(WEFT_BATCH, 3, 5, 4))),
    CASE("a volume", channels_last, INPUTS(X(2, 3, 2, 1, 4))),
    CASE("one pixel", channels_last, INPUTS(X(WEFT_BATCH, 5, 1, 1))),
};
static const op_case channels_first_cases[] = {
    CASE("columns", channels_first, INPUTS(X(WEFT_BATCH, 17))),
    CASE("a signal", channels_first, INPUTS(X(WEFT_BATCH, 5, 3))),
    CASE("an image", channels_first, INPUTS(F32_VIEW(OP_TRANSPOSED, -2, 2, WEFT_BATCH, 5, 4, 3))),
    CASE("a volume", channels_first, INPUTS(X(2, 3, 2, 1, 4))),
    CASE("one pixel", channels_first, INPUTS(X(WEFT_BATCH, 1, 1, 5))),
};

/* ---- a tower ---- */

static weft_tensor *build_tower(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)c, (void)graph;
    return image_tower(inputs[0], inputs[1], inputs[2], image_tower_op);
}
static f64_array *reference_tower(const op_case *c, const f64_array *const *inputs) {
    (void)c;
    return image_tower_reference(inputs[0], inputs[1], inputs[2]);
}
static const op_case tower_cases[] = {
    CASE(
        "3 channels", tower, INPUTS(X(WEFT_BATCH, 3, 5, 4), F32_PARAMETER(-1, 1, 3), X(WEFT_BATCH, 6, 1, 1))),
    CASE("17 channels, permuted input", tower,
        INPUTS(F32_VIEW(OP_REVERSED, -2, 2, 2, 17, 3, 5), F32_PARAMETER(-1, 1, 17), X(2, 34, 1, 1))),
};

/* ---- errors ---- */

static void test_errors(void **state) {
    (void)state;
    weft_graph *graph = test_graph();
    assert_null(weft_channels_last(weft_input_shape(graph, "x", WEFT_F32, 1, (const int64_t[]){WEFT_BATCH})));
    assert_weft_fails(WEFT_ERROR_SHAPE, weft_graph_status(graph), "channels_last", "(batch)", "rank 2");
    weft_graph_release(graph);
    graph = test_graph();
    assert_null(weft_channels_first(weft_constant(graph, WEFT_F32, 1)));
    assert_weft_fails(WEFT_ERROR_SHAPE, weft_graph_status(graph), "channels_first", "()", "rank 2");
    assert_null(weft_channels_first(NULL));
    weft_graph_release(graph);
}

/* The gradient of something that maps pass by, as they are made over the memory beneath it. */
static void test_gradient_of_an_image(void **state) {
    (void)state;
    enum { SIZE = 2 * 3 * 2 * 2 };
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input_shape(graph, "x", WEFT_F32, 4, (const int64_t[]){2, 3, 2, 2});
    weft_tensor *const image = weft_relu(image_tower_op(x));
    weft_tensor *const loss = weft_sum_axes(weft_mul(weft_square(image), x), NULL, false);
    weft_tensor *const outputs[] = {image, weft_gradient(loss, image)};
    weft_plan *plan = NULL;
    assert_weft_ok(weft_plan_create(&plan, outputs, 2, NULL));
    float values[SIZE], got[SIZE], gradient[SIZE];
    for (int i = 0; i < SIZE; i++) values[i] = (float)(i % 7) / 4 - 0.5f;
    assert_weft_ok(weft_plan_write(plan, x, values, sizeof values));
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_read(plan, image, got, sizeof got));
    assert_weft_ok(weft_plan_read(plan, outputs[1], gradient, sizeof gradient));
    for (int i = 0; i < SIZE; i++) assert_float_equal(gradient[i], 2 * got[i] * values[i], 1e-5);
    weft_plan_release(plan);
    weft_graph_release(graph);
}

int main(void) {
    static const op_cases ops[] = {
        CHANNELS_OPS(COVERED_CASES){NULL, tower_cases, sizeof tower_cases / sizeof tower_cases[0]}};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errors), cmocka_unit_test(test_gradient_of_an_image)};
    int failed = op_suite_run("channels last", ops, sizeof ops / sizeof ops[0]);
    failed |= cmocka_run_group_tests_name("images", tests, NULL, NULL);
    return test_finish(failed);
}
