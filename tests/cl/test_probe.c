/* Answers of trials: they last, for one device, driver and text; another text is tried anew, and so is what a file that is damaged, or
 * another's, says. */
#include "base/platform.h"
#include "cl/context.h"
#include "cl/device_values.h"
#include "cl/kernel_source.h"
#include "cl/probe.h"
#include "support/checks.h"
#include "support/scratch.h"
#include <limits.h>

/* What the trial is to find, and how often it was made. */
static struct {
    bool right;
    weft_status status;
    int count;
} trial;

static weft_status answer(bool *right, wi_device *device, const void *user) {
    (void)device;
    (void)user;
    trial.count++;
    *right = trial.right;
    if (trial.status != WEFT_OK) WI_FAIL(trial.status, "the trial failed");
    return WEFT_OK;
}

static weft_context *open_logged(const char *folder, scratch_log *log) {
    *log = (scratch_log){0};
    return scratch_context(folder, log);
}

static wi_question question_of(const char *text) {
    return (wi_question){.name = "the test's question",
        .unused = "what is tried is not used",
        .fault = "it is wrong",
        .text = text,
        .answer = answer};
}

/* In a context of its own, twice: the second time memory knows it. *trials: how often it was tried. */
static bool ask(const char *folder, const char *text, scratch_log *log, int *trials) {
    bool right = false, again = false;
    weft_context *const context = open_logged(folder, log);
    const wi_question question = question_of(text);
    trial.count = 0;
    assert_ok(wi_probe_ask(&right, wi_context_device(context), &question));
    assert_ok(wi_probe_ask(&again, wi_context_device(context), &question));
    assert_int_equal(right, again);
    *trials = trial.count;
    weft_context_release(context);
    return right;
}

static void answers_are_of_a_text(void **state) {
    scratch_log log;
    int trials;
    trial.right = true;
    trial.status = WEFT_OK;
    assert_true(ask(*state, "one", &log, &trials));
    assert_int_equal(trials, 1);
    trial.right = false; /* nobody asks */
    assert_true(ask(*state, "one", &log, &trials));
    assert_int_equal(trials, 0);
    assert_false(ask(*state, "two", &log, &trials));
    assert_int_equal(trials, 1);
    assert_non_null(strstr(log.text, "what is tried is not used: it is wrong"));
    trial.right = true;
    assert_false(ask(*state, "two", &log, &trials));
    assert_int_equal(trials, 0);
    assert_null(strstr(log.text, "is not used"));
    assert_true(ask(*state, "one", &log, &trials));
    assert_int_equal(trials, 0);
}

/* The name that the answer has on disk. */
static void name_of(char name[WI_PROBE_NAME], const char *text) {
    wi_text source;
    wi_text_init(&source, NULL);
    assert_ok(wi_kernel_source_include(&source, "common.clh"));
    wi_text_append(&source, "%s", text);
    wi_probe_name(name, question_of(text).name, source.data);
    wi_text_clear(&source);
}

static void damaged_answers_are_tried_anew(void **state) {
    char name[WI_PROBE_NAME], path[PATH_MAX];
    scratch_log log;
    int trials;
    trial.right = true;
    trial.status = WEFT_OK;
    assert_true(ask(*state, "one", &log, &trials));
    weft_context *context = open_logged(*state, &log);
    name_of(name, "one");
    wi_disk_cache_path(wi_context_device(context),
        wi_disk_cache_key(wi_context_device(context), "value of a device", name), path, sizeof path);
    weft_context_release(context);
    assert_true(wi_file_exists(path));
    assert_ok(wi_file_write_atomic(path, "junk", 4));
    assert_true(ask(*state, "one", &log, &trials));
    assert_int_equal(trials, 1);
    assert_non_null(strstr(log.text, "is damaged"));
    static const double strange[] = {0.5, -1.0, 2.0};
    for (size_t i = 0; i < sizeof strange / sizeof *strange; i++) {
        context = open_logged(*state, &log);
        wi_device_value_set(wi_context_device(context), name, strange[i]);
        weft_context_release(context);
        assert_true(ask(*state, "one", &log, &trials));
        assert_int_equal(trials, 1);
        assert_non_null(strstr(log.text, "is not a valid test result and is ignored"));
    }
}

/* What may pass is asked again by the next context; what the compiler says is not. */
static void failures_that_may_pass_are_not_kept(void **state) {
    scratch_log log;
    int trials;
    trial.right = true;
    trial.status = WEFT_ERROR_OPENCL;
    for (int time = 0; time < 2; time++) {
        assert_false(ask(*state, "one", &log, &trials));
        assert_int_equal(trials, 1);
        assert_non_null(strstr(log.text, "what is tried is not used: the trial failed"));
    }
    trial.status = WEFT_ERROR_BUILD;
    assert_false(ask(*state, "one", &log, &trials));
    assert_int_equal(trials, 1);
    assert_false(ask(*state, "one", &log, &trials));
    assert_int_equal(trials, 0);
}

static void lack_of_memory_is_an_error(void **state) {
    scratch_log log;
    bool right = true;
    const wi_question question = question_of("one");
    weft_context *const context = open_logged(*state, &log);
    trial.status = WEFT_ERROR_DEVICE_MEMORY;
    assert_fails(wi_probe_ask(&right, wi_context_device(context), &question), WEFT_ERROR_DEVICE_MEMORY,
        "the trial failed");
    assert_false(right);
    assert_false(wi_probe_passes(wi_context_device(context), &question));
    assert_int_equal(log.warnings, 0);
    trial.status = WEFT_OK;
    assert_true(wi_probe_passes(wi_context_device(context), &question));
    weft_context_release(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {SCRATCH_TEST(answers_are_of_a_text),
        SCRATCH_TEST(damaged_answers_are_tried_anew), SCRATCH_TEST(failures_that_may_pass_are_not_kept),
        SCRATCH_TEST(lack_of_memory_is_an_error)};
    return cmocka_run_group_tests_name("probe", tests, NULL, NULL);
}
