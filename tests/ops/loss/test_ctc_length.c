/* CTC whose T is WEFT_LENGTH: one network for inputs of any length has, at each length, the losses and the gradients of a
 * network of that length. */
#include "support/fixture.h"
#include <math.h>

enum { BATCH = 3, CLASSES = 4, LABELS = 2, MOST = 11 };

static const int32_t targets[BATCH][LABELS] = {{1, 2}, {3, 3}, {2, 0}}, label_counts[BATCH] = {2, 2, 1};

typedef struct network {
    weft_graph *graph;
    weft_tensor *x, *targets, *steps, *labels, *loss, *gradient;
} network;

/* x is (N, T, C), as recurrent layers give it. */
static network build(int64_t steps) {
    network n = {.graph = test_graph()};
    n.x = weft_input_shape(n.graph, "x", WEFT_F32, 3, (const int64_t[]){WEFT_BATCH, steps, CLASSES});
    n.targets = weft_input(n.graph, "targets", WEFT_I32, LABELS);
    n.steps = weft_input(n.graph, "steps", WEFT_I32);
    n.labels = weft_input(n.graph, "labels", WEFT_I32);
    weft_tensor *const log_probs = weft_log_softmax(weft_permute(n.x, 1, 0, 2), 2);
    n.loss = weft_ctc(log_probs, n.targets, n.steps, n.labels);
    n.gradient = weft_gradient(n.loss, n.x);
    assert_weft_ok(weft_graph_status(n.graph));
    return n;
}

static float compute(const network *n, int64_t length, bool is_free, float *gradient) {
    float x[BATCH * MOST * CLASSES], loss = NAN;
    int32_t steps[BATCH];
    const size_t bytes = (size_t)(BATCH * length * CLASSES) * sizeof *x;
    test_random random = test_random_named("ctc_length", (uint64_t)length);
    for (size_t i = 0; i < bytes / sizeof *x; i++) x[i] = (float)test_random_between(&random, -2, 2);
    for (int i = 0; i < BATCH; i++) steps[i] = (int32_t)length - i;
    weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = BATCH};
    if (is_free) options.length = length;
    weft_tensor *const outputs[] = {n->loss, n->gradient};
    weft_plan *plan = NULL;
    assert_weft_ok(weft_plan_create(&plan, outputs, 2, &options));
    assert_weft_ok(weft_plan_write(plan, n->x, x, bytes));
    assert_weft_ok(weft_plan_write(plan, n->targets, targets, sizeof targets));
    assert_weft_ok(weft_plan_write(plan, n->steps, steps, sizeof steps));
    assert_weft_ok(weft_plan_write(plan, n->labels, label_counts, sizeof label_counts));
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_read(plan, n->loss, &loss, sizeof loss));
    assert_weft_ok(weft_plan_read(plan, n->gradient, gradient, bytes));
    weft_plan_release(plan);
    return loss;
}

static void test_lengths(void **state) {
    (void)state;
    network any = build(WEFT_LENGTH);
    for (int64_t length = 5; length <= MOST; length += 3) {
        float got[BATCH * MOST * CLASSES], wanted[BATCH * MOST * CLASSES];
        network fixed = build(length);
        const float loss = compute(&any, length, true, got), same = compute(&fixed, length, false, wanted);
        assert_true(isfinite(loss) && fabsf(loss - same) <= 1e-6f * fabsf(same));
        for (int i = 0; i < BATCH * (int)length * CLASSES; i++)
            assert_true(fabsf(got[i] - wanted[i]) <= 1e-6f);
        weft_graph_release(fixed.graph);
    }
    weft_graph_release(any.graph);
}

/* Targets are as many as the most, with their number beside them. */
static void test_targets_of_a_length(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x =
        weft_input_shape(graph, "x", WEFT_F32, 3, (const int64_t[]){MOST, WEFT_BATCH, CLASSES});
    weft_tensor *const labels = weft_input(graph, "targets", WEFT_I32, WEFT_LENGTH), *const counts =
                                                                                         weft_input(graph,
                                                                                             "n", WEFT_I32);
    assert_null(weft_ctc(weft_log_softmax(x, 2), labels, counts, counts));
    assert_weft_fails(WEFT_ERROR_UNSUPPORTED, weft_graph_status(graph), "ctc", "target_lengths");
    weft_graph_release(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_targets_of_a_length),
    };
    return test_finish(cmocka_run_group_tests_name("CTC of a length", tests, NULL, NULL));
}
