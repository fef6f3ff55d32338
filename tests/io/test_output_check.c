/* Files that are written at the end are tried at the start, and nothing is there afterwards that was not before. */
#include "support/checks.h"
#include "support/scratch.h"
#include "support/two_classes.h"
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static void write_file(const char *path, const char *text) {
    FILE *const file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void assert_holds(const char *path, const char *text) {
    char held[64] = "";
    FILE *const file = fopen(path, "r");
    assert_non_null(file);
    held[fread(held, 1, sizeof held - 1, file)] = '\0';
    fclose(file);
    assert_string_equal(held, text);
}

static void files_are_tried_and_left_alone(void **state) {
    const char *const folder = *state;
    struct stat before, after;
    assert_ok(weft_output_check(scratch_path(folder, "new")));
    assert_int_equal(scratch_count(folder, "", NULL), 0);
    write_file(scratch_path(folder, "old"), "content");
    assert_int_equal(stat(scratch_path(folder, "old"), &before), 0);
    assert_ok(weft_output_check(scratch_path(folder, "old")));
    assert_int_equal(stat(scratch_path(folder, "old"), &after), 0);
    assert_true(before.st_ino == after.st_ino && before.st_mtime == after.st_mtime);
    assert_holds(scratch_path(folder, "old"), "content");
    assert_int_equal(scratch_count(folder, "", NULL), 1);
    assert_fails(weft_output_check(scratch_path(folder, "none/new")), WEFT_ERROR_FILE, "none/new");
    assert_fails(weft_output_check(folder), WEFT_ERROR_FILE, folder);
    assert_status(weft_output_check(NULL), WEFT_ERROR_ARGUMENT);
    assert_status(weft_output_check(""), WEFT_ERROR_ARGUMENT);
}

/* Root may write everywhere: it becomes another user meanwhile. */
static void folders_that_may_only_be_read(void **state) {
    const char *const folder = *state;
    const bool is_root = geteuid() == 0;
    assert_int_equal(chmod(folder, 0555), 0);
    if (is_root) assert_int_equal(seteuid(65534), 0);
    const weft_status status = weft_output_check(scratch_path(folder, "new"));
    if (is_root) assert_int_equal(seteuid(0), 0);
    assert_int_equal(chmod(folder, 0755), 0);
    assert_int_equal(status, WEFT_ERROR_FILE);
}

/* One path that is wrong: no step runs, the file of the other log keeps what it had, and no folder is made. */
static void a_trainer_tries_all_before_it_begins(void **state) {
    const char *const folder = *state;
    enum { KINDS = 4 };
    char log[4096], wrong[4096], inside[4096], checkpoints[4096];
    snprintf(log, sizeof log, "%s", scratch_path(folder, "log.csv"));
    snprintf(wrong, sizeof wrong, "%s", scratch_path(folder, "none/file"));
    snprintf(inside, sizeof inside, "%s", scratch_path(folder, "log.csv/file"));
    snprintf(checkpoints, sizeof checkpoints, "%s", scratch_path(folder, "checkpoints"));
    const weft_trainer_options rows[KINDS] = {{.csv_log = log, .json_log = wrong, .checkpoint = checkpoints},
        {.csv_log = log, .early_stopping.best_file = wrong, .checkpoint = checkpoints},
        {.csv_log = log, .json_log = folder, .checkpoint = checkpoints},
        {.csv_log = log, .checkpoint = inside}};
    const char *const parts[KINDS] = {"none/file", "none/file", "directory", "log.csv/file"};
    weft_context *const context = scratch_context(folder, NULL);
    const problem points = make_problem();
    weft_dataset *const data = make_dataset(context, &points);
    for (size_t i = 0; i < KINDS; i++) {
        weft_training_info info;
        const network net = make_network(context);
        weft_trainer *const trainer = make_trainer(&net, rows[i]);
        write_file(log, "before");
        assert_fails(weft_trainer_run(trainer, data), WEFT_ERROR_FILE, parts[i]);
        weft_trainer_get_info(trainer, &info);
        assert_int_equal(info.steps, 0);
        assert_holds(log, "before");
        assert_int_equal(access(checkpoints, F_OK), -1);
        weft_trainer_release(trainer);
        weft_graph_release(net.graph);
    }
    /* Logs may lie in the folder for checkpoints, which the run makes. */
    snprintf(inside, sizeof inside, "%s", scratch_path(folder, "checkpoints/log.json"));
    const network net = make_network(context);
    weft_trainer *const trainer =
        make_trainer(&net, (weft_trainer_options){.json_log = inside, .checkpoint = checkpoints});
    assert_ok(weft_trainer_run(trainer, data));
    assert_int_equal(access(inside, F_OK), 0);
    weft_trainer_release(trainer);
    weft_graph_release(net.graph);
    weft_dataset_release(data);
    weft_context_release(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(files_are_tried_and_left_alone),
        SCRATCH_TEST(folders_that_may_only_be_read),
        SCRATCH_TEST(a_trainer_tries_all_before_it_begins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
