/* Which failures of a build are remembered: what a compiler says of a source, and nothing that may pass. */
#include "cl/build_log.h"
#include "cl/quirks.h"
#include "support/checks.h"
#include "support/scratch.h"
#include "support/small_program.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

static const char bad_source[] =
    "__kernel void bad(__global float *x) {\n    *x = weft_undeclared_name;\n}\n";

static void count_builds(void *user, size_t done, size_t total, const char *what) {
    if (done == total && strcmp(what, "the program") == 0) ++*(int *)user;
}

static weft_context *open_counted(const char *folder, int *builds) {
    weft_context *context = NULL;
    assert_ok(
        weft_context_create(&context, &(weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .cache_dir = folder,
                                          .progress = count_builds, .progress_user = builds}));
    return context;
}

static weft_status get(weft_context *context, const char *source) {
    wi_program *program = NULL;
    return wi_program_get(&program, wi_context_device(context), "the program", source, NULL);
}

static void only_a_position_and_an_error_are_a_verdict(void **state) {
    static const char *const verdicts[] = {
        "error: /tmp/pocl/tempfile_32nQun.cl:2:77: undeclared identifier 'x'\nDevice failed to build\n",
        "<kernel>:12:5: error: expected ';'", "1 warning generated.\ninput.cl:3:1: fatal error: no type\n",
        "(12:0) : error : undefined identifier", "program(7): Error: syntax", "a.cl(7,3): error X3000"};
    static const char *const failures[] = {"", "CL_BUILD_PROGRAM_FAILURE", "1 error generated.\n",
        "Device pthread-skylake failed to build the program\n", "error: cannot open /tmp/pocl/a.cl",
        "fatal error: error in backend: IO failure on output stream: No space left on device\n",
        "input.cl:3:1: warning: unused\nerror: linking failed", "error :", "error ("};
    (void)state;
    for (size_t i = 0; i < sizeof verdicts / sizeof *verdicts; i++) {
        if (!wi_build_log_is_verdict(verdicts[i])) fail_msg("no verdict: %s", verdicts[i]);
    }
    for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
        if (wi_build_log_is_verdict(failures[i])) fail_msg("a verdict: %s", failures[i]);
    }
}

/* A limit on the size of files stands for a full disk. PoCL writes sources to its cache before it compiles them. */
static void limit_files(rlim_t bytes, struct rlimit *before) {
    assert_int_equal(getrlimit(RLIMIT_FSIZE, before), 0);
    struct rlimit tight = *before;
    tight.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
}

static void a_full_disk_of_the_driver_is_not_remembered(void **state) {
    static char source[16384];
    char *const folder = scratch_make();
    struct rlimit before;
    int builds = 0;
    weft_context *context = open_counted(folder, &builds);
    (void)state;
    memset(source, ' ', sizeof source - 1);
    memcpy(source, SMALL_SOURCE, sizeof SMALL_SOURCE - 1);
    void (*const handler)(int) = signal(SIGXFSZ, SIG_IGN);
    limit_files(8192, &before);
    const weft_status full = get(context, source);
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, handler);
    const bool writes = wi_context_device(context)->caps.quirks & WI_QUIRK_OWN_CACHE;
    assert_status(full, writes ? WEFT_ERROR_BUILD : WEFT_OK);
    assert_int_equal(wi_programs_stats(wi_context_device(context))->interrupted, writes);
    assert_ok(get(context, source)); /* in the same context */
    weft_context_release(context);
    context = open_counted(folder, &builds);
    assert_ok(get(context, source)); /* and in the next */
    weft_context_release(context);
    scratch_remove(folder);
}

static void forgotten_failures_are_tried_again(void **state) {
    char *const folder = scratch_make();
    size_t forgotten = 99;
    int builds = 0;
    (void)state;
    for (int round = 0; round < 3; round++) {
        weft_context *const context = open_counted(folder, &builds);
        assert_fails(get(context, bad_source), WEFT_ERROR_BUILD, "weft_undeclared_name");
        assert_ok(small_program_use(context, NULL));
        wi_programs_save(wi_context_device(context));
        weft_context_release(context);
        assert_int_equal(builds, round < 2 ? 1 : 2);
        if (round == 0) continue;
        const int entries = scratch_count(folder, ".weft", NULL);
        assert_ok(wi_disk_cache_forget_failures(NULL, folder, &forgotten));
        assert_int_equal(forgotten, 1);
        assert_int_equal(scratch_count(folder, ".weft", NULL), entries - 1);
    }
    assert_ok(wi_disk_cache_forget_failures(NULL, folder, &forgotten));
    assert_int_equal(forgotten, 0);
    assert_ok(wi_disk_cache_forget_failures(NULL, scratch_path(folder, "none"), &forgotten));
    assert_ok(wi_disk_cache_forget_failures(NULL, "", &forgotten));
    assert_int_equal(forgotten, 0);
    scratch_remove(folder);
}

static void another_driver_is_asked_again(void **state) {
    char *const folder = scratch_make();
    int builds = 0;
    (void)state;
    for (int round = 0; round < 2; round++) {
        weft_context *const context = open_counted(folder, &builds);
        wi_device *const device = wi_context_device(context);
        assert_status(get(context, bad_source), WEFT_ERROR_BUILD);
        assert_int_equal(builds, round == 0 ? 1 : 2);
        strcat(device->info.driver, "+new");
        wi_disk_cache_close(device);
        assert_ok(wi_disk_cache_open(device, folder));
        assert_status(get(context, bad_source), WEFT_ERROR_BUILD);
        assert_int_equal(builds, 2); /* in the second round the new driver's refusal is known, too */
        weft_context_release(context);
    }
    scratch_remove(folder);
}

/* Programs with other options are others; options that no compiler knows are refused. */
static void asked_options_reach_the_compiler(void **state) {
    static const char source[] = "#ifndef ASKED\n#error weft_not_asked\n#endif\n" SMALL_SOURCE;
    char *const folder = scratch_make();
    int builds = 0;
    weft_context *const context = open_counted(folder, &builds);
    (void)state;
    assert_fails(get(context, source), WEFT_ERROR_BUILD, "weft_not_asked");
    setenv("WEFT_BUILD_OPTIONS", "-cl-opt-disable -D ASKED", 1);
    assert_ok(get(context, source));
    assert_ok(get(context, source));
    assert_int_equal(builds, 2);
    setenv("WEFT_BUILD_OPTIONS", "-weft-unknown", 1);
    if (wi_context_device(context)->caps.quirks &
        WI_QUIRK_SLOW_HEADER) /* others may pass over it, or name it in a log */
        assert_fails(get(context, source), WEFT_ERROR_ARGUMENT,
            "rejects the options WEFT_BUILD_OPTIONS=-weft-unknown");
    unsetenv("WEFT_BUILD_OPTIONS");
    weft_context_release(context);
    scratch_remove(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_a_position_and_an_error_are_a_verdict),
        cmocka_unit_test(a_full_disk_of_the_driver_is_not_remembered),
        cmocka_unit_test(forgotten_failures_are_tried_again),
        cmocka_unit_test(another_driver_is_asked_again),
        cmocka_unit_test(asked_options_reach_the_compiler),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
