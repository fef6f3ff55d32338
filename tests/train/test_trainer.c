/* The trainer: it learns, it reports, it stops when told to, it refuses what is wrong, it repeats itself to
 * the bit, and its steps allocate nothing. */
#include "support/checks.h"
#include "support/fixture.h"
#include "support/scratch.h"
#include "support/two_classes.h"
#include <math.h>
#include <pthread.h>
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

/* ---- what is refused ---- */

static void bad_labels_are_named(void **state) {
    (void)state;
    static const struct {
        size_t example;
        int32_t label;
        const char *part;
    } rows[] = {{0, 2, "label of example 0 is 2, not in 0..1"}, {99, -1, "label of example 99 is -1"},
        {50, INT32_MAX, "example 50 is 2147483647"}};
    for (size_t i = 0; i < 3; i++) {
        const problem good = make_problem();
        problem bad = good;
        bad.labels[rows[i].example] = rows[i].label;
        const network net = make_network(test_context());
        weft_dataset *const good_set = make_dataset(test_context(), &good), *const bad_set = make_dataset(
                                                                                test_context(), &bad);
        weft_trainer *trainer = make_trainer(&net, (weft_trainer_options){.epochs = 1});
        assert_ok(weft_trainer_run(trainer, good_set));
        assert_fails(weft_trainer_run(trainer, bad_set), WEFT_ERROR_ARGUMENT, rows[i].part);
        assert_non_null(strstr(weft_last_error(), "'label'"));
        assert_fails(weft_trainer_evaluate(trainer, bad_set, NULL, NULL), WEFT_ERROR_ARGUMENT, rows[i].part);
        assert_ok(weft_trainer_run(trainer, good_set));
        weft_trainer_release(trainer);
        trainer = make_trainer(&net, (weft_trainer_options){.validation = bad_set});
        assert_fails(weft_trainer_run(trainer, good_set), WEFT_ERROR_ARGUMENT, rows[i].part);
        weft_trainer_release(trainer);
        weft_dataset_release(good_set);
        weft_dataset_release(bad_set);
        weft_graph_release(net.graph);
    }
}

/* A label that the loss ignores is no bad one; others are, and so is it for a second loss that does not. */
static void ignored_labels_are_accepted(void **state) {
    (void)state;
    const problem good = make_problem();
    problem p = good;
    p.labels[3] = -1;
    network net = make_network(test_context());
    weft_tensor *const plain = net.loss, *const labels = weft_input(net.graph, "ignorable", WEFT_I32);
    const weft_class_loss_options options = {
        WEFT_CLASS_LOSS_OPTIONS_INIT, .ignore = true, .ignored_label = -1};
    net.loss = weft_cross_entropy_loss(net.logits, labels, &options);
    const weft_column columns[] = {{.name = "x", .dtype = WEFT_F32, .rank = 1, .dims = {2}, .data = p.xs},
        {.name = "label", .dtype = WEFT_I32, .data = good.labels},
        {.name = "ignorable", .dtype = WEFT_I32, .data = p.labels}};
    weft_dataset *set = NULL;
    assert_ok(weft_dataset_from_memory(&set, test_context(), POINTS, columns, 3));
    weft_trainer *trainer = make_trainer(&net, (weft_trainer_options){.epochs = 1});
    assert_ok(weft_trainer_run(trainer, set));
    weft_trainer_release(trainer);
    net.loss = weft_add(plain, weft_add(net.loss, weft_nll(net.logits, labels)));
    trainer = make_trainer(&net, (weft_trainer_options){.epochs = 1});
    assert_fails(weft_trainer_run(trainer, set), WEFT_ERROR_ARGUMENT, "label of example 3 is -1");
    weft_trainer_release(trainer);
    weft_dataset_release(set);
    p.labels[3] = -2;
    net.loss = weft_cross_entropy_loss(net.logits, labels, &options);
    assert_ok(weft_dataset_from_memory(&set, test_context(), POINTS, columns, 3));
    trainer = make_trainer(&net, (weft_trainer_options){.epochs = 1});
    assert_fails(weft_trainer_run(trainer, set), WEFT_ERROR_ARGUMENT, "label of example 3 is -2");
    weft_trainer_release(trainer);
    weft_dataset_release(set);
    weft_graph_release(net.graph);
}

static void columns_that_do_not_fit_are_named(void **state) {
    (void)state;
    const problem p = make_problem();
    const network net = make_network(test_context());
    weft_trainer *const trainer = make_trainer(&net, (weft_trainer_options){.epochs = 1});
    const weft_column label = {.name = "label", .dtype = WEFT_I32, .data = p.labels};
    const struct {
        weft_column x;
        weft_status status;
        const char *part;
    } rows[] = {
        {{.name = "y", .dtype = WEFT_F32, .rank = 1, .dims = {2}, .data = p.xs}, WEFT_ERROR_ARGUMENT,
            "'x' has no column of its name; there are 'y', 'label'"},
        {{.name = "x", .dtype = WEFT_I32, .rank = 1, .dims = {2}, .data = p.xs}, WEFT_ERROR_DTYPE,
            "'x' is f32, its column i32"},
        {{.name = "x", .dtype = WEFT_F32, .rank = 1, .dims = {1}, .data = p.xs}, WEFT_ERROR_SHAPE,
            "'x' is (batch, 2), its column (batch, 1)"},
        {{.name = "x", .dtype = WEFT_F32, .rank = 2, .dims = {2, 1}, .data = p.xs}, WEFT_ERROR_SHAPE,
            "(batch, 2, 1)"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        weft_dataset *dataset = NULL;
        const weft_column columns[] = {rows[i].x, label};
        assert_ok(weft_dataset_from_memory(&dataset, test_context(), POINTS / 2, columns, 2));
        assert_fails(weft_trainer_run(trainer, dataset), rows[i].status, rows[i].part);
        weft_dataset_release(dataset);
    }
    weft_trainer_release(trainer);
    weft_graph_release(net.graph);
}

static void bad_options_are_refused(void **state) {
    (void)state;
    const network net = make_network(test_context()), other = make_network(test_context());
    weft_trainer *trainer = NULL;
    weft_trainer_options options = {WEFT_TRAINER_OPTIONS_INIT};
    assert_status(weft_trainer_create(NULL, net.loss, &options), WEFT_ERROR_ARGUMENT);
    assert_fails(weft_trainer_create(&trainer, NULL, &options), WEFT_ERROR_ARGUMENT, "loss is NULL");
    assert_status(weft_trainer_run(NULL, NULL), WEFT_ERROR_ARGUMENT);
    options.struct_size = 4;
    assert_fails(weft_trainer_create(&trainer, net.loss, &options), WEFT_ERROR_ARGUMENT, "_INIT");
    options = (weft_trainer_options){WEFT_TRAINER_OPTIONS_INIT, .logits = other.logits};
    assert_fails(weft_trainer_create(&trainer, net.loss, &options), WEFT_ERROR_ARGUMENT, "different graphs");
    options = (weft_trainer_options){WEFT_TRAINER_OPTIONS_INIT, .logits = net.loss};
    assert_fails(weft_trainer_create(&trainer, net.loss, &options), WEFT_ERROR_SHAPE, "(batch, classes)");
    options = (weft_trainer_options){WEFT_TRAINER_OPTIONS_INIT, .logits = net.logits, .labels = "class"};
    assert_fails(weft_trainer_create(&trainer, net.loss, &options), WEFT_ERROR_ARGUMENT, "no input 'class'");
    options = (weft_trainer_options){WEFT_TRAINER_OPTIONS_INIT, .optimizer = weft_sgd(-1.0f)};
    assert_fails(weft_trainer_create(&trainer, net.loss, &options), WEFT_ERROR_ARGUMENT, "rate is -1");
    options = (weft_trainer_options){WEFT_TRAINER_OPTIONS_INIT};
    assert_status(weft_trainer_create(&trainer, net.logits, &options), WEFT_ERROR_SHAPE);
    assert_null(trainer);
    weft_graph_release(net.graph);
    weft_graph_release(other.graph);
}

/* ---- repeatable, and free of allocations ---- */

static void train_once(float *weights, size_t count) {
    const problem p = make_problem();
    weft_context *own = NULL;
    const weft_context_options options = {WEFT_CONTEXT_OPTIONS_INIT, .seed = 9};
    assert_ok(weft_context_create(&own, &options));
    const network net = make_network(own);
    weft_dataset *const dataset = make_dataset(own, &p);
    weft_trainer *const trainer =
        make_trainer(&net, (weft_trainer_options){.optimizer = weft_adam(0.01f), .epochs = 4, .seed = 3});
    assert_ok(weft_trainer_run(trainer, dataset));
    for (size_t i = 0; i < weft_graph_parameter_count(net.graph); i++) {
        weft_tensor *const parameter = weft_graph_parameter(net.graph, i);
        size_t size = 1;
        for (int axis = 0; axis < weft_tensor_rank(parameter); axis++)
            size *= (size_t)weft_tensor_dimension(parameter, axis);
        assert_true(size <= count);
        assert_ok(weft_tensor_read(parameter, weights, size * sizeof *weights));
        weights += size;
        count -= size;
    }
    assert_int_equal(count, 0);
    weft_trainer_release(trainer);
    weft_dataset_release(dataset);
    weft_graph_release(net.graph);
    weft_context_release(own);
}

static void two_runs_are_identical(void **state) {
    (void)state;
    enum { WEIGHTS = 2 * 8 + 8 + 8 * 2 + 2 };
    float first[WEIGHTS] = {0}, second[WEIGHTS] = {0};
    train_once(first, WEIGHTS);
    train_once(second, WEIGHTS);
    assert_memory_equal(first, second, sizeof first);
    for (size_t i = 0; i < WEIGHTS; i++) assert_true(isfinite(first[i]) && first[i] != 0.0f);
}

typedef struct watch {
    scratch_allocator allocator;
    weft_context *context;
    long made;    /* allocations when every plan had run once: their kernels are kept on disk after that */
    size_t bytes; /* of the device then */
    size_t checked;
} watch;

static bool nothing_was_allocated(void *user, const weft_epoch *state) {
    watch *const it = user;
    size_t bytes = 0;
    weft_context_memory(it->context, &bytes, NULL);
    if (state->epoch == 0) {
        it->made = atomic_load(&it->allocator.made);
        it->bytes = bytes;
    }
    assert_int_equal(atomic_load(&it->allocator.made), it->made);
    assert_int_equal(bytes, it->bytes);
    it->checked++;
    return true;
}

static void steps_allocate_nothing(void **state) {
    (void)state;
    const problem p = make_problem();
    watch it = {0};
    scratch_allocator_init(&it.allocator, -1);
    const weft_context_options options = {WEFT_CONTEXT_OPTIONS_INIT, .allocator = &it.allocator.hooks};
    assert_ok(weft_context_create(&it.context, &options));
    const network net = make_network(it.context);
    weft_dataset *const dataset = make_dataset(it.context, &p);
    weft_trainer *const trainer = make_trainer(&net, (weft_trainer_options){.optimizer = weft_adam(0.01f),
                                                         .epochs = 4,
                                                         .logits = net.logits,
                                                         .validation = dataset,
                                                         .on_step = nothing_was_allocated,
                                                         .on_epoch = nothing_was_allocated,
                                                         .user = &it});
    assert_ok(weft_trainer_run(trainer, dataset));
    assert_int_equal(it.checked, 4 * 13 + 4); /* of which those after the first epoch are compared */
    assert_true(it.made > 0 && it.bytes > 0);
    weft_trainer_release(trainer);
    weft_dataset_release(dataset);
    weft_graph_release(net.graph);
    weft_context_release(it.context);
    assert_int_equal(atomic_load(&it.allocator.live), 0);
}

/* Every allocation of creating and running fails once: an error each time, and nothing leaks. */
static void a_lack_of_memory_is_an_error(void **state) {
    (void)state;
    const problem p = make_problem();
    scratch_allocator allocator;
    scratch_allocator_init(&allocator, -1);
    weft_context *own = NULL;
    const weft_context_options options = {WEFT_CONTEXT_OPTIONS_INIT, .allocator = &allocator.hooks};
    assert_ok(weft_context_create(&own, &options));
    weft_dataset *const dataset = make_dataset(own, &p);
    weft_status status = WEFT_ERROR_MEMORY;
    size_t failures = 0;
    for (long left = 0; status != WEFT_OK && left < 5000; left += left < 50 ? 1 : 7) {
        const network net = make_network(own);
        weft_trainer *trainer = NULL;
        const weft_trainer_options trainer_options = {
            WEFT_TRAINER_OPTIONS_INIT, .batch = 8, .logits = net.logits, .validation = dataset};
        atomic_store(&allocator.fail_after, atomic_load(&allocator.made) + left);
        status = weft_trainer_create(&trainer, net.loss, &trainer_options);
        if (status == WEFT_OK) status = weft_trainer_run(trainer, dataset);
        atomic_store(&allocator.fail_after, -1);
        weft_trainer_release(trainer);
        weft_graph_release(net.graph);
        if (status != WEFT_OK) {
            assert_int_equal(status, WEFT_ERROR_MEMORY);
            failures++;
        }
    }
    assert_int_equal(status, WEFT_OK);
    assert_true(failures > 20);
    weft_dataset_release(dataset);
    weft_context_release(own);
    assert_int_equal(atomic_load(&allocator.live), 0);
}

static void a_memory_limit_reaches_the_plans(void **state) {
    (void)state;
    const network net = make_network(test_context());
    weft_trainer *trainer = NULL;
    const weft_trainer_options options = {WEFT_TRAINER_OPTIONS_INIT, .memory_limit = 1};
    assert_fails(
        weft_trainer_create(&trainer, net.loss, &options), WEFT_ERROR_MEMORY_LIMIT, "memory_limit is 1");
    weft_graph_release(net.graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_is_fitted),
        cmocka_unit_test(a_memory_limit_reaches_the_plans),
        cmocka_unit_test(progress_is_reported),
        cmocka_unit_test(without_logits_there_is_no_accuracy),
        cmocka_unit_test(evaluation_is_exact),
        cmocka_unit_test(callbacks_stop_the_training),
        cmocka_unit_test(another_thread_cancels),
        cmocka_unit_test(nan_is_reported_with_its_step),
        cmocka_unit_test(going_on_reports_the_first_step),
        cmocka_unit_test(bad_labels_are_named),
        cmocka_unit_test(ignored_labels_are_accepted),
        cmocka_unit_test(columns_that_do_not_fit_are_named),
        cmocka_unit_test(bad_options_are_refused),
        cmocka_unit_test(two_runs_are_identical),
        cmocka_unit_test(steps_allocate_nothing),
        cmocka_unit_test(a_lack_of_memory_is_an_error),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
