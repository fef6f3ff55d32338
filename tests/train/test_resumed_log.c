/* Logs of a training that was killed and is resumed: what was written after the checkpoint is cut off, so that the log
 * becomes that of a training that was not killed, but for the seconds. A file that is another log is left as it is. */
#include "base/platform.h"
#include "support/checks.h"
#include "support/fixture.h"
#include "support/scratch.h"
#include "support/two_classes.h"
#include "train/trainer_shared.h"
#include <stdio.h>

enum { EPOCHS = 3, STEPS = 13, LAST = EPOCHS * STEPS, EVERY = 3, PATH_ROOM = 4096 };
static const char before[] = "{\"event\":\"step\",\"epoch\":9,\"step\":900,\"loss\":1}\n";

typedef struct training {
    problem points;
    network net;
    weft_dataset *data;
    weft_trainer *trainer;
    size_t stop_at;
    bool saves;
} training;

static char folder[PATH_ROOM], csv[PATH_ROOM + 8], json[PATH_ROOM + 8];

/* A checkpoint that is due while the one before is being written is put off, so each step waits until it is. */
static bool on_step(void *user, const weft_epoch *state) {
    const training *const t = user;
    while (t->saves && !wi_checkpointer_is_idle(&t->trainer->checkpointer)) wi_clock_sleep(0.001);
    return state->step != t->stop_at;
}

static void begin(training *t, bool checkpoints, bool logs, bool steps) {
    const weft_metric f1 = weft_metric_f1(WEFT_AVERAGE_MACRO);
    *t = (training){.points = make_problem(), .net = make_network(test_context()), .saves = checkpoints};
    t->data = make_dataset(test_context(), &t->points);
    t->trainer = make_trainer(&t->net, (weft_trainer_options){.epochs = EPOCHS,
                                           .logits = t->net.logits,
                                           .validation = t->data,
                                           .metrics = &f1,
                                           .metric_count = 1,
                                           .csv_log = logs ? csv : NULL,
                                           .json_log = logs ? json : NULL,
                                           .log_steps = steps,
                                           .append_logs = true,
                                           .checkpoint = checkpoints ? folder : NULL,
                                           .checkpoint_every = {.steps = EVERY},
                                           .checkpoint_keep = LAST,
                                           .on_step = on_step,
                                           .user = t});
}

static void end(training *t) {
    weft_trainer_release(t->trainer);
    weft_dataset_release(t->data);
    weft_graph_release(t->net.graph);
}

static char *read_text(const char *path) {
    char *text = NULL;
    size_t bytes = 0;
    assert_ok(wi_file_read(NULL, path, &text, &bytes));
    return text;
}

static void write_text(const char *path, const char *text, size_t bytes) {
    FILE *const file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

/* Without the last value of each line, the seconds. */
static char *without_seconds(const char *path) {
    char *const text = read_text(path), *to = text;
    for (char *line = text, *next; *line; line = next) {
        char *const stop = strchr(line, '\n');
        assert_non_null(stop);
        next = stop + 1;
        *stop = '\0';
        const char *const cut = strrchr(line, ',');
        assert_non_null(cut);
        const size_t bytes = (size_t)(cut - line);
        memmove(to, line, bytes);
        to[bytes] = '\n';
        to += bytes + 1;
    }
    *to = '\0';
    return text;
}

static void assert_same_log(const char *path, const char *wanted) {
    char *const got = without_seconds(path);
    assert_string_equal(got, wanted);
    wi_release(NULL, got);
}

static const char *checkpoint_at(size_t step) {
    char name[64];
    snprintf(name, sizeof name, "step-%010zu.safetensors", step);
    return scratch_path(folder, name);
}

/* The first one from this step on. */
static size_t find_checkpoint(size_t step) {
    while (!wi_file_exists(checkpoint_at(step))) assert_true(step++ < LAST);
    return step;
}

typedef struct written {
    char *csv, *json;             /* as the training left them */
    char *csv_lines, *json_lines; /* the same without seconds */
} written;

/* A training with logs, which go on in files that hold something already, and checkpoints. */
static written train(const char *name, bool steps, size_t stop_at) {
    training t;
    snprintf(folder, sizeof folder, "%s", test_path(name));
    snprintf(csv, sizeof csv, "%s.csv", folder);
    snprintf(json, sizeof json, "%s.json", folder);
    write_text(csv, "", 0);
    write_text(json, before, sizeof before - 1);
    begin(&t, true, true, steps);
    t.stop_at = stop_at;
    assert_ok(weft_trainer_run(t.trainer, t.data));
    end(&t);
    return (written){read_text(csv), read_text(json), without_seconds(csv), without_seconds(json)};
}

static void forget(written *w) {
    wi_release(NULL, w->csv);
    wi_release(NULL, w->json);
    wi_release(NULL, w->csv_lines);
    wi_release(NULL, w->json_lines);
}

static void resume_at(size_t step, bool steps) {
    training t;
    begin(&t, false, true, steps);
    assert_ok(weft_trainer_resume(t.trainer, checkpoint_at(step), NULL));
    assert_ok(weft_trainer_run(t.trainer, t.data));
    end(&t);
}

/* All that a kill at the very end, or within a line, leaves behind a checkpoint. */
static void check_all_checkpoints(bool steps) {
    written w = train(steps ? "steps" : "epochs", steps, 0);
    size_t checked = 0;
    assert_memory_equal(w.json, before, sizeof before - 1);
    for (size_t step = 1; step <= LAST; step++) {
        if (!wi_file_exists(checkpoint_at(step))) continue;
        for (size_t lost = 0; lost < 2; lost++) {
            write_text(csv, w.csv, strlen(w.csv) - lost * 7);
            write_text(json, w.json, strlen(w.json) - lost * 7);
            resume_at(step, steps);
            if (lost && step == LAST) continue; /* it has nothing to write again */
            assert_same_log(csv, w.csv_lines);
            assert_same_log(json, w.json_lines);
        }
        checked++;
    }
    assert_true(checked >= EPOCHS);
    forget(&w);
}

static void steps_come_once(void **state) {
    (void)state;
    check_all_checkpoints(true);
}

static void epochs_come_once(void **state) {
    (void)state;
    check_all_checkpoints(false);
}

/* A checkpoint after the last step of an epoch, before its line: that comes when the run goes on, once. */
static void an_epoch_that_was_stopped_at_its_end(void **state) {
    (void)state;
    written whole = train("whole", true, 0), part = train("part", true, STEPS);
    assert_null(strstr(part.json, "\"epoch\",\"epoch\":1"));
    for (int again = 0; again < 2; again++) { /* the second time with all lines of the first */
        resume_at(STEPS, true);
        assert_same_log(csv, whole.csv_lines);
        assert_same_log(json, whole.json_lines);
    }
    forget(&part);
    forget(&whole);
}

/* A trainer that goes back within the process, with its logs open. */
static void a_trainer_goes_back(void **state) {
    (void)state;
    written w = train("back", true, 0);
    training t;
    snprintf(folder, sizeof folder, "%s", test_path("own"));
    write_text(csv, "", 0);
    write_text(json, before, sizeof before - 1);
    begin(&t, true, true, true);
    assert_ok(weft_trainer_run(t.trainer, t.data));
    assert_ok(weft_trainer_resume(t.trainer, checkpoint_at(find_checkpoint(STEPS / 2)), NULL));
    assert_ok(weft_trainer_run(t.trainer, t.data));
    assert_same_log(csv, w.csv_lines);
    assert_same_log(json, w.json_lines);
    end(&t);
    forget(&w);
}

/* path has these bytes before and after a run that fails because of them. */
static void refuses(size_t step, const char *path, const char *text) {
    training t;
    weft_training_info info;
    write_text(path, text, strlen(text));
    begin(&t, false, true, true);
    assert_ok(weft_trainer_resume(t.trainer, checkpoint_at(step), NULL));
    for (int attempt = 0; attempt < 2; attempt++)
        assert_fails(weft_trainer_run(t.trainer, t.data), WEFT_ERROR_FORMAT, path);
    weft_trainer_get_info(t.trainer, &info);
    assert_int_equal(info.steps, step);
    char *const left = read_text(path);
    assert_string_equal(left, text);
    wi_release(NULL, left);
    end(&t);
}

/* A line that is not later than the checkpoint, one that is none, another place of the line's end. */
static void another_log_is_left_alone(void **state) {
    (void)state;
    written w = train("another", true, 0);
    const size_t step = find_checkpoint(2 * EVERY);
    char *const text = malloc(strlen(w.json) + 256);
    assert_non_null(text);
    sprintf(text, "%s{\"event\":\"step\",\"epoch\":1,\"step\":%zu,\"loss\":1}\n", w.json, step);
    refuses(step, json, text);
    sprintf(text, "%sa note of mine\n", w.json);
    refuses(step, json, text);
    sprintf(text, "{}%s", w.json);
    refuses(step, json, text);
    write_text(json, w.json, strlen(w.json));
    sprintf(text, "%sepoch,1,3,0.5\n", w.csv);
    refuses(step, csv, text);
    free(text);
    forget(&w);
}

/* A file that is shorter than at the checkpoint, or missing, goes on with what is written now. */
static void a_shorter_log_goes_on(void **state) {
    (void)state;
    written w = train("shorter", false, 0);
    char *const header_end = strchr(w.csv, '\n');
    assert_non_null(header_end);
    write_text(csv, w.csv, (size_t)(header_end - w.csv) + 1);
    assert_int_equal(remove(json), 0);
    const size_t step = find_checkpoint(2 * STEPS);
    assert_true(step < LAST);
    resume_at(step, false);
    char *const left = without_seconds(json);
    const char *const last = strstr(w.json_lines, "{\"event\":\"epoch\",\"epoch\":3");
    assert_non_null(last);
    assert_string_equal(left, last);
    wi_release(NULL, left);
    forget(&w);
}

/* A training that had no logs gets some. */
static void logs_may_begin_later(void **state) {
    (void)state;
    training t;
    written w = train("later", true, 0);
    assert_ok(wi_file_remove(checkpoint_at(LAST)));
    snprintf(folder, sizeof folder, "%s", test_path("silent"));
    begin(&t, true, false, false);
    assert_ok(weft_trainer_run(t.trainer, t.data));
    end(&t);
    write_text(json, before, sizeof before - 1);
    write_text(csv, "", 0);
    resume_at(LAST, true);
    assert_same_log(json, "{\"event\":\"step\",\"epoch\":9,\"step\":900\n");
    forget(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_come_once),
        cmocka_unit_test(epochs_come_once),
        cmocka_unit_test(an_epoch_that_was_stopped_at_its_end),
        cmocka_unit_test(a_trainer_goes_back),
        cmocka_unit_test(another_log_is_left_alone),
        cmocka_unit_test(a_shorter_log_goes_on),
        cmocka_unit_test(logs_may_begin_later),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
