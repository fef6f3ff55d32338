/* How near the arena comes to its lower bound, on networks that people train: planned at their usual batch,
 * neither compiled nor run. */
/* test slow */
#include "support/fixture.h"

#include "bench_networks.h"
#include <stdlib.h>

static void test_networks(void **state) {
    (void)state;
    static const char *const names[] = {
        "FCN-R", "AlexNet-R", "ResNet-56", "LSTM", "MobileNet-v2", "GoogLeNet", "ResNet-50", "digits-CNN"};
    const size_t count = sizeof names / sizeof *names;
    for (size_t i = 0; i < count; i++) {
        bench_model model;
        weft_plan_info info;
        const bench_network *const network = bench_network_find(names[i]);
        assert_non_null(network);
        assert_weft_ok(bench_model_create(&model, test_context(), network, &(bench_setting){0}));
        assert_weft_ok(weft_plan_get_info(model.plan, &info));
        print_message("%s: %zu bytes, of which %zu intermediates, %.3f of the lower bound\n", names[i],
            info.total_bytes + info.variable_bytes, info.arena_bytes,
            (double)info.arena_bytes / (double)info.arena_lower_bound);
        assert_true(info.arena_lower_bound > 0 && info.arena_lower_bound <= info.arena_bytes);
        if (10 * info.arena_bytes > 11 * info.arena_lower_bound)
            fail_msg("%s: an arena of %zu bytes is more than 1.1 times %zu", names[i], info.arena_bytes,
                info.arena_lower_bound);
        bench_model_clear(&model);
    }
}

/* Of a plan whose products take no scratch memory. */
static weft_plan_info naive_plan_info(weft_tensor *const *outputs, size_t count, int64_t batch) {
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = batch, .compile_late = true};
    weft_plan *plan = NULL;
    weft_plan_info info;
    setenv("WEFT_GEMM", "naive", 1);
    assert_weft_ok(weft_plan_create(&plan, outputs, count, &options));
    unsetenv("WEFT_GEMM");
    assert_weft_ok(weft_plan_get_info(plan, &info));
    weft_plan_release(plan);
    return info;
}

/* Three products in a row by the kernel that takes no scratch: what is alive at a time is known by hand. */
static void test_lower_bound(void **state) {
    (void)state;
    enum { ROWS = 64, COLUMNS = 96 };
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, COLUMNS);
    weft_tensor *const a = weft_matmul(x, weft_permute(x, 1, 0)), *const b = weft_matmul(a, x);
    weft_tensor *const outputs[] = {weft_matmul(weft_permute(b, 1, 0), x)};
    const weft_plan_info info = naive_plan_info(outputs, 1, ROWS);
    /* a; a and b; b and the output, the most; the output. */
    assert_int_equal(info.arena_lower_bound, (ROWS * COLUMNS + COLUMNS * COLUMNS) * sizeof(float));
    assert_int_equal(info.arena_bytes, info.arena_lower_bound);
    weft_graph_release(graph);
}

/* The gradient of a loss over many classes lies where the product before it lay: one matrix, beside numbers a
 * row. */
static void test_softmax_in_place(void **state) {
    (void)state;
    enum { ROWS = 64, DEPTH = 8, CLASSES = 1000, PER_ROW = 4096 };
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, DEPTH);
    weft_tensor *const w = weft_parameter(graph, "w", weft_fill(0.0f), CLASSES, DEPTH);
    weft_tensor *const loss =
        weft_cross_entropy(weft_linear_with(x, w, NULL), weft_input(graph, "label", WEFT_I32));
    weft_tensor *outputs[2] = {loss};
    assert_weft_ok(weft_gradients(loss, &w, 1, outputs + 1));
    const weft_plan_info info = naive_plan_info(outputs, 2, ROWS);
    const size_t matrix = ROWS * CLASSES * sizeof(float), gradient = CLASSES * DEPTH * sizeof(float);
    if (info.arena_bytes > matrix + gradient + PER_ROW)
        fail_msg("%zu bytes for a matrix of %zu and a gradient of %zu", info.arena_bytes, matrix, gradient);
    weft_graph_release(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_lower_bound),
        cmocka_unit_test(test_softmax_in_place), cmocka_unit_test(test_networks)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
