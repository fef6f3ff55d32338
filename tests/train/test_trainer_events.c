/* Events of a trainer: the values of its callbacks and logs, resumed runs, bad folders, and disks that fill. Readers show
 * what the files say by the rules that seen_at follows. */
#include "base/platform.h"
#include "support/checks.h"
#include "support/event_records.h"
#include "support/fixture.h"
#include "support/scratch.h"
#include "support/two_classes.h"
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>

enum { EPOCHS = 3, STEPS = 13, LAST = EPOCHS * STEPS, PATH_ROOM = 4096, SIMPLE = 2, HISTOGRAM = 5 };

typedef struct training {
    problem points;
    network net;
    weft_dataset *data;
    weft_trainer *trainer;
    weft_epoch epochs[EPOCHS];
    size_t stop_at; /* step; 0: at none */
} training;

static bool note_epoch(void *user, const weft_epoch *state) {
    training *const t = user;
    t->epochs[state->epoch] = *state;
    return true;
}

static bool note_step(void *user, const weft_epoch *state) {
    const training *const t = user;
    return state->step != t->stop_at;
}

static void begin(training *t, weft_context *context, weft_trainer_options options) {
    *t = (training){.points = make_problem(), .net = make_network(context)};
    t->data = make_dataset(context, &t->points);
    options.epochs = EPOCHS;
    options.logits = t->net.logits;
    options.validation = t->data;
    options.on_epoch = note_epoch;
    options.on_step = note_step;
    options.user = t;
    t->trainer = make_trainer(&t->net, options);
}

static void end(training *t) {
    weft_trainer_release(t->trainer);
    weft_dataset_release(t->data);
    weft_graph_release(t->net.graph);
}

static event_records read_only_file(const char *folder) {
    char path[PATH_ROOM];
    assert_int_equal(scratch_count(folder, "events.out.tfevents.", path), 1);
    return event_records_read(path);
}

static float scalar(const event_records *file, const char *tag, size_t index, size_t wanted_step) {
    proto_bytes value = {0};
    size_t step = 0;
    if (!event_value(file, tag, index, &value, &step)) fail_msg("no value '%s' number %zu", tag, index);
    assert_int_equal(step, wanted_step);
    return proto_float(value, SIMPLE);
}

static void epochs_have_the_values_of_their_callbacks(void **state) {
    char folder[PATH_ROOM], page[PATH_ROOM]; /* both in a folder that the run creates */
    training t;
    snprintf(folder, sizeof folder, "%s", scratch_path(*state, "runs/epochs"));
    snprintf(page, sizeof page, "%s", scratch_path(*state, "runs/epochs.html"));
    begin(&t, test_context(), (weft_trainer_options){.events = folder, .html = page, .histogram_epochs = 2});
    assert_null(weft_trainer_events(t.trainer));
    assert_ok(weft_trainer_run(t.trainer, t.data));
    assert_non_null(weft_trainer_events(t.trainer));
    assert_true(wi_file_exists(page));
    event_records file = read_only_file(folder); /* a run has written everything when it ends */
    for (size_t i = 0; i < EPOCHS; i++) {
        const size_t step = (i + 1) * STEPS;
        assert_true(scalar(&file, "loss/training", i, step) == (float)t.epochs[i].loss);
        assert_true(scalar(&file, "accuracy/validation", i, step) == (float)t.epochs[i].validation_accuracy);
        assert_true(scalar(&file, "run/learning_rate", i, step) == (float)t.epochs[i].learning_rate);
        assert_true(scalar(&file, "run/epoch", i, step) == (float)(i + 1));
        assert_true(scalar(&file, "run/seconds", i, step) >= 0);
        assert_true(scalar(&file, "run/device_memory", i, step) > 0);
    }
    assert_int_equal(event_count(&file, "loss/training"), EPOCHS);
    assert_int_equal(event_count(&file, "loss/step"), 0);
    assert_int_equal(event_count(&file, "linear2/bias"), 1); /* after the second epoch */
    assert_int_equal(event_count(&file, "_hparams_/session_start_info"), 1);
    event_records_free(&file);
    end(&t);
}

static void steps_have_the_values_of_the_log(void **state) {
    const char *const folder = scratch_path(*state, "steps");
    char csv[PATH_ROOM + 16];
    snprintf(csv, sizeof csv, "%s/log.csv", folder); /* in the folder that the run creates */
    training t;
    begin(&t, test_context(), (weft_trainer_options){.events = folder, .csv_log = csv, .log_steps = true});
    assert_ok(weft_trainer_run(t.trainer, t.data));
    event_records file = read_only_file(folder);
    char *text = NULL;
    size_t bytes = 0, step = 0;
    assert_ok(wi_file_read(NULL, csv, &text, &bytes));
    for (const char *line = text; (line = strstr(line, "\nstep,")); step++) {
        double loss = 0, accuracy = 0;
        assert_int_equal(sscanf(++line, "step,%*u,%*u,%lf,%lf", &loss, &accuracy), 2);
        assert_true(fabs((double)scalar(&file, "loss/step", step, step + 1) - loss) <= 1e-6 * fabs(loss));
        assert_true(scalar(&file, "accuracy/step", step, step + 1) == (float)accuracy);
    }
    assert_int_equal(step, LAST);
    assert_int_equal(event_count(&file, "run/learning_rate"), LAST);
    wi_release(NULL, text);
    event_records_free(&file);
    end(&t);
}

/* What a reader of two files shows at a step of a curve: a start of a session removes what came before from its step on. */
static size_t seen_at(const event_records files[2], const char *tag, size_t wanted) {
    size_t seen = 0;
    for (size_t f = 0; f < 2; f++) {
        proto_field log;
        if (files[f].count > 1 && proto_find(files[f].records[1], 7, 0, &log) &&
            event_step(files[f].records[1]) <= wanted)
            seen = 0;
        proto_bytes value;
        for (size_t i = 0, step; event_value(&files[f], tag, i, &value, &step); i++) seen += step == wanted;
    }
    return seen;
}

/* Reads the two files of a folder in the order of their names, as readers do. */
static void read_two_files(const char *folder, event_records files[2]) {
    const char **names = NULL;
    size_t count = 0;
    wi_arena arena;
    wi_arena_init(&arena, NULL);
    assert_ok(wi_directory_list(&names, &count, &arena, folder));
    assert_int_equal(count, 2);
    for (size_t i = 0; i < 2; i++) files[i] = event_records_read(scratch_path(folder, names[i]));
    wi_release(NULL, (void *)names);
    wi_arena_clear(&arena);
}

/* A run that ended without a sign, and is resumed at an earlier checkpoint, has every step and epoch once. */
static void a_resumed_run_continues_its_curves(void **state) {
    char folder[PATH_ROOM], checkpoints[PATH_ROOM];
    event_records files[2];
    training t;
    snprintf(folder, sizeof folder, "%s", scratch_path(*state, "resumed"));
    snprintf(checkpoints, sizeof checkpoints, "%s", scratch_path(*state, "checkpoints"));
    const weft_trainer_options options = {
        .events = folder, .log_steps = true, .checkpoint = checkpoints, .checkpoint_every = {.epochs = 1}};
    begin(&t, test_context(), options);
    assert_ok(weft_trainer_run(t.trainer, t.data));
    end(&t);
    begin(&t, test_context(), options);
    assert_ok(weft_trainer_resume(t.trainer, scratch_path(checkpoints, "step-0000000013.safetensors"), NULL));
    assert_ok(weft_trainer_run(t.trainer, t.data));
    end(&t);
    read_two_files(folder, files);
    assert_int_equal(event_count(&files[0], "loss/step"), LAST);
    assert_int_equal(event_count(&files[1], "loss/step"), LAST - STEPS);
    for (size_t step = 1; step <= LAST; step++) {
        assert_int_equal(seen_at(files, "loss/step", step), 1);
        assert_int_equal(seen_at(files, "loss/training", step), step % STEPS == 0);
    }
    for (size_t i = 0; i < 2; i++) event_records_free(&files[i]);
}

/* With dropout and running statistics, which each run of a plan changes. */
static network make_noisy_network(weft_context *owner) {
    network net;
    assert_ok(weft_graph_create(&net.graph, owner));
    weft_tensor *const h = weft_batch_norm(weft_linear(weft_input(net.graph, "x", WEFT_F32, 2), 8));
    net.logits = weft_linear(weft_dropout(weft_relu(h), 0.25f), 2);
    net.loss = weft_cross_entropy(net.logits, weft_input(net.graph, "label", WEFT_I32));
    assert_ok(weft_graph_status(net.graph));
    return net;
}

static void train_noisy(const char *folder, float weights[16], float means[8]) {
    const problem points = make_problem();
    const network net = make_noisy_network(test_context());
    weft_dataset *const data = make_dataset(test_context(), &points);
    weft_trainer *const trainer = make_trainer(&net, (weft_trainer_options){.epochs = EPOCHS,
                                                         .events = folder,
                                                         .log_steps = true,
                                                         .histogram_epochs = 1,
                                                         .gradient_histograms = true});
    assert_ok(weft_trainer_run(trainer, data));
    assert_ok(weft_tensor_read(weft_graph_find(net.graph, "linear1.weight"), weights, 64));
    assert_ok(weft_tensor_read(weft_graph_find(net.graph, "batchnorm1.running_mean"), means, 32));
    weft_trainer_release(trainer);
    weft_dataset_release(data);
    weft_graph_release(net.graph);
}

/* Weights and statistics get the same bits with events as without them. */
static void events_do_not_change_the_training(void **state) {
    const char *const folder = scratch_path(*state, "bits");
    float weights[2][16], means[2][8];
    proto_bytes value = {0};
    size_t step = 0;
    train_noisy(NULL, weights[0], means[0]);
    train_noisy(folder, weights[1], means[1]);
    assert_memory_equal(weights[0], weights[1], sizeof weights[0]);
    assert_memory_equal(means[0], means[1], sizeof means[0]);
    event_records file = read_only_file(folder);
    assert_int_equal(event_count(&file, "linear1/weight"), EPOCHS);
    assert_int_equal(event_count(&file, "linear1/weight/gradient"), EPOCHS);
    assert_true(event_value(&file, "linear1/weight/gradient", 1, &value, &step));
    assert_int_equal(step, STEPS + 1); /* of the first batch of the second epoch */
    assert_true(proto_double(proto_message(value, HISTOGRAM, 0), 5) > 0);
    event_records_free(&file);
}

/* The sums of the squares of two gradients in the first batch. */
static void train_in_shards(const char *folder, size_t shards, double squares[2]) {
    const char *const tags[] = {"linear1/weight/gradient", "linear2/bias/gradient"};
    proto_bytes value = {0};
    size_t step = 0;
    training t;
    begin(&t, test_context(),
        (weft_trainer_options){
            .events = folder, .histogram_epochs = 1, .gradient_histograms = true, .gradient_shards = shards});
    assert_ok(weft_trainer_run(t.trainer, t.data));
    event_records file = read_only_file(folder);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(event_count(&file, tags[i]), EPOCHS);
        assert_true(event_value(&file, tags[i], 1, &value, &step));
        assert_int_equal(step, STEPS + 1);
        squares[i] = proto_double(proto_message(value, HISTOGRAM, 0), 5);
    }
    event_records_free(&file);
    end(&t);
}

static void gradients_of_shards_are_those_of_the_batch(void **state) {
    char folders[2][PATH_ROOM];
    double squares[2][2];
    for (size_t i = 0; i < 2; i++) {
        snprintf(folders[i], sizeof folders[i], "%s", scratch_path(*state, i ? "shards" : "whole"));
        train_in_shards(folders[i], i ? 4 : 1, squares[i]);
    }
    for (size_t i = 0; i < 2; i++) assert_true(fabs(squares[1][i] - squares[0][i]) < 1e-5 * squares[0][i]);
}

static void bad_folders_are_errors_before_the_first_step(void **state) {
    char file[PATH_ROOM];
    weft_training_info info;
    snprintf(file, sizeof file, "%s", scratch_path(*state, "file"));
    assert_ok(wi_file_write_atomic(file, "x", 1));
    const weft_trainer_options rows[] = {{.events = file}, {.html = *state}};
    const char *const parts[] = {file, *state};
    for (size_t i = 0; i < 2; i++) {
        training t;
        begin(&t, test_context(), rows[i]);
        assert_fails(weft_trainer_run(t.trainer, t.data), WEFT_ERROR_FILE, parts[i]);
        weft_trainer_get_info(t.trainer, &info);
        assert_int_equal(info.steps, 0);
        end(&t);
    }
}

static void limit_files(rlim_t bytes) {
    const struct rlimit limit = {bytes, RLIM_INFINITY};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static bool fill_disk(void *user, const weft_epoch *state) {
    (void)user;
    if (state->epoch == 0) limit_files(10);
    return true;
}

static void a_disk_that_fills_does_not_end_the_training(void **state) {
    scratch_log log = {.text = ""};
    weft_context *const context = scratch_context(*state, &log);
    training t;
    weft_training_info info;
    const char *const folder = scratch_path(*state, "full");
    t = (training){.points = make_problem(), .net = make_network(context)};
    t.data = make_dataset(context, &t.points);
    t.trainer = make_trainer(&t.net,
        (weft_trainer_options){.epochs = EPOCHS, .events = folder, .log_steps = true, .on_epoch = fill_disk});
    signal(SIGXFSZ, SIG_IGN);
    assert_ok(weft_trainer_run(t.trainer, t.data));
    limit_files(RLIM_INFINITY);
    weft_trainer_get_info(t.trainer, &info);
    assert_int_equal(info.steps, LAST);
    const char *const line = strstr(log.text, "the training goes on");
    assert_non_null(line);
    assert_null(strstr(line + 1, "the training goes on"));
    event_records file = read_only_file(folder);
    event_records_free(&file);
    end(&t);
    weft_context_release(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(epochs_have_the_values_of_their_callbacks),
        SCRATCH_TEST(steps_have_the_values_of_the_log),
        SCRATCH_TEST(a_resumed_run_continues_its_curves),
        SCRATCH_TEST(events_do_not_change_the_training),
        SCRATCH_TEST(gradients_of_shards_are_those_of_the_batch),
        SCRATCH_TEST(bad_folders_are_errors_before_the_first_step),
        SCRATCH_TEST(a_disk_that_fills_does_not_end_the_training),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
