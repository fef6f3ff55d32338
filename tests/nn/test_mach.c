/* MACH beside a float64 reference: hash functions, loss, gradients, the best classes; bad input. */
#include "support/fixture.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <weft/classes.h>

enum { CLASSES = 101, WIDTH = 4, GROUPS = 3, BUCKETS = 7, ROWS = 5 };
static const int32_t labels[ROWS] = {0, 100, -100, 10, 99};
#define OPTIONS(...) (&(weft_mach_options){WEFT_MACH_OPTIONS_INIT, __VA_ARGS__})

/* ---- hash functions ---- */

/* Each bucket gets its share of classes, and two classes share a bucket in one of `buckets` cases: the definition of
 * 2-universal. The bounds are six standard deviations. */
static void test_hashes(void **state) {
    (void)state;
    enum { N = 30000, B = 50 };
    weft_graph *const graph = test_graph();
    const weft_mach *const m = weft_mach_layer(graph, 1, N, 2, B, NULL);
    const weft_mach *const other = weft_mach_layer(graph, 1, N, 2, B, OPTIONS(.seed = 1));
    int counts[B] = {0}, shared = 0, both = 0, same = 0;
    assert_non_null(m);
    for (int64_t c = 0; c < N; c++) {
        const int64_t bucket = weft_mach_bucket(m, 0, c);
        assert_in_range(bucket, 0, B - 1);
        counts[bucket]++;
        const int64_t partner = (c * 7919 + 13) % N;
        shared += bucket == weft_mach_bucket(m, 0, partner) && c != partner;
        both += bucket == weft_mach_bucket(m, 1, c);
        same += bucket == weft_mach_bucket(other, 0, c);
    }
    const double share = (double)N / B;
    for (int b = 0; b < B; b++) assert_true(fabs(counts[b] - share) < 0.5 * share);
    assert_true(fabs(shared - share) < 6 * sqrt(share) + 2);
    assert_true(fabs(both - share) < 0.5 * share && fabs(same - share) < 0.5 * share);
    assert_int_equal(weft_mach_bucket(m, 2, 0), -1);
    assert_int_equal(weft_mach_bucket(m, 0, N), -1);
    assert_int_equal(weft_mach_bucket(m, -1, 0), -1);
    assert_int_equal(weft_mach_bucket(m, 0, -1), -1);
    assert_int_equal(weft_mach_bucket(NULL, 0, 0), -1);
    weft_graph_release(graph);
}

/* The hashes that the device computes, of large numbers of classes: with a weight of 0 and a bias that is large at one bucket,
 * the loss tells whether a label is in this bucket. */
static void test_device_hashes(void **state) {
    (void)state;
    enum { BATCH = 256, B = 2 };
    const int64_t classes = 1 << 30;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_full(graph, WEFT_F32, 0, 2, (const int64_t[]){BATCH, 1});
    weft_tensor *const t = weft_input_shape(graph, "t", WEFT_I32, 1, (const int64_t[]){BATCH});
    weft_mach *const m = weft_mach_layer(graph, 1, classes, 1, B, NULL);
    weft_tensor *const loss = weft_mach_loss(m, x, t);
    weft_plan *plan;
    test_random random = test_random_named("mach", 1);
    int32_t targets[BATCH];
    float found;
    double wanted = 0;
    for (int i = 0; i < BATCH; i++) {
        targets[i] = i < 64   ? (int32_t)(classes - 1 - i)
                     : i < 96 ? (i - 64) * 32768 + (i & 1 ? -(i > 64) : 0) /* at multiples of the root */
                              : (int32_t)test_random_below(&random, classes);
        wanted += weft_mach_bucket(m, 0, targets[i]) == 1 ? log1p(exp(-2)) : log1p(exp(2));
    }
    assert_weft_ok(weft_plan_create(&plan, &loss, 1, NULL));
    assert_weft_ok(
        weft_tensor_write(weft_graph_find(graph, "mach1.bias"), (const float[]){0, 2}, 2 * sizeof(float)));
    assert_weft_ok(weft_plan_write(plan, t, targets, sizeof targets));
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_read(plan, loss, &found, sizeof found));
    assert_true(fabs((double)found - wanted / BATCH) < 1e-4);
    weft_plan_release(plan);
    weft_graph_release(graph);
}

/* ---- loss and gradients ---- */

/* The numbers of x (ROWS, WIDTH), weight (GROUPS · BUCKETS, WIDTH) and bias (GROUPS · BUCKETS), in this order. */
enum {
    OUTPUTS = GROUPS * BUCKETS,
    WEIGHT = ROWS * WIDTH,
    BIAS = WEIGHT + OUTPUTS * WIDTH,
    NUMBERS = BIAS + OUTPUTS
};

/* The probabilities of a row's classifier. */
static void softmax_of(const double *n, int row, int group, double *p) {
    double sum = 0;
    for (int b = 0; b < BUCKETS; b++) {
        const int output = group * BUCKETS + b;
        p[b] = n[BIAS + output];
        for (int i = 0; i < WIDTH; i++) p[b] += n[row * WIDTH + i] * n[WEIGHT + output * WIDTH + i];
        sum += p[b] = exp(p[b]);
    }
    for (int b = 0; b < BUCKETS; b++) p[b] /= sum;
}

static double reference(const weft_mach *m, const double *n) {
    double total = 0, p[BUCKETS];
    for (int row = 0; row < ROWS; row++)
        for (int group = 0; labels[row] >= 0 && group < GROUPS; group++) {
            softmax_of(n, row, group, p);
            total -= log(p[weft_mach_bucket(m, group, labels[row])]);
        }
    return total / (ROWS - 1);
}

typedef struct net {
    weft_graph *graph;
    weft_mach *mach;
    weft_tensor *x, *labels, *wrt[3], *outputs[5]; /* outputs: loss, gradients, probabilities */
    weft_plan *plan;
} net;

static net network(double *numbers) {
    net n = {.graph = test_graph()};
    float values[NUMBERS];
    test_random random = test_random_named("mach", 2);
    for (int i = 0; i < NUMBERS; i++)
        numbers[i] = (double)(values[i] = (float)test_random_between(&random, -1, 1));
    n.x = weft_input_shape(n.graph, "x", WEFT_F32, 2, (const int64_t[]){ROWS, WIDTH});
    n.labels = weft_input_shape(n.graph, "labels", WEFT_I32, 1, (const int64_t[]){ROWS});
    n.mach = weft_mach_layer(n.graph, WIDTH, CLASSES, GROUPS, BUCKETS, NULL);
    n.outputs[0] = weft_mach_loss(n.mach, n.x, n.labels);
    n.outputs[4] = weft_mach_probabilities(n.mach, n.x);
    n.wrt[0] = n.x;
    n.wrt[1] = weft_graph_find(n.graph, "mach1.weight");
    n.wrt[2] = weft_graph_find(n.graph, "mach1.bias");
    assert_weft_ok(weft_gradients(n.outputs[0], n.wrt, 3, n.outputs + 1));
    assert_weft_ok(weft_plan_create(&n.plan, n.outputs, 5, NULL));
    assert_weft_ok(weft_plan_write(n.plan, n.x, values, WEIGHT * sizeof(float)));
    assert_weft_ok(weft_plan_write(n.plan, n.labels, labels, sizeof labels));
    assert_weft_ok(weft_tensor_write(n.wrt[1], values + WEIGHT, (BIAS - WEIGHT) * sizeof(float)));
    assert_weft_ok(weft_tensor_write(n.wrt[2], values + BIAS, OUTPUTS * sizeof(float)));
    assert_weft_ok(weft_plan_run(n.plan));
    return n;
}

static void clear(net *n) {
    weft_plan_release(n->plan);
    weft_graph_release(n->graph);
}

static void test_like_reference(void **state) {
    (void)state;
    double numbers[NUMBERS];
    float loss, gradients[NUMBERS];
    net n = network(numbers);
    assert_weft_ok(weft_plan_read(n.plan, n.outputs[0], &loss, sizeof loss));
    assert_weft_ok(weft_plan_read(n.plan, n.outputs[1], gradients, WEIGHT * sizeof(float)));
    assert_weft_ok(weft_plan_read(n.plan, n.outputs[2], gradients + WEIGHT, (BIAS - WEIGHT) * sizeof(float)));
    assert_weft_ok(weft_plan_read(n.plan, n.outputs[3], gradients + BIAS, OUTPUTS * sizeof(float)));
    assert_true(fabs((double)loss - reference(n.mach, numbers)) < 5e-6);
    for (int i = 0; i < NUMBERS; i++) {
        const double kept = numbers[i], step = 1e-5;
        numbers[i] = kept + step;
        const double above = reference(n.mach, numbers);
        numbers[i] = kept - step;
        const double wanted = (above - reference(n.mach, numbers)) / (2 * step);
        numbers[i] = kept;
        if (!(fabs((double)gradients[i] - wanted) < 2e-6))
            fail_msg("gradient %d is %g, expected %g", i, (double)gradients[i], wanted);
    }
    for (int32_t bad = -1; bad <= CLASSES; bad += CLASSES + 1) {
        assert_weft_ok(weft_plan_write(n.plan, n.labels, (const int32_t[]){1, 1, bad, 1, 1}, sizeof labels));
        assert_weft_ok(weft_plan_run(n.plan));
        assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_plan_read(n.plan, n.outputs[0], &loss, sizeof loss),
            bad < 0 ? "mach: a label is -1, not in 0..100" : "mach: a label is 101, not in 0..100");
        assert_true(isnan(loss));
    }
    clear(&n);
}

/* ---- the best classes ---- */

static double score_of(const weft_mach *m, const double *numbers, int row, int64_t label) {
    double mean = 0, p[BUCKETS];
    for (int group = 0; group < GROUPS; group++) {
        softmax_of(numbers, row, group, p);
        mean += p[weft_mach_bucket(m, group, label)] / GROUPS;
    }
    return (mean - 1.0 / BUCKETS) * BUCKETS / (BUCKETS - 1.0);
}

static void check_top(const net *n, const double *numbers, const float *p, size_t k) {
    int32_t classes[ROWS][CLASSES];
    float scores[ROWS * CLASSES];
    assert_weft_ok(weft_mach_top(n->mach, p, ROWS, k, classes[0], scores));
    for (int row = 0; row < ROWS; row++) {
        const int32_t *const found = classes[0] + (size_t)row * k;
        bool taken[CLASSES] = {false};
        for (size_t i = 0; i < k; i++) {
            double best = -INFINITY;
            for (int c = 0; c < CLASSES; c++)
                if (!taken[c]) best = fmax(best, score_of(n->mach, numbers, row, c));
            assert_in_range(found[i], 0, CLASSES - 1);
            assert_false(taken[found[i]]);
            taken[found[i]] = true;
            assert_true(fabs(score_of(n->mach, numbers, row, found[i]) - best) < 1e-6);
            assert_true(fabs((double)scores[(size_t)row * k + i] - best) < 1e-6);
            if (i > 0 && scores[(size_t)row * k + i] == scores[(size_t)row * k + i - 1])
                assert_true(found[i - 1] < found[i]);
        }
    }
}

static void test_top(void **state) {
    (void)state;
    double numbers[NUMBERS];
    float p[ROWS * OUTPUTS];
    net n = network(numbers);
    assert_int_equal(weft_tensor_rank(n.outputs[4]), 3);
    assert_weft_ok(weft_plan_read(n.plan, n.outputs[4], p, sizeof p));
    check_top(&n, numbers, p, 1);
    check_top(&n, numbers, p, 10);
    check_top(&n, numbers, p, CLASSES);
    clear(&n);
}

/* More rows than are scored together: each is as alone. A row of NaN has no best class. */
static void test_many_rows(void **state) {
    (void)state;
    enum { MANY = 37, K = 4 };
    double numbers[NUMBERS];
    float p[MANY][OUTPUTS];
    int32_t classes[MANY][K], alone[K];
    net n = network(numbers);
    test_random random = test_random_named("mach", 3);
    for (int row = 0; row < MANY; row++)
        for (int i = 0; i < OUTPUTS; i++) p[row][i] = (float)test_random_between(&random, 0, 1);
    for (int i = 0; i < OUTPUTS; i++) p[20][i] = NAN;
    assert_weft_ok(weft_mach_top(n.mach, p[0], MANY, K, classes[0], NULL));
    for (int row = 0; row < MANY; row++) {
        assert_weft_ok(weft_mach_top(n.mach, p[row], 1, K, alone, NULL));
        assert_memory_equal(alone, classes[row], sizeof alone);
        if (row == 20) assert_int_equal(alone[0], -1);
    }
    clear(&n);
}

/* The mean of the scores over many hash functions is the probability of the class: the estimator has no bias. */
static void test_unbiased(void **state) {
    (void)state;
    enum { N = 6, B = 3, R = 4000 };
    static const double truth[N] = {0.4, 0.05, 0.25, 0.1, 0, 0.2};
    weft_graph *const graph = test_graph();
    weft_mach *const m = weft_mach_layer(graph, 1, N, R, B, NULL);
    float p[R * B], scores[N];
    int32_t classes[N];
    memset(p, 0, sizeof p);
    for (int r = 0; r < R; r++)
        for (int c = 0; c < N; c++) p[r * B + weft_mach_bucket(m, r, c)] += (float)truth[c];
    assert_weft_ok(weft_mach_top(m, p, 1, N, classes, scores));
    for (int i = 0; i < N; i++) assert_true(fabs((double)scores[i] - truth[classes[i]]) < 0.03);
    weft_graph_release(graph);
}

/* ---- bad input ---- */

static void assert_refused(const char *line, int64_t width, int64_t classes, int64_t groups, int64_t buckets,
    weft_mach_options options) {
    weft_graph *const graph = test_graph();
    assert_null(weft_mach_layer(graph, width, classes, groups, buckets, &options));
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_graph_status(graph), line);
    weft_graph_release(graph);
}

static void test_bad_input(void **state) {
    (void)state;
    assert_refused("width is 0 and classes is 9", 0, 9, 2, 3, *OPTIONS(0));
    assert_refused("classes is 1073741825", 4, (1 << 30) + INT64_C(1), 2, 3, *OPTIONS(0));
    assert_refused("groups is 0 and buckets is 3, expected 1 to 4096, and 2 to", 4, 9, 0, 3, *OPTIONS(0));
    assert_refused("groups is 2 and buckets is 1", 4, 9, 2, 1, *OPTIONS(0));
    assert_refused("the options have struct_size 1", 4, 9, 2, 3, (weft_mach_options){.struct_size = 1});
    assert_null(weft_mach_layer(NULL, 4, 9, 2, 3, NULL));
    weft_graph *const graph = test_graph();
    weft_mach *const m = weft_mach_layer(graph, 4, 9, 2, 3, NULL);
    int32_t classes[9];
    const float p[6] = {0};
    assert_weft_fails(
        WEFT_ERROR_ARGUMENT, weft_mach_top(m, p, 1, 10, classes, NULL), "k is 10, expected 1 to 9");
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_mach_top(m, p, 1, 0, classes, NULL), "k is 0");
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_mach_top(m, NULL, 1, 1, classes, NULL), "must not be NULL");
    assert_weft_ok(weft_mach_top(m, p, 0, 1, classes, NULL));
    assert_null(weft_mach_probabilities(m, weft_input(graph, "x", WEFT_F32, 5)));
    assert_weft_fails(
        WEFT_ERROR_SHAPE, weft_graph_status(graph), "x is f32 (batch, 5), expected f32 (..., 4)");
    weft_graph_release(graph);
    static const int64_t shapes[2][WEFT_MAX_RANK] = {{1, 1, 1, 1, 1, 1, 2, 4}, {WEFT_BATCH, WEFT_BATCH, 4}};
    static const char *const lines[] = {
        "x has 8 axes, expected fewer", "more than one axis of x depends on the batch"};
    for (int i = 0; i < 2; i++) {
        weft_graph *const other = test_graph();
        weft_mach *const layer = weft_mach_layer(other, 4, 9, 2, 3, NULL);
        weft_tensor *const x = weft_input_shape(other, "x", WEFT_F32, i ? 3 : WEFT_MAX_RANK, shapes[i]);
        assert_null(weft_mach_probabilities(layer, x));
        assert_weft_fails(WEFT_ERROR_SHAPE, weft_graph_status(other), lines[i]);
        weft_graph_release(other);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hashes),
        cmocka_unit_test(test_device_hashes),
        cmocka_unit_test(test_like_reference),
        cmocka_unit_test(test_top),
        cmocka_unit_test(test_many_rows),
        cmocka_unit_test(test_unbiased),
        cmocka_unit_test(test_bad_input),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
