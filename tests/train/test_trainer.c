/* The trainer: it learns, it reports, it stops when told to, and when a loss is not finite. */
#include "support/checks.h"
#include "support/fixture.h"
#include "support/two_classes.h"
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

/* ---- learning ---- */

static void a_line_is_fitted(void **state) {
    (void)state;
    float xs[POINTS], ys[POINTS], w = 0.0f, b = 0.0f;
    for (int i = 0; i < POINTS; i++) {
        xs[i] = (float)i / POINTS;
        ys[i] = 3.0f * xs[i] - 2.0f;
    }
    const weft_column columns[] = {{.name = "x", .dtype = WEFT_F32, .rank = 1, .dims = {1}, .data = xs},
        {.name = "y", .dtype = WEFT_F32, .rank = 1, .dims = {1}, .data = ys}};
    weft_dataset *dataset = NULL;
    weft_trainer *trainer = NULL;
    weft_graph *graph = NULL;
    assert_ok(weft_dataset_from_memory(&dataset, test_context(), POINTS, columns, 2));
    assert_ok(weft_graph_create(&graph, test_context()));
    weft_tensor *const loss =
        weft_mse(weft_linear(weft_input(graph, "x", WEFT_F32, 1), 1), weft_input(graph, "y", WEFT_F32, 1));
    const weft_trainer_options options = {WEFT_TRAINER_OPTIONS_INIT,
        .optimizer = weft_sgd_momentum(0.1f, 0.9f, 0.0f), .epochs = 60, .batch = 16};
    assert_ok(weft_trainer_create(&trainer, loss, &options));
    assert_ok(weft_trainer_run(trainer, dataset));
    assert_ok(weft_tensor_read(weft_graph_find(graph, "linear1.weight"), &w, sizeof w));
    assert_ok(weft_tensor_read(weft_graph_find(graph, "linear1.bias"), &b, sizeof b));
    assert_true(fabsf(w - 3.0f) < 0.01f);
    assert_true(fabsf(b + 2.0f) < 0.01f);
    weft_trainer_release(trainer);
    weft_graph_release(graph);
    weft_dataset_release(dataset);
}

typedef struct reports {
    weft_epoch epochs[16], last_step;
    size_t epoch_count, step_count, stop_at_step, stop_at_epoch;
} reports;

static bool on_epoch(void *user, const weft_epoch *state) {
    reports *const it = user;
    it->epochs[it->epoch_count++] = *state;
    return it->epoch_count != it->stop_at_epoch;
}

static bool on_step(void *user, const weft_epoch *state) {
    reports *const it = user;
    it->step_count++;
    assert_int_equal(state->step, it->step_count);
    it->last_step = *state;
    return it->step_count != it->stop_at_step;
}

static void progress_is_reported(void **state) {
    (void)state;
    const problem p = make_problem();
    const network net = make_network(test_context());
    reports it = {0};
    weft_dataset *const dataset = make_dataset(test_context(), &p);
    weft_trainer *const trainer = make_trainer(&net, (weft_trainer_options){.epochs = 5,
                                                         .logits = net.logits,
                                                         .validation = dataset,
                                                         .on_epoch = on_epoch,
                                                         .on_step = on_step,
                                                         .user = &it});
    assert_ok(weft_trainer_run(trainer, dataset));
    assert_int_equal(it.epoch_count, 5);
    assert_int_equal(it.step_count, 5 * 13);
    for (size_t i = 0; i < 5; i++) {
        const weft_epoch *const e = &it.epochs[i];
        assert_int_equal(e->epoch, i);
        assert_int_equal(e->epochs, 5);
        assert_int_equal(e->step, (i + 1) * 13);
        assert_int_equal(e->steps_per_epoch, 13);
        assert_int_equal(e->step_in_epoch, 13);
        assert_true(e->loss > 0.0 && isfinite(e->loss));
        assert_true(e->validation_loss > 0.0 && isfinite(e->validation_loss));
        assert_true(i == 0 || e->loss < it.epochs[i - 1].loss);
        assert_true(i == 0 || e->seconds >= it.epochs[i - 1].seconds);
    }
    assert_true(it.epochs[4].accuracy == 1.0);
    assert_true(it.epochs[4].validation_accuracy == 1.0);

    double loss = 0.0, accuracy = 0.0;
    weft_training_info info;
    assert_ok(weft_trainer_evaluate(trainer, dataset, &loss, &accuracy));
    assert_true(loss == it.epochs[4].validation_loss && accuracy == 1.0);
    weft_trainer_get_info(trainer, &info);
    assert_int_equal(info.steps, 65);
    assert_true(info.not_finite_step == SIZE_MAX);
    assert_true(info.first_step_seconds > 0.0 && info.seconds > 0.0);
    assert_true(info.median_step_seconds > 0.0 && info.median_step_seconds < info.seconds);

    assert_ok(weft_trainer_run(trainer, dataset)); /* goes on */
    weft_trainer_get_info(trainer, &info);
    assert_int_equal(info.steps, 130);
    assert_true(it.epochs[9].loss < it.epochs[4].loss);
    weft_trainer_release(trainer);
    weft_dataset_release(dataset);
    weft_graph_release(net.graph);
}

static void mixed_precision_learns_too(void **state) {
    (void)state;
    const problem p = make_problem();
    const network net = make_network(test_context()), wide = make_network(test_context());
    reports narrow_epochs = {0}, wide_epochs = {0};
    double loss = 0.0, accuracy = 0.0;
    weft_dataset *const dataset = make_dataset(test_context(), &p);
    weft_trainer *const trainer = make_trainer(&net, (weft_trainer_options){.epochs = 5,
                                                         .logits = net.logits,
                                                         .on_epoch = on_epoch,
                                                         .user = &narrow_epochs,
                                                         .precision = WEFT_PRECISION_BF16});
    weft_trainer *const other =
        make_trainer(&wide, (weft_trainer_options){.epochs = 5, .on_epoch = on_epoch, .user = &wide_epochs});
    assert_ok(weft_trainer_run(trainer, dataset));
    assert_ok(weft_trainer_run(other, dataset));
    assert_ok(weft_trainer_evaluate(trainer, dataset, &loss, &accuracy));
    assert_true(accuracy == 1.0);
    const double narrow_loss = narrow_epochs.epochs[4].loss, wide_loss = wide_epochs.epochs[4].loss;
    assert_true(
        narrow_loss != wide_loss && fabs(narrow_loss - wide_loss) < 0.05 * wide_epochs.epochs[0].loss);
    weft_trainer_release(trainer);
    weft_trainer_release(other);
    weft_dataset_release(dataset);
    weft_graph_release(net.graph);
    weft_graph_release(wide.graph);
}

static void without_logits_there_is_no_accuracy(void **state) {
    (void)state;
    const problem p = make_problem();
    const network net = make_network(test_context());
    reports it = {0};
    double loss = 0.0, accuracy = 0.0;
    weft_dataset *const dataset = make_dataset(test_context(), &p);
    weft_trainer *const trainer =
        make_trainer(&net, (weft_trainer_options){.on_epoch = on_epoch, .user = &it});
    assert_ok(weft_trainer_run(trainer, dataset));
    assert_true(isnan(it.epochs[0].accuracy) && isnan(it.epochs[0].validation_accuracy));
    assert_true(isnan(it.epochs[0].validation_loss));
    assert_ok(weft_trainer_evaluate(trainer, dataset, &loss, &accuracy));
    assert_true(loss > 0.0 && isnan(accuracy));
    assert_ok(weft_trainer_evaluate(trainer, dataset, NULL, NULL));
    weft_trainer_release(weft_trainer_retain(trainer));
    weft_trainer_release(trainer);
    weft_trainer_release(NULL);
    weft_dataset_release(dataset);
    weft_graph_release(net.graph);
}

/* Logits that are the input itself: loss and accuracy can be computed by hand, over uneven batches. */
static void evaluation_is_exact(void **state) {
    (void)state;
    enum { ROWS = 13 };
    float rows[ROWS][3];
    int32_t labels[ROWS];
    double expected = 0.0, loss = 0.0, accuracy = 0.0;
    size_t correct = 0;
    for (int i = 0; i < ROWS; i++) {
        double sum = 0.0;
        int best = 0;
        for (int c = 0; c < 3; c++) {
            rows[i][c] = (float)((i * 5 + c * 7) % 11) * 0.3f;
            sum += exp((double)rows[i][c]);
            if (rows[i][c] > rows[i][best]) best = c;
        }
        labels[i] = i % 3;
        correct += labels[i] == best;
        expected += log(sum) - (double)rows[i][labels[i]];
    }
    const weft_column columns[] = {{.name = "x", .dtype = WEFT_F32, .rank = 1, .dims = {3}, .data = rows},
        {.name = "label", .dtype = WEFT_I32, .data = labels}};
    weft_dataset *dataset = NULL;
    network net;
    assert_ok(weft_dataset_from_memory(&dataset, test_context(), ROWS, columns, 2));
    assert_ok(weft_graph_create(&net.graph, test_context()));
    net.logits =
        weft_add(weft_input(net.graph, "x", WEFT_F32, 3), weft_parameter(net.graph, "p", weft_zeros(), 3));
    net.loss = weft_cross_entropy(net.logits, weft_input(net.graph, "label", WEFT_I32));
    weft_trainer *const trainer =
        make_trainer(&net, (weft_trainer_options){.batch = 5, .logits = net.logits});
    assert_ok(weft_trainer_evaluate(trainer, dataset, &loss, &accuracy));
    assert_true(fabs(loss - expected / ROWS) < 1e-6);
    assert_true(correct > 0 && correct < ROWS && accuracy == (double)correct / ROWS);
    weft_trainer_release(trainer);
    weft_dataset_release(dataset);
    weft_graph_release(net.graph);
}

/* ---- stopping ---- */

static void callbacks_stop_the_training(void **state) {
    (void)state;
    const problem p = make_problem();
    const network net = make_network(test_context());
    weft_dataset *const dataset = make_dataset(test_context(), &p);
    reports it = {.stop_at_step = 17};
    weft_trainer *trainer = make_trainer(
        &net, (weft_trainer_options){.epochs = 5, .on_step = on_step, .on_epoch = on_epoch, .user = &it});
    weft_training_info info;
    assert_ok(weft_trainer_run(trainer, dataset));
    weft_trainer_get_info(trainer, &info);
    assert_int_equal(info.steps, 17);
    assert_int_equal(it.epoch_count, 1);
    weft_trainer_release(trainer);

    it = (reports){.stop_at_epoch = 2};
    trainer = make_trainer(&net, (weft_trainer_options){.epochs = 5, .on_epoch = on_epoch, .user = &it});
    assert_ok(weft_trainer_run(trainer, dataset));
    weft_trainer_get_info(trainer, &info);
    assert_int_equal(info.steps, 26);
    weft_trainer_release(trainer);
    weft_dataset_release(dataset);
    weft_graph_release(net.graph);
}

static bool tell_the_other_thread(void *user, const weft_epoch *state) {
    (void)state;
    atomic_store((atomic_bool *)user, true);
    return true;
}

typedef struct canceller {
    weft_trainer *trainer;
    atomic_bool started;
} canceller;

static void *cancel(void *argument) {
    canceller *const it = argument;
    while (!atomic_load(&it->started)) continue;
    return weft_trainer_cancel(it->trainer) == WEFT_OK ? it : NULL;
}

static void another_thread_cancels(void **state) {
    (void)state;
    const problem p = make_problem();
    const network net = make_network(test_context());
    weft_dataset *const dataset = make_dataset(test_context(), &p);
    canceller it;
    atomic_init(&it.started, false);
    it.trainer = make_trainer(&net,
        (weft_trainer_options){.epochs = 1000000, .on_step = tell_the_other_thread, .user = &it.started});
    pthread_t thread;
    void *result = NULL;
    assert_int_equal(pthread_create(&thread, NULL, cancel, &it), 0);
    assert_fails(weft_trainer_run(it.trainer, dataset), WEFT_ERROR_CANCELLED, "cancelled after step");
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_ptr_equal(result, &it);
    weft_trainer_release(it.trainer);

    weft_trainer *const trainer = make_trainer(&net, (weft_trainer_options){.epochs = 2});
    assert_ok(weft_trainer_cancel(trainer)); /* before a run: that run is the one that is meant */
    assert_status(weft_trainer_run(trainer, dataset), WEFT_ERROR_CANCELLED);
    assert_ok(weft_trainer_run(trainer, dataset)); /* and the next goes on */
    assert_status(weft_trainer_cancel(NULL), WEFT_ERROR_ARGUMENT);
    weft_trainer_release(trainer);
    weft_dataset_release(dataset);
    weft_graph_release(net.graph);
}

/* ---- a loss that is not finite ---- */

static void nan_is_reported_with_its_step(void **state) {
    (void)state;
    static const struct { size_t example, step; } rows[] = {{0, 0}, {57, 7}, {99, 12}};
    for (size_t i = 0; i < 3; i++) {
        problem p = make_problem();
        p.xs[rows[i].example][1] = NAN;
        const network net = make_network(test_context());
        weft_dataset *const dataset = make_dataset(test_context(), &p);
        weft_training_info info;
        char line[64];
        weft_trainer *trainer = make_trainer(&net, (weft_trainer_options){.epochs = 3, .keep_order = true});
        snprintf(line, sizeof line, "at step %zu ", rows[i].step);
        assert_fails(weft_trainer_run(trainer, dataset), WEFT_ERROR_NOT_FINITE, line);
        weft_trainer_get_info(trainer, &info);
        assert_int_equal(info.not_finite_step, rows[i].step);
        weft_trainer_release(trainer);

        trainer = make_trainer(&net,
            (weft_trainer_options){.epochs = 3, .keep_order = true, .not_finite = WEFT_NOT_FINITE_CONTINUE});
        assert_ok(weft_trainer_run(trainer, dataset));
        weft_trainer_get_info(trainer, &info);
        assert_int_equal(info.steps, 39);
        assert_int_equal(info.not_finite_step, 0); /* the weights are NaN since the first run */
        weft_trainer_release(trainer);
        weft_dataset_release(dataset);
        weft_graph_release(net.graph);
    }
}

static void going_on_reports_the_first_step(void **state) {
    (void)state;
    problem p = make_problem();
    p.xs[57][1] = NAN;
    const network net = make_network(test_context());
    weft_dataset *const dataset = make_dataset(test_context(), &p);
    weft_training_info info;
    weft_trainer *const trainer = make_trainer(&net,
        (weft_trainer_options){.epochs = 2, .keep_order = true, .not_finite = WEFT_NOT_FINITE_CONTINUE});
    assert_ok(weft_trainer_run(trainer, dataset));
    weft_trainer_get_info(trainer, &info);
    assert_int_equal(info.not_finite_step, 7);
    assert_int_equal(info.steps, 26);
    weft_trainer_release(trainer);
    weft_dataset_release(dataset);
    weft_graph_release(net.graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_is_fitted),
        cmocka_unit_test(progress_is_reported),
        cmocka_unit_test(mixed_precision_learns_too),
        cmocka_unit_test(without_logits_there_is_no_accuracy),
        cmocka_unit_test(evaluation_is_exact),
        cmocka_unit_test(callbacks_stop_the_training),
        cmocka_unit_test(another_thread_cancels),
        cmocka_unit_test(nan_is_reported_with_its_step),
        cmocka_unit_test(going_on_reports_the_first_step),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
