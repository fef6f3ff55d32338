/* Metrics given to a trainer are those of the same outputs on the host: in training, validation and
 * evaluation, over whole and smaller batches, for classes, sequences of classes and numbers. */
#include "support/checks.h"
#include "support/fixture.h"
#include "support/scratch.h"
#include "support/two_classes.h"
#include <math.h>
#include <stdio.h>

enum { METRICS = 6 };

static void list_metrics(weft_metric metrics[METRICS]) {
    metrics[0] = weft_metric_accuracy();
    metrics[1] = weft_metric_f1(WEFT_AVERAGE_MACRO);
    metrics[2] = weft_metric_recall(WEFT_AVERAGE_BINARY);
    metrics[3] = weft_metric_confusion();
    metrics[4] = weft_metric_perplexity();
    metrics[5] = weft_metric_top_k(2);
}

typedef struct history {
    double training[METRICS], validation[METRICS];
    size_t count;
    double loss, accuracy;
} history;

static bool note_epoch(void *user, const weft_epoch *state) {
    history *const it = user;
    it->count = state->metric_count;
    memcpy(it->training, state->training_metrics, state->metric_count * sizeof(double));
    memcpy(it->validation, state->validation_metrics, state->metric_count * sizeof(double));
    it->loss = state->validation_loss;
    it->accuracy = state->validation_accuracy;
    return true;
}

static void read_values(const network *net, const char *name, float *values, size_t count) {
    assert_ok(weft_tensor_read(weft_graph_find(net->graph, name), values, count * sizeof *values));
}

/* The network computed on the host, and the metric alone. */
static double alone(const network *net, const problem *p, weft_metric metric) {
    float w1[8][2], b1[8], w2[2][8], b2[2], logits[POINTS][2];
    weft_metric_state *it = NULL;
    double value = 0.0;
    read_values(net, "linear1.weight", &w1[0][0], 16);
    read_values(net, "linear1.bias", b1, 8);
    read_values(net, "linear2.weight", &w2[0][0], 16);
    read_values(net, "linear2.bias", b2, 2);
    for (size_t i = 0; i < POINTS; i++) {
        double sums[2] = {(double)b2[0], (double)b2[1]};
        for (size_t h = 0; h < 8; h++) {
            const float hidden = tanhf(b1[h] + w1[h][0] * p->xs[i][0] + w1[h][1] * p->xs[i][1]);
            for (size_t c = 0; c < 2; c++) sums[c] += (double)w2[c][h] * (double)hidden;
        }
        for (size_t c = 0; c < 2; c++) logits[i][c] = (float)sums[c];
    }
    assert_ok(weft_metric_create(&it, test_context(), &metric, 2));
    assert_ok(weft_metric_update(it, POINTS, &logits[0][0], p->labels));
    assert_ok(weft_metric_result(it, &value));
    weft_metric_release(it);
    return value;
}

static void assert_near(double got, double expected, const char *what, size_t index) {
    if (fabs(got - expected) <= 1e-5 * fmax(1.0, fabs(expected))) return;
    print_error("%s, metric %zu: %.9g, expected %.9g\n", what, index, got, expected);
    fail();
}

static void they_are_those_of_the_host(void **state) {
    (void)state;
    const problem p = make_problem();
    problem other = p; /* a quarter of the labels is wrong */
    for (int i = 0; i < POINTS; i += 4) other.labels[i] = 1 - other.labels[i];
    const network net = make_network(test_context());
    weft_dataset *const data = make_dataset(test_context(), &p), *const wrong =
                                                                     make_dataset(test_context(), &other);
    weft_metric metrics[METRICS];
    history it = {0};
    list_metrics(metrics);
    weft_trainer *const trainer = make_trainer(
        &net, (weft_trainer_options){.optimizer = weft_sgd_momentum(0.0f, 0.9f, 0.0f), /* stays */
                  .epochs = 2,
                  .logits = net.logits,
                  .validation = wrong,
                  .metrics = metrics,
                  .metric_count = METRICS,
                  .training_metrics = true,
                  .on_epoch = note_epoch,
                  .user = &it});
    assert_null(weft_trainer_metric(trainer, 0, false)); /* nothing yet */
    memset(metrics, 0, sizeof metrics);                  /* they were copied */
    assert_ok(weft_trainer_run(trainer, data));
    assert_int_equal(it.count, METRICS);
    list_metrics(metrics);
    for (size_t i = 0; i < METRICS; i++) {
        assert_near(it.training[i], alone(&net, &p, metrics[i]), "training", i);
        assert_near(it.validation[i], alone(&net, &other, metrics[i]), "validation", i);
    }
    assert_true(it.accuracy == it.validation[0]);
    assert_near(it.validation[4], exp(it.loss), "perplexity and loss", 4);

    double matrix[4], value = 0.0;
    size_t count = 0;
    assert_ok(weft_metric_values(weft_trainer_metric(trainer, 3, false), matrix, 4, &count));
    assert_int_equal(count, 4);
    assert_true(matrix[0] + matrix[1] + matrix[2] + matrix[3] == POINTS);
    assert_ok(weft_metric_result(weft_trainer_metric(trainer, 1, true), &value));
    assert_true(value == it.training[1]);
    assert_ok(weft_trainer_evaluate(trainer, data, NULL, NULL));
    assert_ok(weft_metric_result(weft_trainer_metric(trainer, 1, false), &value));
    assert_near(value, it.training[1], "evaluation", 1);
    assert_null(weft_trainer_metric(trainer, METRICS, false));
    assert_null(weft_trainer_metric(NULL, 0, false));
    weft_trainer_release(trainer);
    weft_dataset_release(data);
    weft_dataset_release(wrong);
    weft_graph_release(net.graph);
}

/* Two outputs: numbers (batch, 3) against a column of the dataset that feeds nothing, and logits of sequences
 * (batch, 2, 3) against labels (2). */
static void numbers_and_sequences(void **state) {
    (void)state;
    enum { ROWS = 11 };
    float xs[ROWS][6], ys[ROWS][3];
    int32_t labels[ROWS][2];
    test_random random = test_random_named("measured", 2);
    for (size_t i = 0; i < ROWS; i++) {
        for (size_t c = 0; c < 6; c++) xs[i][c] = (float)test_random_between(&random, -1.0, 1.0);
        for (size_t c = 0; c < 3; c++) ys[i][c] = (float)test_random_between(&random, -1.0, 1.0);
        for (size_t t = 0; t < 2; t++) labels[i][t] = (int32_t)test_random_below(&random, 3);
    }
    const weft_column columns[] = {{.name = "x", .dtype = WEFT_F32, .rank = 1, .dims = {6}, .data = xs},
        {.name = "y", .dtype = WEFT_F32, .rank = 1, .dims = {3}, .data = ys},
        {.name = "label", .dtype = WEFT_I32, .rank = 1, .dims = {2}, .data = labels}};
    weft_dataset *data = NULL;
    weft_trainer *trainer = NULL;
    assert_ok(weft_dataset_from_memory(&data, test_context(), ROWS, columns, 3));
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, 6);
    weft_tensor *const moved = weft_add(x, weft_parameter(graph, "p", weft_zeros(), 6));
    weft_tensor *const logits = weft_reshape(moved, WEFT_BATCH, 2, 3);
    weft_tensor *const numbers = weft_slice(moved, 1, 0, 3);
    const weft_metric metrics[] = {{.kind = WEFT_R_SQUARED, .output = numbers, .target = "y"},
        {.kind = WEFT_MEAN_ABSOLUTE_ERROR, .output = numbers, .target = "y"}, weft_metric_accuracy(),
        {.kind = WEFT_PERPLEXITY, .target = "label"}};
    const weft_trainer_options options = {
        WEFT_TRAINER_OPTIONS_INIT, .batch = 4, .output = logits, .metrics = metrics, .metric_count = 4};
    assert_ok(weft_trainer_create(&trainer, weft_mean(weft_square(moved)), &options));
    assert_ok(weft_trainer_evaluate(trainer, data, NULL, NULL));
    for (size_t i = 0; i < 4; i++) {
        weft_metric_state *it = NULL;
        double got = 0.0, expected = 0.0;
        assert_ok(weft_metric_create(&it, NULL, &metrics[i], 3));
        for (size_t row = 0; row < ROWS; row++)
            assert_ok(i < 2 ? weft_metric_update_values(it, 1, xs[row], ys[row])
                            : weft_metric_update(it, 2, xs[row], labels[row]));
        assert_ok(weft_metric_result(it, &expected));
        assert_ok(weft_metric_result(weft_trainer_metric(trainer, i, false), &got));
        assert_true(fabs(got - expected) <= 1e-12 * fabs(expected)); /* the outputs are the inputs, exactly */
        weft_metric_release(it);
    }
    weft_trainer_release(trainer);
    weft_dataset_release(data);
    weft_graph_release(graph);
}

/* A metric called accuracy takes the place of the logits' accuracy, and early stopping can watch any of them.
 */
static void they_can_be_watched(void **state) {
    (void)state;
    const problem p = make_problem();
    const network net = make_network(test_context());
    weft_dataset *const data = make_dataset(test_context(), &p);
    const weft_metric metrics[] = {weft_metric_f1(WEFT_AVERAGE_MICRO), weft_metric_accuracy()};
    static const char *const monitors[] = {"validation_f1", "f1", "validation_accuracy", "accuracy"};
    for (size_t i = 0; i < 4; i++) {
        weft_training_info info;
        weft_trainer *const trainer =
            make_trainer(&net, (weft_trainer_options){.optimizer = weft_sgd_momentum(0.0f, 0.9f, 0.0f),
                                   .epochs = 5,
                                   .logits = net.logits,
                                   .validation = data,
                                   .metrics = metrics,
                                   .metric_count = 2,
                                   .training_metrics = true,
                                   .early_stopping = {.monitor = monitors[i], .patience = 2}});
        assert_ok(weft_trainer_run(trainer, data));
        weft_trainer_get_info(trainer, &info);
        assert_true(info.stopped_early && info.best_epoch == 0 && info.steps == 3 * 13);
        assert_near(info.best, alone(&net, &p, metrics[1]), monitors[i], i);
        weft_trainer_release(trainer);
    }
    weft_dataset_release(data);
    weft_graph_release(net.graph);
}

static void misuse_is_refused(void **state) {
    (void)state;
    const problem p = make_problem();
    const network net = make_network(test_context()), other = make_network(test_context());
    weft_dataset *const data = make_dataset(test_context(), &p);
    weft_tensor *const whole = weft_parameter(other.graph, "whole", weft_zeros(), 3);
    weft_trainer *trainer = NULL;
    const struct {
        weft_metric metrics[2];
        size_t count;
        bool without_logits;
        weft_tensor *loss;
        weft_status status;
        const char *part;
    } rows[] = {
        {{{.kind = (weft_metric_kind)77}}, 1, false, net.loss, WEFT_ERROR_ARGUMENT, "kind is 77"},
        {{weft_metric_accuracy()}, 1, true, net.loss, WEFT_ERROR_ARGUMENT, "'accuracy' has no output"},
        {{weft_metric_f1(0), weft_metric_f1(1)}, 2, false, net.loss, WEFT_ERROR_ARGUMENT,
            "two values are called 'validation_f1'"},
        {{{.kind = WEFT_F1, .name = "loss"}}, 1, false, net.loss, WEFT_ERROR_ARGUMENT,
            "two values are called 'validation_loss'"},
        {{{.kind = WEFT_ACCURACY, .output = other.logits}}, 1, false, net.loss, WEFT_ERROR_ARGUMENT,
            "different graphs"},
        {{{.kind = WEFT_ACCURACY, .output = whole}}, 1, true, other.loss, WEFT_ERROR_SHAPE, "(batch, ...)"},
        {{weft_metric_top_k(3)}, 1, false, net.loss, WEFT_ERROR_ARGUMENT, "k is 3 of only 2 classes"},
        {{weft_metric_accuracy()}, WEFT_MAX_METRICS + 1, false, net.loss, WEFT_ERROR_ARGUMENT,
            "metric_count is 17"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const weft_trainer_options options = {WEFT_TRAINER_OPTIONS_INIT,
            .logits = rows[i].without_logits ? NULL : net.logits, .metrics = rows[i].metrics,
            .metric_count = rows[i].count, .validation = data};
        assert_fails(weft_trainer_create(&trainer, rows[i].loss, &options), rows[i].status, rows[i].part);
        assert_null(trainer);
    }
    const struct {
        weft_metric metric;
        weft_status status;
        const char *part;
    } targets[] = {
        {{.kind = WEFT_ACCURACY, .target = "class"}, WEFT_ERROR_ARGUMENT,
            "'class' of the metric 'accuracy' is not a column"},
        {{.kind = WEFT_ACCURACY, .target = "x"}, WEFT_ERROR_DTYPE,
            "'x' of the metric 'accuracy' is f32, expected i32 labels"},
        {{.kind = WEFT_R_SQUARED}, WEFT_ERROR_DTYPE,
            "'label' of the metric 'r_squared' is i32, expected f32"},
        {{.kind = WEFT_R_SQUARED, .output = weft_slice(net.logits, 1, 0, 1), .target = "x"}, WEFT_ERROR_SHAPE,
            "'x' of the metric 'r_squared' is (batch, 2), but its output needs (batch, 1)"},
    };
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        trainer = make_trainer(&net, (weft_trainer_options){.logits = net.logits,
                                         .metrics = &targets[i].metric,
                                         .metric_count = 1,
                                         .training_metrics = true});
        assert_fails(weft_trainer_evaluate(trainer, data, NULL, NULL), targets[i].status, targets[i].part);
        weft_trainer_release(trainer);
    }
    weft_dataset_release(data);
    weft_graph_release(net.graph);
    weft_graph_release(other.graph);
}

typedef struct watch {
    scratch_allocator allocator;
    long made; /* after the first epoch */
    size_t checked;
} watch;

static bool nothing_was_allocated(void *user, const weft_epoch *state) {
    watch *const it = user;
    if (state->epoch == 0) it->made = atomic_load(&it->allocator.made);
    assert_int_equal(atomic_load(&it->allocator.made), it->made);
    it->checked++;
    return true;
}

/* Measuring, keeping the best weights and logging included. */
static void steps_allocate_nothing(void **state) {
    (void)state;
    const problem p = make_problem();
    watch it = {0};
    char path[4096];
    snprintf(path, sizeof path, "%s", test_path("steps.jsonl"));
    scratch_allocator_init(&it.allocator, -1);
    weft_context *const own = test_context_open(
        (weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .allocator = &it.allocator.hooks});
    const network net = make_network(own);
    weft_dataset *const data = make_dataset(own, &p);
    weft_metric metrics[METRICS];
    list_metrics(metrics);
    weft_trainer *const trainer = make_trainer(&net, (weft_trainer_options){.epochs = 4,
                                                         .logits = net.logits,
                                                         .validation = data,
                                                         .metrics = metrics,
                                                         .metric_count = METRICS,
                                                         .training_metrics = true,
                                                         .early_stopping = {.restore_best = true},
                                                         .json_log = path,
                                                         .log_steps = true,
                                                         .on_step = nothing_was_allocated,
                                                         .on_epoch = nothing_was_allocated,
                                                         .user = &it});
    assert_ok(weft_trainer_run(trainer, data));
    assert_int_equal(it.checked, 4 * 13 + 4);
    weft_trainer_release(trainer);
    weft_dataset_release(data);
    weft_graph_release(net.graph);
    weft_context_release(own);
    assert_int_equal(atomic_load(&it.allocator.live), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_are_those_of_the_host),
        cmocka_unit_test(numbers_and_sequences),
        cmocka_unit_test(they_can_be_watched),
        cmocka_unit_test(misuse_is_refused),
        cmocka_unit_test(steps_allocate_nothing),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
