/* Kernels of many kinds run in a process that compiles kernels, on one work-group and buffers of zeros. */
#include "bench_networks.h"
#include "support/waited_processes.h"

#include <stdlib.h>
#include <string.h>

enum { BATCH = 3, LENGTH = 7, VOCABULARY = 11, WIDTH = 8 };

static void assert_all_compiled(weft_context *context, const scratch_log *log) {
    waited_processes_wait(context, log);
    if (!strstr(log->text, "weft-compile ended with result 0\n")) fail_msg("%s", log->text);
    weft_context_release(context);
}

static void convolutions(void **state) {
    bench_model model;
    scratch_log log = {0};
    weft_context *const context = waited_processes_open(*state, &log);
    assert_weft_ok(bench_model_create(
        &model, context, bench_network_find("digits-CNN"), &(bench_setting){.batch = BATCH}));
    assert_weft_ok(weft_plan_run(model.plan));
    bench_model_clear(&model);
    assert_all_compiled(context, &log);
}

/* Embedding, recurrence, attention, norm, loss, sort and scatter, with all gradients. */
static void sequences(void **state) {
    scratch_log log = {0};
    weft_context *const context = waited_processes_open(*state, &log);
    weft_graph *const graph = weft_context_graph(context);
    weft_tensor *const tokens = weft_input(graph, "tokens", WEFT_I32, LENGTH);
    weft_tensor *const labels = weft_input(graph, "labels", WEFT_I32, LENGTH);
    weft_tensor *x = weft_lstm(weft_embedding(tokens, VOCABULARY, WIDTH), WIDTH, NULL).y;
    x = weft_layer_norm(weft_multi_head_attention(x, x, x, 2, NULL));
    weft_tensor *const scores = weft_linear(x, VOCABULARY);
    weft_tensor *const order = weft_argsort(scores, 2, true), *const ranks = weft_gather(scores, 2, order);
    weft_tensor *const added = weft_scatter_sum(ranks, 2, order, VOCABULARY);
    weft_tensor *outputs[3 + WEFT_MAX_UPDATES] = {
        weft_cross_entropy(weft_transpose(scores), labels), weft_cumsum(ranks, 1), added};
    const weft_optimizer adam = weft_adam(0.01f);
    weft_plan *plan = NULL;
    size_t updates = 0;
    assert_weft_ok(weft_minimize(outputs[0], &adam, outputs + 3, WEFT_MAX_UPDATES, &updates));
    assert_weft_ok(weft_plan_create(
        &plan, outputs, 3 + updates, &(weft_plan_options){WEFT_PLAN_OPTIONS_INIT, .batch = BATCH}));
    weft_plan_release(plan);
    assert_all_compiled(context, &log);
}

int main(void) {
    const struct CMUnitTest tests[] = {SCRATCH_TEST(convolutions), SCRATCH_TEST(sequences)};
    if (unsetenv("WEFT_COMPILE_PROCESSES") != 0) return 1;
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
