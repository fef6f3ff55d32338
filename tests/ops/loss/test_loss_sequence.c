/* Cross-entropy of sequences: masks, lengths and ignored labels against a sum by hand in float64. */
#include "support/fixture.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { N = 3, T = 5, V = 7 };

typedef struct net {
    weft_graph *graph;
    weft_tensor *logits, *labels, *mask, *loss, *gradient;
    weft_plan *plan;
} net;

static net begin(weft_dtype mask, bool per_token) {
    net n = {.graph = test_graph()};
    n.logits = weft_input(n.graph, "logits", WEFT_F32, T, V);
    n.labels = weft_input(n.graph, "labels", WEFT_I32, T);
    n.mask = weft_input_shape(n.graph, "mask", mask, per_token ? 2 : 1, (const int64_t[]){WEFT_BATCH, T});
    return n;
}

static float logits[N][T][V];
static int32_t labels[N][T];

static void make_numbers(void) {
    test_random random = test_random_named("sequences", 1);
    for (int i = 0; i < N * T * V; i++) (&logits[0][0][0])[i] = (float)test_random_between(&random, -4, 4);
    for (int i = 0; i < N * T; i++) (&labels[0][0])[i] = (int32_t)test_random_below(&random, V);
}

static double own_loss(const float *x, int32_t label) {
    double sum = 0;
    for (int k = 0; k < V; k++) sum += exp((double)x[k]);
    return log(sum) - (double)x[label];
}

static void run(net *n, const void *mask, size_t mask_bytes) {
    weft_tensor *outputs[] = {n->loss, n->gradient};
    assert_weft_ok(weft_plan_create(
        &n->plan, outputs, n->gradient ? 2 : 1, &(weft_plan_options){WEFT_PLAN_OPTIONS_INIT, .batch = N}));
    assert_weft_ok(weft_plan_write(n->plan, n->logits, logits, sizeof logits));
    assert_weft_ok(weft_plan_write(n->plan, n->labels, labels, sizeof labels));
    if (mask) assert_weft_ok(weft_plan_write(n->plan, n->mask, mask, mask_bytes));
    assert_weft_ok(weft_plan_run(n->plan));
}

static void close_net(net *n) {
    weft_plan_release(n->plan);
    weft_graph_release(n->graph);
}

/* The mean over the labels that count, and its gradient, are the sums by hand. */
static void check_mean(net *n, bool counts[N][T]) {
    static float loss, gradient[N][T][V];
    double wanted = 0, number = 0;
    for (int s = 0; s < N; s++)
        for (int t = 0; t < T; t++)
            if (counts[s][t]) {
                wanted += own_loss(logits[s][t], labels[s][t]);
                number++;
            }
    assert_weft_ok(weft_plan_read(n->plan, n->loss, &loss, sizeof loss));
    assert_weft_ok(weft_plan_read(n->plan, n->gradient, gradient, sizeof gradient));
    assert_true(fabs((double)loss - wanted / number) <= 1e-6 * wanted);
    for (int s = 0; s < N; s++)
        for (int t = 0; t < T; t++)
            for (int k = 0; k < V; k++) {
                double slope = 0;
                if (counts[s][t]) {
                    const double all =
                        own_loss(logits[s][t], labels[s][t]) + (double)logits[s][t][labels[s][t]];
                    slope = (exp((double)logits[s][t][k] - all) - (k == labels[s][t])) / number;
                }
                assert_true(fabs((double)gradient[s][t][k] - slope) <= 1e-6);
            }
}

static void test_mask(void **state) {
    (void)state;
    bool counts[N][T];
    unsigned char mask[N][T];
    make_numbers();
    for (int i = 0; i < N * T; i++) (&mask[0][0])[i] = (&counts[0][0])[i] = i % 3 != 1;
    net n = begin(WEFT_BOOL, true);
    n.loss = weft_sequence_cross_entropy(n.logits, n.labels, n.mask);
    n.gradient = weft_gradient(n.loss, n.logits);
    run(&n, mask, sizeof mask);
    check_mean(&n, counts);
    close_net(&n);
}

static void test_lengths(void **state) {
    (void)state;
    bool counts[N][T];
    const int32_t lengths[N] = {T, 0, 2};
    make_numbers();
    for (int s = 0; s < N; s++)
        for (int t = 0; t < T; t++) counts[s][t] = t < lengths[s];
    net n = begin(WEFT_I32, false);
    n.loss = weft_sequence_cross_entropy(n.logits, n.labels, n.mask);
    n.gradient = weft_gradient(n.loss, n.logits);
    run(&n, lengths, sizeof lengths);
    check_mean(&n, counts);
    float loss;
    for (int32_t bad = -1; bad <= T + 1; bad += T + 2) {
        assert_weft_ok(weft_plan_write(n.plan, n.mask, (const int32_t[N]){1, bad, 1}, sizeof lengths));
        assert_weft_ok(weft_plan_run(n.plan));
        char line[96];
        snprintf(line, sizeof line, "sequence_cross_entropy: a length is %d, not in 0..%d", (int)bad, T);
        assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_plan_read(n.plan, n.loss, &loss, sizeof loss), line);
        assert_true(isnan(loss));
    }
    close_net(&n);
}

/* -100 by default, another label with `ignore`. */
static void test_ignored(void **state) {
    (void)state;
    bool counts[N][T];
    for (int other = 0; other < 2; other++) {
        make_numbers();
        for (int i = 0; i < N * T; i++) {
            (&counts[0][0])[i] = i % 4 != 2;
            if (i % 4 == 2)
                (&labels[0][0])[i] = other ? 3 : -100;
            else if (other && (&labels[0][0])[i] == 3)
                (&labels[0][0])[i] = 4;
        }
        const weft_class_loss_options options = {
            WEFT_CLASS_LOSS_OPTIONS_INIT, .ignore = true, .ignored_label = 3};
        net n = begin(WEFT_I32, false);
        n.loss = weft_sequence_cross_entropy_loss(n.logits, n.labels, NULL, other ? &options : NULL);
        n.gradient = weft_gradient(n.loss, n.logits);
        run(&n, NULL, 0);
        check_mean(&n, counts);
        close_net(&n);
    }
}

static void test_losses_of_tokens(void **state) {
    (void)state;
    make_numbers();
    unsigned char mask[T] = {1, 1, 0, 1, 0};
    net n = {.graph = test_graph()};
    n.logits = weft_input(n.graph, "logits", WEFT_F32, T, V);
    n.labels = weft_input(n.graph, "labels", WEFT_I32, T);
    n.mask = weft_input_shape(n.graph, "mask", WEFT_BOOL, 1, (const int64_t[]){T}); /* stretches */
    n.loss = weft_sequence_cross_entropy_loss(n.logits, n.labels, n.mask,
        &(weft_class_loss_options){WEFT_CLASS_LOSS_OPTIONS_INIT, .reduction = WEFT_LOSS_NONE});
    assert_int_equal(weft_tensor_rank(n.loss), 2);
    assert_int_equal(weft_tensor_dimension(n.loss, 1), T);
    run(&n, mask, sizeof mask);
    float losses[N][T];
    assert_weft_ok(weft_plan_read(n.plan, n.loss, losses, sizeof losses));
    for (int s = 0; s < N; s++)
        for (int t = 0; t < T; t++)
            assert_true(
                fabs((double)losses[s][t] - (mask[t] ? own_loss(logits[s][t], labels[s][t]) : 0)) < 1e-5);
    close_net(&n);
}

static void assert_refused(weft_status status, const char *line, weft_dtype label, int64_t steps,
    weft_dtype mask, int rank, int64_t length) {
    weft_graph *graph = test_graph();
    weft_tensor *x = weft_input(graph, "logits", WEFT_F32, T, V),
                *y = weft_input(graph, "labels", label, steps);
    weft_tensor *m = weft_input_shape(graph, "mask", mask, rank, (const int64_t[]){WEFT_BATCH, length});
    assert_null(weft_sequence_cross_entropy(x, y, m));
    assert_weft_fails(status, weft_graph_status(graph), line);
    weft_graph_release(graph);
}

static void test_bad_input(void **state) {
    (void)state;
    assert_refused(
        WEFT_ERROR_DTYPE, "sequence_cross_entropy: labels are i32, not f32", WEFT_F32, T, WEFT_I32, 1, 0);
    assert_refused(WEFT_ERROR_SHAPE,
        "logits (batch, 5, 7), labels (batch, 4): labels must have the shape of the logits without their "
        "last axis",
        WEFT_I32, 4, WEFT_I32, 1, 0);
    assert_refused(WEFT_ERROR_SHAPE, "mask (batch, 4): the mask does not broadcast to the labels", WEFT_I32,
        T, WEFT_BOOL, 2, 4);
    assert_refused(WEFT_ERROR_DTYPE, "a mask is bool, or i32 lengths, not f32", WEFT_I32, T, WEFT_F32, 2, T);
    assert_refused(WEFT_ERROR_SHAPE, "mask (batch, 5): lengths must be (N) for labels (N, T)", WEFT_I32, T,
        WEFT_I32, 2, T);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mask),
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_ignored),
        cmocka_unit_test(test_losses_of_tokens),
        cmocka_unit_test(test_bad_input),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
