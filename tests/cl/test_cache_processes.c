/* Several processes on one cache folder at once. The parent opens no device: drivers do not survive a fork.
 */
#include "base/platform.h"
#include "cl/device_values.h"
#include "support/checks.h"
#include "support/scratch.h"
#include "support/small_program.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROCESSES = 4, ROUNDS = 3 };

static weft_status open_and_use(const char *folder, size_t *built) {
    weft_context *context = NULL;
    WI_TRY(weft_context_create(
        &context, &(weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .cache_dir = folder}));
    const weft_status status = small_program_use(context, NULL);
    wi_device_value_set(wi_context_device(context), "shared", 0.25);
    *built = wi_programs_stats(wi_context_device(context))->built;
    wi_programs_save(wi_context_device(context));
    weft_context_release(context);
    return status;
}

/* The exit status: 0 for success; with wants_cached only when nothing was built. */
static int be_child(const char *folder, bool wants_cached) {
    for (int i = 0; i < ROUNDS; i++) {
        size_t built = 0;
        if (open_and_use(folder, &built) != WEFT_OK) {
            fprintf(stderr, "%s\n", weft_last_error());
            return 1;
        }
        if (wants_cached && built > 0) return 2;
    }
    return 0;
}

static pid_t start_child(const char *folder, bool wants_cached) {
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) _exit(be_child(folder, wants_cached));
    return child;
}

static void assert_succeeds(pid_t child) {
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* Entries that opening a device adds: the probe's result, the rate of its engine. Found out by a child: a process that has
 * OpenCL open must not fork others that open it, too. */
static int entries_of_opening(void) {
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        weft_context *context = NULL;
        const weft_context_options options = {WEFT_CONTEXT_OPTIONS_INIT, .cache_dir = ""};
        if (weft_context_create(&context, &options) != WEFT_OK) _exit(3);
        const wi_capabilities *const caps = &wi_context_device(context)->caps;
        _exit((caps->device_class != WEFT_CLASS_CPU) + (caps->engine_rate > 0.0));
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 3);
    return WEXITSTATUS(status);
}

static void processes_share_a_folder(void **state) {
    char *const folder = scratch_make();
    pid_t children[PROCESSES];
    (void)state;
    for (int i = 0; i < PROCESSES; i++) children[i] = start_child(folder, false);
    for (int i = 0; i < PROCESSES; i++) assert_succeeds(children[i]);
    assert_int_equal(scratch_count(folder, ".tmp", NULL), 0);
    /* The program, the value, and what opening adds. */
    assert_int_equal(scratch_count(folder, ".weft", NULL), 2 + entries_of_opening());
    assert_succeeds(start_child(folder, true));
    scratch_remove(folder);
}

/* A process that dies while it writes leaves the others unharmed. */
static void a_killed_process_harms_nobody(void **state) {
    char *const folder = scratch_make();
    (void)state;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        wi_file_writer *writer = NULL;
        const char *const path = scratch_path(folder, "0123456789abcdef0123456789abcdef.weft");
        if (wi_file_writer_begin(&writer, NULL, path) != WEFT_OK) _exit(1);
        _exit(wi_file_writer_append(writer, "half", 4) != WEFT_OK);
    }
    assert_succeeds(child);
    assert_ok(wi_file_write_atomic(scratch_path(folder, "of the user.tmp"), "", 0));
    assert_int_equal(scratch_count(folder, ".tmp", NULL), 2);
    assert_succeeds(start_child(folder, false));
    assert_succeeds(start_child(folder, true));
    assert_int_equal(
        scratch_count(folder, ".tmp", NULL), 1); /* the next writer removed that of the killed one */
    assert_int_equal(scratch_count(folder, "of the user.tmp", NULL), 1);
    scratch_remove(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes_share_a_folder),
        cmocka_unit_test(a_killed_process_harms_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
