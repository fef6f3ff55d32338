/* The trainer's checkpoints: when they are saved, which files are kept, what happens when one cannot be written, and what
 * cannot be resumed. That resumed runs have the same bits is in test_resume. */
/* test threads */
#include "base/platform.h"
#include "support/checks.h"
#include "support/fixture.h"
#include "support/scratch.h"
#include "support/two_classes.h"
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { STEPS = 13 }; /* an epoch: 100 points in batches of 8 */

typedef struct setup {
    problem points;
    network net;
    weft_dataset *data;
    char *folder;
    weft_trainer *trainer;
} setup;

static weft_context *logged_context(scratch_log *log) {
    return test_context_open(
        (weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .log = scratch_log_line, .log_user = log});
}

static setup begin_in(weft_context *context, weft_trainer_options options, const char *folder) {
    setup s = {.points = make_problem(), .net = make_network(context), .folder = scratch_make()};
    s.data = make_dataset(context, &s.points);
    options.checkpoint = folder ? folder : s.folder;
    s.trainer = make_trainer(&s.net, options);
    return s;
}

static setup begin(weft_trainer_options options) {
    return begin_in(test_context(), options, NULL);
}

static void end(setup *s) {
    weft_trainer_release(s->trainer);
    weft_dataset_release(s->data);
    weft_graph_release(s->net.graph);
    scratch_remove(s->folder);
}

static void has_files(const setup *s, const char *const *names, int count) {
    for (int i = 0; i < count; i++)
        if (!wi_file_exists(scratch_path(s->folder, names[i]))) fail_msg("%s is missing", names[i]);
    assert_int_equal(scratch_count(s->folder, "", NULL), count);
}

static void the_newest_are_kept(void **state) {
    (void)state;
    setup s = begin((weft_trainer_options){.epochs = 5});
    assert_ok(weft_trainer_run(s.trainer, s.data));
    has_files(&s,
        (const char *const[]){
            "step-0000000039.safetensors", "step-0000000052.safetensors", "step-0000000065.safetensors"},
        3);
    assert_ok(weft_trainer_run(s.trainer, s.data)); /* another run goes on in the same folder */
    has_files(&s,
        (const char *const[]){
            "step-0000000104.safetensors", "step-0000000117.safetensors", "step-0000000130.safetensors"},
        3);
    end(&s);

    s = begin((weft_trainer_options){.epochs = 5, .checkpoint_every = {.epochs = 2}, .checkpoint_keep = 2});
    assert_ok(weft_trainer_run(s.trainer, s.data)); /* after 2, 4 and the end */
    has_files(&s, (const char *const[]){"step-0000000052.safetensors", "step-0000000065.safetensors"}, 2);
    end(&s);
}

static bool slow_step(void *user, const weft_epoch *state) {
    static const struct timespec pause = {.tv_nsec = 20000000};
    (void)user, (void)state;
    nanosleep(&pause, NULL); /* so that no file is still being written when the next is due */
    return true;
}

static void steps_and_seconds_count(void **state) {
    (void)state;
    setup s = begin(
        (weft_trainer_options){.checkpoint_every = {.steps = 3}, .checkpoint_keep = 9, .on_step = slow_step});
    assert_ok(weft_trainer_run(s.trainer, s.data));
    assert_true(wi_file_exists(scratch_path(s.folder, "step-0000000003.safetensors")));
    assert_true(wi_file_exists(scratch_path(s.folder, "step-0000000013.safetensors")));
    assert_int_equal(scratch_count(s.folder, ".tmp", NULL), 0);
    assert_in_range(scratch_count(s.folder, "step", NULL), 3, 5);
    end(&s);

    s = begin((weft_trainer_options){
        .checkpoint_every = {.seconds = 0.05}, .checkpoint_keep = 99, .on_step = slow_step});
    assert_ok(weft_trainer_run(s.trainer, s.data));
    assert_in_range(scratch_count(s.folder, "step", NULL), 2, 6); /* 13 steps of 20 ms or more, and the end */
    end(&s);
}

/* Before the first checkpoint, so that no thread writes in the folder. */
static bool remove_folder(void *user, const weft_epoch *state) {
    if (state->epoch == 0) assert_int_equal(rmdir(user), 0);
    return true;
}

static void a_removed_folder_is_created_again(void **state) {
    setup s = begin_in(test_context(),
        (weft_trainer_options){
            .epochs = 2, .checkpoint_every = {.epochs = 2}, .on_epoch = remove_folder, .user = *state},
        *state);
    assert_ok(weft_trainer_run(s.trainer, s.data));
    assert_int_equal(scratch_count(*state, "step-0000000026.safetensors", NULL), 1);
    end(&s);
}

/* loss = mean (p - x)²: the step callback chooses p, so that epoch 1 of 4 is best. */
static weft_status choose_weight(void *user, weft_step *step) {
    static const float weights[] = {3, 1, 2, 4};
    step->has_loss = true;
    return weft_tensor_write(user, &weights[step->epoch], sizeof(float));
}

static void the_best_is_kept_too(void **state) {
    (void)state;
    char *const folder = scratch_make();
    float value = 0;
    const float zeros[2] = {0, 0};
    const weft_column column = {.name = "x", .dtype = WEFT_F32, .rank = 1, .dims = {1}, .data = zeros};
    weft_dataset *data = NULL;
    weft_trainer *trainer = NULL;
    weft_graph *const graph = test_graph();
    assert_ok(weft_dataset_from_memory(&data, test_context(), 2, &column, 1));
    weft_tensor *const p = weft_parameter(graph, "p", weft_zeros(), 1);
    weft_tensor *const loss = weft_mean(weft_square(weft_sub(p, weft_input(graph, "x", WEFT_F32, 1))));
    const weft_trainer_options options = {WEFT_TRAINER_OPTIONS_INIT, .epochs = 4, .batch = 2,
        .validation = data, .early_stopping = {.monitor = "validation_loss"}, .step = choose_weight,
        .user = p, .checkpoint = folder, .checkpoint_keep = 1};
    assert_ok(weft_trainer_create(&trainer, loss, &options));
    assert_ok(weft_trainer_run(trainer, data));
    assert_int_equal(scratch_count(folder, "", NULL), 2);
    assert_true(wi_file_exists(scratch_path(folder, "step-0000000004.safetensors")));
    const weft_weights_options some = {WEFT_WEIGHTS_OPTIONS_INIT, .allow_extra = true};
    assert_ok(weft_weights_load(graph, scratch_path(folder, "best-0000000002.safetensors"), &some));
    assert_ok(weft_tensor_read(p, &value, sizeof value));
    assert_true(value == 1);
    weft_trainer_release(trainer);
    weft_dataset_release(data);
    weft_graph_release(graph);
    scratch_remove(folder);
}

/* ---- stopping ---- */

typedef struct stopper {
    weft_trainer *trainer;
    size_t at;
} stopper;

static bool stop_from_callback(void *user, const weft_epoch *state) {
    stopper *const it = user;
    if (state->step == it->at) assert_ok(weft_trainer_stop(it->trainer));
    return true;
}

static void a_trainer_is_stopped_from_a_callback(void **state) {
    (void)state;
    stopper it = {.at = 5};
    weft_training_info info;
    setup s = begin((weft_trainer_options){.epochs = 2, .on_step = stop_from_callback, .user = &it});
    it.trainer = s.trainer;
    assert_ok(weft_trainer_run(s.trainer, s.data));
    weft_trainer_get_info(s.trainer, &info);
    assert_true(info.stopped && info.steps == 5);
    has_files(&s, (const char *const[]){"step-0000000005.safetensors"}, 1);
    assert_ok(weft_trainer_resume(s.trainer, s.folder, NULL)); /* the same trainer goes on */
    assert_ok(weft_trainer_run(s.trainer, s.data));
    weft_trainer_get_info(s.trainer, &info);
    assert_true(!info.stopped && info.steps == 2 * STEPS);
    assert_ok(weft_trainer_stop(s.trainer)); /* before a run: after its first step */
    assert_ok(weft_trainer_run(s.trainer, s.data));
    weft_trainer_get_info(s.trainer, &info);
    assert_true(info.stopped && info.steps == 2 * STEPS + 1);
    assert_status(weft_trainer_stop(NULL), WEFT_ERROR_ARGUMENT);
    end(&s);
}

/* ---- what goes wrong ---- */

static void a_full_disk_ends_the_run_and_leaves_what_there_was(void **state) {
    (void)state;
    struct rlimit before, small;
    setup s = begin((weft_trainer_options){.epochs = 1});
    assert_ok(weft_trainer_run(s.trainer, s.data));
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 100;
    void (*const handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    const weft_status status = weft_trainer_run(s.trainer, s.data);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, handler);
    assert_fails(status, WEFT_ERROR_FILE, "step-0000000026.safetensors': File too large");
    has_files(&s, (const char *const[]){"step-0000000013.safetensors"}, 1);
    assert_ok(weft_trainer_run(s.trainer, s.data)); /* with room again it goes on */
    assert_int_equal(scratch_count(s.folder, "step", NULL), 2);
    end(&s);
}

static void bad_options_are_refused(void **state) {
    (void)state;
    const network net = make_network(test_context());
    weft_trainer *trainer = NULL;
    weft_trainer_options options = {WEFT_TRAINER_OPTIONS_INIT, .checkpoint = ""};
    assert_fails(
        weft_trainer_create(&trainer, net.loss, &options), WEFT_ERROR_ARGUMENT, "the name of a folder");
    options.checkpoint = "/proc/self/weft";
    options.checkpoint_every.seconds = -1;
    assert_fails(weft_trainer_create(&trainer, net.loss, &options), WEFT_ERROR_ARGUMENT, "-1 seconds");
    options.checkpoint_every.seconds = 0;
    options.checkpoint_extra_count = 1;
    assert_fails(weft_trainer_create(&trainer, net.loss, &options), WEFT_ERROR_ARGUMENT,
        "checkpoint_extra_count is 1");
    weft_graph_release(net.graph);
    setup s = begin_in(test_context(), (weft_trainer_options){.epochs = 1}, "/proc/self/weft");
    weft_training_info info;
    assert_fails(weft_trainer_run(s.trainer, s.data), WEFT_ERROR_FILE, "/proc/self/weft'");
    weft_trainer_get_info(s.trainer, &info);
    assert_int_equal(info.steps, 0); /* noticed before any training */
    end(&s);
}

static void foreign_folders_and_files_are_refused(void **state) {
    (void)state;
    setup s = begin((weft_trainer_options){.epochs = 1, .seed = 1});
    bool found = true;
    assert_ok(weft_trainer_run(s.trainer, s.data));
    setup other = begin_in(test_context(), (weft_trainer_options){.epochs = 1, .seed = 2}, s.folder);
    assert_fails(weft_trainer_run(other.trainer, other.data), WEFT_ERROR_STATE,
        "continue that training with weft_trainer_resume");
    assert_fails(weft_trainer_resume(other.trainer, s.folder, &found), WEFT_ERROR_ARGUMENT,
        "a training with the seed 1; this trainer has the seed 2");
    assert_false(found);
    end(&other);
    other = begin_in(test_context(), (weft_trainer_options){.epochs = 1, .seed = 1, .batch = 9}, NULL);
    assert_fails(weft_trainer_resume(other.trainer, s.folder, NULL), WEFT_ERROR_ARGUMENT,
        "batch size 8, shuffled; this trainer has the batch size 9, shuffled");
    end(&other);
    other = begin_in(test_context(), (weft_trainer_options){.epochs = 1, .seed = 1, .drop_last = true}, NULL);
    assert_fails(weft_trainer_resume(other.trainer, s.folder, NULL), WEFT_ERROR_ARGUMENT,
        "a training without drop_last; this trainer is with drop_last");
    end(&other);
    other =
        begin_in(test_context(), (weft_trainer_options){.epochs = 1, .seed = 1, .gradient_shards = 2}, NULL);
    assert_fails(weft_trainer_resume(other.trainer, s.folder, NULL), WEFT_ERROR_ARGUMENT,
        "gradient_shards = 1; this trainer has gradient_shards = 2");
    found = true;
    assert_ok(weft_trainer_resume(other.trainer, other.folder, &found)); /* empty */
    assert_false(found);
    assert_ok(weft_trainer_resume(other.trainer, "/no/such/folder", &found));
    assert_false(found);
    assert_fails(weft_trainer_resume(other.trainer, other.folder, NULL), WEFT_ERROR_FILE, "no checkpoint");
    assert_fails(weft_trainer_resume(other.trainer, "/no/such", NULL), WEFT_ERROR_FILE, "/no/such'");
    assert_ok(weft_checkpoint_save(other.net.graph, scratch_path(other.folder, "x"), NULL, 0));
    assert_fails(weft_trainer_resume(other.trainer, scratch_path(other.folder, "x"), NULL), WEFT_ERROR_FORMAT,
        "was not saved by a trainer");
    end(&other);

    other = begin((weft_trainer_options){.epochs = 1, .seed = 1});
    const weft_column few = {.name = "x", .dtype = WEFT_F32, .rank = 1, .dims = {2}, .data = s.points.xs};
    const weft_column columns[] = {few, {.name = "label", .dtype = WEFT_I32, .data = s.points.labels}};
    weft_dataset *data = NULL;
    assert_ok(weft_dataset_from_memory(&data, test_context(), 90, columns, 2));
    assert_ok(weft_trainer_resume(other.trainer, s.folder, NULL));
    assert_fails(weft_trainer_run(other.trainer, data), WEFT_ERROR_ARGUMENT,
        "a training with 100 examples, but the dataset has 90");
    weft_dataset_release(data);
    end(&other);
    end(&s);
}

static void cut_the_file(const char *path) {
    char *bytes = NULL;
    size_t size = 0;
    assert_ok(wi_file_read(NULL, path, &bytes, &size));
    assert_ok(wi_file_write_atomic(path, bytes, size - 1));
    wi_release(NULL, bytes);
}

/* A damaged newest file is logged and passed over; and later steps than the one that is resumed are given up. */
static void an_older_file_serves_when_the_newest_is_damaged(void **state) {
    (void)state;
    scratch_log log = {{0}, 0};
    weft_training_info info;
    weft_context *const context = logged_context(&log);
    setup s = begin_in(context, (weft_trainer_options){.epochs = 3}, NULL);
    assert_ok(weft_trainer_run(s.trainer, s.data));
    cut_the_file(scratch_path(s.folder, "step-0000000039.safetensors"));
    setup other = begin_in(context, (weft_trainer_options){.epochs = 3}, s.folder);
    assert_ok(weft_trainer_resume(other.trainer, s.folder, NULL));
    assert_int_equal(log.warnings, 1);
    assert_non_null(strstr(log.text, "step-0000000039.safetensors': the checksum does not match"));
    weft_trainer_get_info(other.trainer, &info);
    assert_int_equal(info.steps, 2 * STEPS);
    assert_ok(weft_trainer_stop(other.trainer));
    assert_ok(weft_trainer_run(other.trainer, other.data));
    has_files(&s,
        (const char *const[]){
            "step-0000000013.safetensors", "step-0000000026.safetensors", "step-0000000027.safetensors"},
        3);
    cut_the_file(scratch_path(s.folder, "step-0000000013.safetensors"));
    cut_the_file(scratch_path(s.folder, "step-0000000026.safetensors"));
    cut_the_file(scratch_path(s.folder, "step-0000000027.safetensors"));
    assert_fails(weft_trainer_resume(other.trainer, s.folder, NULL), WEFT_ERROR_FORMAT,
        "step-0000000027.safetensors': the checksum");
    end(&other);
    end(&s);
    weft_context_release(context);
}

static void extras_go_with_the_trainer(void **state) {
    (void)state;
    double score = 1.5;
    const weft_checkpoint_extra extra = {.name = "score", .dtype = WEFT_F64, .data = &score};
    setup s =
        begin((weft_trainer_options){.epochs = 1, .checkpoint_extras = &extra, .checkpoint_extra_count = 1});
    score = 2.5;
    assert_ok(weft_trainer_run(s.trainer, s.data));
    score = 0;
    assert_ok(weft_trainer_resume(s.trainer, s.folder, NULL));
    assert_true(score == 2.5);
    end(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_newest_are_kept),
        cmocka_unit_test(steps_and_seconds_count),
        SCRATCH_TEST(a_removed_folder_is_created_again),
        cmocka_unit_test(the_best_is_kept_too),
        cmocka_unit_test(a_trainer_is_stopped_from_a_callback),
        cmocka_unit_test(a_full_disk_ends_the_run_and_leaves_what_there_was),
        cmocka_unit_test(bad_options_are_refused),
        cmocka_unit_test(foreign_folders_and_files_are_refused),
        cmocka_unit_test(an_older_file_serves_when_the_newest_is_damaged),
        cmocka_unit_test(extras_go_with_the_trainer),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
