/* Sampled softmax beside a float64 reference and finite differences of it, the distribution of its draws, and bad input. */
#include "nn/sampled_softmax.h"
#include "support/fixture.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CLASSES = 23, WIDTH = 5, ROWS = 6, SAMPLES = 9 };
static const int32_t labels[ROWS] = {0, 22, -100, 7, 3, 7};
/* 7 is drawn twice, and 3 and 22 once: accidental hits of three rows */
static const int32_t drawn[SAMPLES] = {7, 1, 0, 12, 7, 3, 22, 2, 1};

#define OPTIONS(...) (&(weft_sampled_softmax_options){WEFT_SAMPLED_SOFTMAX_OPTIONS_INIT, __VA_ARGS__})

/* ---- the reference ---- */

/* The numbers of x (ROWS, WIDTH), weight (CLASSES, WIDTH) and bias (CLASSES), in this order. */
enum { X = 0, WEIGHT = ROWS * WIDTH, BIAS = WEIGHT + CLASSES * WIDTH, NUMBERS = BIAS + CLASSES };

static double logit(const double *n, int row, int label, bool uniform) {
    double z = n[BIAS + label];
    for (int i = 0; i < WIDTH; i++) z += n[X + row * WIDTH + i] * n[WEIGHT + label * WIDTH + i];
    return z - (uniform ? log(1.0 / CLASSES) : log(log1p(1.0 / (label + 1)) / log1p(CLASSES)));
}

static double reference(const double *n, bool uniform) {
    double total = 0;
    int counted = 0;
    for (int row = 0; row < ROWS; row++) {
        if (labels[row] == -100) continue;
        const double own = logit(n, row, labels[row], uniform);
        double sum = exp(own);
        for (int i = 0; i < SAMPLES; i++)
            if (drawn[i] != labels[row]) sum += exp(logit(n, row, drawn[i], uniform));
        total += log(sum) - own;
        counted++;
    }
    return total / counted;
}

/* ---- the loss ---- */

typedef struct net {
    weft_graph *graph;
    weft_tensor *x, *labels, *loss, *wrt[3];
    weft_plan *plan;
} net;

static net network(bool uniform) {
    net n = {.graph = test_graph()};
    n.x = weft_input_shape(n.graph, "x", WEFT_F32, 2, (const int64_t[]){ROWS, WIDTH});
    n.labels = weft_input_shape(n.graph, "labels", WEFT_I32, 1, (const int64_t[]){ROWS});
    weft_sampled_softmax *const layer = weft_sampled_softmax_layer(n.graph, WIDTH, CLASSES, SAMPLES,
        OPTIONS(.bias = true, .proposal = uniform ? WEFT_PROPOSAL_UNIFORM : WEFT_PROPOSAL_LOG_UNIFORM));
    weft_tensor *const classes = weft_array(n.graph, WEFT_I32, drawn, 1, (const int64_t[]){SAMPLES});
    n.loss = wi_sampled_softmax_loss_of(layer, n.x, n.labels, classes);
    n.wrt[0] = n.x;
    n.wrt[1] = weft_graph_find(n.graph, "sampled_softmax1.weight");
    n.wrt[2] = weft_graph_find(n.graph, "sampled_softmax1.bias");
    return n;
}

static void write_numbers(net *n, const double *numbers) {
    float values[NUMBERS];
    for (int i = 0; i < NUMBERS; i++) values[i] = (float)numbers[i];
    assert_weft_ok(weft_plan_write(n->plan, n->x, values, WEIGHT * sizeof(float)));
    assert_weft_ok(weft_plan_write(n->plan, n->labels, labels, sizeof labels));
    assert_weft_ok(weft_tensor_write(n->wrt[1], values + WEIGHT, (BIAS - WEIGHT) * sizeof(float)));
    assert_weft_ok(weft_tensor_write(n->wrt[2], values + BIAS, CLASSES * sizeof(float)));
}

static void draw_numbers(double *numbers) {
    test_random random = test_random_named("sampled softmax", 1);
    for (int i = 0; i < NUMBERS; i++) numbers[i] = (double)(float)test_random_between(&random, -1, 1);
}

static void check_like_reference(bool uniform) {
    double numbers[NUMBERS];
    float loss, gradients[NUMBERS];
    net n = network(uniform);
    weft_tensor *outputs[4] = {n.loss};
    assert_weft_ok(weft_gradients(n.loss, n.wrt, 3, outputs + 1));
    assert_weft_ok(weft_plan_create(&n.plan, outputs, 4, NULL));
    draw_numbers(numbers);
    write_numbers(&n, numbers);
    assert_weft_ok(weft_plan_run(n.plan));
    assert_weft_ok(weft_plan_read(n.plan, n.loss, &loss, sizeof loss));
    assert_weft_ok(weft_plan_read(n.plan, outputs[1], gradients, WEIGHT * sizeof(float)));
    assert_weft_ok(weft_plan_read(n.plan, outputs[2], gradients + WEIGHT, (BIAS - WEIGHT) * sizeof(float)));
    assert_weft_ok(weft_plan_read(n.plan, outputs[3], gradients + BIAS, CLASSES * sizeof(float)));
    assert_true(fabs((double)loss - reference(numbers, uniform)) < 2e-6);
    for (int i = 0; i < NUMBERS; i++) {
        const double kept = numbers[i], step = 1e-5;
        numbers[i] = kept + step;
        const double above = reference(numbers, uniform);
        numbers[i] = kept - step;
        const double wanted = (above - reference(numbers, uniform)) / (2 * step);
        numbers[i] = kept;
        if (!(fabs((double)gradients[i] - wanted) < 1e-6))
            fail_msg("gradient %d is %g, expected %g", i, (double)gradients[i], wanted);
    }
    weft_plan_release(n.plan);
    weft_graph_release(n.graph);
}

static void test_like_reference(void **state) {
    (void)state;
    check_like_reference(false);
    check_like_reference(true);
}

/* A step changes the rows of labels and draws, as a step over the whole table would, and leaves the others as they are. */
static void test_changes_touched_rows(void **state) {
    (void)state;
    double numbers[NUMBERS];
    float after[CLASSES][WIDTH];
    net n = network(false);
    weft_tensor *const step = weft_train_step(n.loss, weft_sgd(0.5f), NULL);
    assert_weft_ok(weft_plan_create(&n.plan, &step, 1, NULL));
    draw_numbers(numbers);
    write_numbers(&n, numbers);
    assert_weft_ok(weft_plan_run(n.plan));
    assert_weft_ok(weft_tensor_read(n.wrt[1], after, sizeof after));
    for (int label = 0; label < CLASSES; label++) {
        bool touched = false;
        for (int i = 0; i < SAMPLES; i++) touched = touched || drawn[i] == label;
        for (int i = 0; i < WIDTH; i++) {
            double *const number = &numbers[WEIGHT + label * WIDTH + i], kept = *number;
            *number = kept + 1e-5;
            const double above = reference(numbers, false);
            *number = kept - 1e-5;
            const double wanted = kept - 0.5 * (above - reference(numbers, false)) / 2e-5;
            *number = kept;
            if (!touched) assert_true(after[label][i] == (float)kept);
            assert_true(fabs((double)after[label][i] - wanted) < 1e-6);
        }
    }
    weft_plan_release(n.plan);
    weft_graph_release(n.graph);
}

/* With all draws equal to the label, the label is the only class. */
static void test_all_hits(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input_shape(graph, "x", WEFT_F32, 2, (const int64_t[]){1, 1});
    weft_tensor *const label = weft_array(graph, WEFT_I32, (const int32_t[]){1}, 1, (const int64_t[]){1});
    weft_sampled_softmax *const layer = weft_sampled_softmax_layer(graph, 1, 2, 1, NULL);
    weft_tensor *outputs[2] = {wi_sampled_softmax_loss_of(layer, x, label, label)};
    weft_plan *plan;
    float loss, gradient;
    assert_weft_ok(weft_gradients(outputs[0], &x, 1, outputs + 1));
    assert_weft_ok(weft_plan_create(&plan, outputs, 2, NULL));
    assert_weft_ok(weft_plan_write(plan, x, (const float[]){3}, sizeof(float)));
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_read(plan, outputs[0], &loss, sizeof loss));
    assert_weft_ok(weft_plan_read(plan, outputs[1], &gradient, sizeof gradient));
    assert_true(loss == 0 && gradient == 0);
    weft_plan_release(plan);
    weft_graph_release(graph);
}

/* Sequences of a batch: ignored labels are not counted, a batch of them has the loss 0, and one that is no class is an
 * error. */
static void test_ignored_labels(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, 3, 4), *const t =
                                                                       weft_input(graph, "t", WEFT_I32, 3);
    weft_sampled_softmax *const layer = weft_sampled_softmax_layer(graph, 4, 8, 5, NULL);
    weft_tensor *outputs[] = {weft_sampled_softmax_loss(layer, x, t), weft_sampled_softmax_logits(layer, x)};
    weft_plan *plan;
    float data[24], loss, logits[2][3][8], weight[8][4];
    for (int i = 0; i < 24; i++) data[i] = (float)(i % 7) - 3;
    assert_weft_ok(
        weft_plan_create(&plan, outputs, 2, &(weft_plan_options){WEFT_PLAN_OPTIONS_INIT, .batch = 2}));
    assert_weft_ok(weft_plan_write(plan, x, data, sizeof data));
    assert_weft_ok(weft_plan_write(plan, t, (const int32_t[]){-100, -100, -100, -100, -100, -100}, 24));
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_read(plan, outputs[0], &loss, sizeof loss));
    assert_true(loss == 0);
    assert_weft_ok(weft_plan_read(plan, outputs[1], logits, sizeof logits));
    assert_weft_ok(
        weft_tensor_read(weft_graph_find(graph, "sampled_softmax1.weight"), weight, sizeof weight));
    double wanted = 0;
    for (int i = 0; i < 4; i++) wanted += (double)data[20 + i] * (double)weight[7][i];
    assert_true(fabs((double)logits[1][2][7] - wanted) < 1e-5);
    for (int32_t bad = -1; bad <= 8; bad += 9) {
        assert_weft_ok(weft_plan_write(plan, t, (const int32_t[]){1, -100, bad, 1, 1, 1}, 24));
        assert_weft_ok(weft_plan_run(plan));
        assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_plan_read(plan, outputs[0], &loss, sizeof loss),
            bad < 0 ? "sampled_softmax: a label is -1, not in 0..7"
                    : "sampled_softmax: a label is 8, not in 0..7");
        assert_true(isnan(loss));
    }
    weft_plan_release(plan);
    weft_graph_release(graph);
}

/* ---- draws ---- */

enum { DRAWS = 1 << 16, RUNS = 4 };

/* RUNS runs of DRAWS draws; the caller frees them. */
static int32_t *draws_of(int64_t classes, weft_class_proposal proposal) {
    weft_graph *const graph = test_graph();
    weft_tensor *const t = wi_sampled_classes(graph, classes, DRAWS, proposal);
    weft_plan *plan;
    int32_t *const all = malloc(RUNS * DRAWS * sizeof *all);
    assert_non_null(all);
    assert_weft_ok(weft_plan_create(&plan, &t, 1, NULL));
    for (int run = 0; run < RUNS; run++) {
        assert_weft_ok(weft_plan_run(plan));
        assert_weft_ok(weft_plan_read(plan, t, all + run * DRAWS, DRAWS * sizeof *all));
    }
    weft_plan_release(plan);
    weft_graph_release(graph);
    for (int i = 0; i < RUNS * DRAWS; i++) assert_true(all[i] >= 0 && all[i] < classes);
    return all;
}

static double share_below(double end, int64_t classes, weft_class_proposal proposal) {
    return proposal == WEFT_PROPOSAL_UNIFORM ? end / (double)classes : log1p(end) / log1p((double)classes);
}

/* The numbers of draws in `cells` ranges of classes have the proposal's probabilities: chi-squared with cells - 1 degrees of
 * freedom, beyond 5 standard deviations by chance once in a million. */
static void assert_distributed(
    const int32_t *all, int64_t classes, weft_class_proposal proposal, int cells, const char *what) {
    double found[64] = {0}, squares = 0;
    int64_t ends[64];
    for (int i = 0; i < cells; i++)
        ends[i] = proposal == WEFT_PROPOSAL_UNIFORM
                      ? classes * (i + 1) / cells
                      : (int64_t)ceil(expm1(log1p((double)classes) * (i + 1) / cells) - 1e-6);
    for (int i = 0; i < RUNS * DRAWS; i++) {
        int cell = 0;
        while (all[i] >= ends[cell]) cell++;
        found[cell]++;
    }
    for (int i = 0; i < cells; i++) {
        const double begin = share_below(i ? (double)ends[i - 1] : 0, classes, proposal);
        const double wanted = (share_below((double)ends[i], classes, proposal) - begin) * RUNS * DRAWS;
        if (wanted > 0) squares += (found[i] - wanted) * (found[i] - wanted) / wanted;
        if (!(wanted > 0)) assert_true(found[i] == 0);
    }
    if (squares > cells + 5 * sqrt(2.0 * cells))
        fail_msg("%s: chi-squared is %g of %d", what, squares, cells);
}

/* Neighbouring classes are equally frequent: the low six bits of draws of the last half of the classes. */
static void assert_fine(const int32_t *all, int64_t classes) {
    double found[64] = {0}, count = 0, squares = 0;
    for (int i = 0; i < RUNS * DRAWS; i++)
        if (all[i] >= classes / 2) found[all[i] & 63]++, count++;
    for (int i = 0; i < 64; i++) squares += (found[i] - count / 64) * (found[i] - count / 64) / (count / 64);
    if (squares > 64 + 5 * sqrt(128.0)) fail_msg("low bits: chi-squared is %g of 64", squares);
}

static void test_draws(void **state) {
    (void)state;
    const int64_t sizes[] = {2, 3, 1000, 1000003, (1 << 30) - 5};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int uniform = 0; uniform < 2; uniform++) {
            const weft_class_proposal proposal = uniform ? WEFT_PROPOSAL_UNIFORM : WEFT_PROPOSAL_LOG_UNIFORM;
            int32_t *const all = draws_of(sizes[i], proposal), *const again = draws_of(sizes[i], proposal);
            const int cells = sizes[i] < 64 ? (int)sizes[i] : 64;
            assert_distributed(all, sizes[i], proposal, cells, uniform ? "uniform" : "log-uniform");
            if (sizes[i] > 1 << 20) assert_fine(all, sizes[i]);
            assert_memory_equal(all, again, RUNS * DRAWS * sizeof *all);
            if (sizes[i] > 100) assert_memory_not_equal(all, all + DRAWS, DRAWS * sizeof *all);
            free(all), free(again);
        }
}

/* The loss has its minimum where the logits are those of the full softmax: the bias learns the logarithms of the classes'
 * frequencies, though the proposal is another distribution. */
static void test_learns_frequencies(void **state) {
    (void)state;
    enum { N = 8, BATCH = 64 };
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_full(graph, WEFT_F32, 0, 2, (const int64_t[]){BATCH, 1});
    weft_tensor *const t = weft_input_shape(graph, "t", WEFT_I32, 1, (const int64_t[]){BATCH});
    weft_sampled_softmax *const layer = weft_sampled_softmax_layer(graph, 1, N, 4, OPTIONS(.bias = true));
    weft_tensor *const loss = weft_sampled_softmax_loss(layer, x, t);
    weft_tensor *const step = weft_train_step(loss, weft_adagrad(0.3f), NULL);
    weft_plan *plan;
    int32_t targets[BATCH];
    float bias[N];
    double sum = 0;
    for (int i = 0; i < BATCH; i++) targets[i] = i < 32 ? 7 : i < 48 ? 4 : i % 7; /* 7 half of the times */
    assert_weft_ok(weft_plan_create(&plan, &step, 1, NULL));
    assert_weft_ok(weft_plan_write(plan, t, targets, sizeof targets));
    for (int i = 0; i < 800; i++) assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_tensor_read(weft_graph_find(graph, "sampled_softmax1.bias"), bias, sizeof bias));
    for (int i = 0; i < N; i++) sum += exp((double)bias[i]);
    for (int i = 0; i < N; i++) {
        double share = 0;
        for (int k = 0; k < BATCH; k++) share += targets[k] == i ? 1.0 / BATCH : 0;
        const double found = exp((double)bias[i]) / sum;
        if (!(fabs(found - share) < 0.03)) fail_msg("class %d has %g, expected %g", i, found, share);
    }
    weft_plan_release(plan);
    weft_graph_release(graph);
}

/* ---- weight tying, and bad input ---- */

static void test_given_weight(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const token = weft_input(graph, "token", WEFT_I32), *const t =
                                                                         weft_input(graph, "t", WEFT_I32);
    weft_tensor *const table = weft_parameter(graph, "table", weft_init_normal(0, 1), 9, 4);
    weft_sampled_softmax *const layer = weft_sampled_softmax_layer(graph, 4, 9, 3, OPTIONS(.weight = table));
    weft_tensor *const loss = weft_sampled_softmax_loss(layer, weft_embedding_with(table, token), t);
    weft_tensor *const step = weft_train_step(loss, weft_adam(0.1f), NULL);
    weft_plan *plan;
    assert_int_equal(weft_graph_parameter_count(graph), 1);
    assert_weft_ok(
        weft_plan_create(&plan, &step, 1, &(weft_plan_options){WEFT_PLAN_OPTIONS_INIT, .batch = 2}));
    float before[9][4], after[9][4];
    assert_weft_ok(weft_tensor_read(table, before, sizeof before));
    assert_weft_ok(weft_plan_write(plan, token, (const int32_t[]){1, 2}, 8));
    assert_weft_ok(weft_plan_write(plan, t, (const int32_t[]){8, 8}, 8));
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_tensor_read(table, after, sizeof after));
    int changed = 0;
    for (int row = 0; row < 9; row++) changed += memcmp(before[row], after[row], sizeof after[row]) != 0;
    assert_in_range(changed, 3, 6); /* two tokens, a label, at most three draws */
    weft_plan_release(plan);
    weft_graph_release(graph);
}

static void assert_refused(weft_status status, const char *line, int64_t width, int64_t classes,
    int64_t samples, weft_sampled_softmax_options options) {
    weft_graph *const graph = test_graph();
    if (options.weight) options.weight = weft_parameter(graph, "table", weft_zeros(), 3, 4);
    assert_null(weft_sampled_softmax_layer(graph, width, classes, samples, &options));
    assert_weft_fails(status, weft_graph_status(graph), line);
    weft_graph_release(graph);
}

static void test_bad_input(void **state) {
    (void)state;
    weft_graph *graph = test_graph();
    weft_tensor *const some = weft_parameter(graph, "some", weft_zeros(), 3, 4);
    const weft_initialiser zeros = weft_zeros();
    const weft_status argument = WEFT_ERROR_ARGUMENT;
    assert_refused(argument, "width is 0 and classes is 8", 0, 8, 3, *OPTIONS(0));
    assert_refused(argument, "classes is 1, expected 1 or more, and 2 to 1073741824", 4, 1, 3, *OPTIONS(0));
    assert_refused(argument, "samples is 0, expected 1 to 16777216", 4, 8, 0, *OPTIONS(0));
    assert_refused(argument, "proposal is 7", 4, 8, 3, *OPTIONS(.proposal = (weft_class_proposal)7));
    assert_refused(argument, "the option initialiser must not be set", 4, 3, 3,
        *OPTIONS(.weight = some, .initialiser = &zeros));
    assert_refused(
        WEFT_ERROR_SHAPE, "the weight is f32 (3, 4), expected f32 (8, 4)", 4, 8, 3, *OPTIONS(.weight = some));
    assert_refused(argument, "the options have struct_size 1", 4, 8, 3,
        (weft_sampled_softmax_options){.struct_size = 1});
    weft_sampled_softmax *const layer = weft_sampled_softmax_layer(graph, 4, 8, 3, NULL);
    assert_null(weft_sampled_softmax_loss(
        layer, weft_input(graph, "x", WEFT_F32, 3, 4), weft_input(graph, "t", WEFT_I32, 4)));
    assert_weft_fails(WEFT_ERROR_SHAPE, weft_graph_status(graph), "weft_sampled_softmax_loss",
        "labels are i32 (batch, 4), expected i32 of the shape of x (batch, 3, 4) without its last axis");
    weft_graph_release(graph);
    assert_null(weft_sampled_softmax_layer(NULL, 4, 8, 3, NULL));
    static const char *const lines[] = {
        "the weight belongs to another graph", "the weight must be a parameter"};
    for (int i = 0; i < 2; i++) {
        weft_graph *const own = test_graph(), *const other = test_graph();
        weft_tensor *const weight = weft_parameter(i ? own : other, "weight", weft_zeros(), 8, 4);
        assert_null(
            weft_sampled_softmax_layer(own, 4, 8, 3, OPTIONS(.weight = i ? weft_relu(weight) : weight)));
        assert_weft_fails(argument, weft_graph_status(own), lines[i]);
        weft_graph_release(own);
        weft_graph_release(other);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_like_reference),
        cmocka_unit_test(test_changes_touched_rows),
        cmocka_unit_test(test_all_hits),
        cmocka_unit_test(test_ignored_labels),
        cmocka_unit_test(test_draws),
        cmocka_unit_test(test_learns_frequencies),
        cmocka_unit_test(test_given_weight),
        cmocka_unit_test(test_bad_input),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
