/* Status names, the error line, log lines. */
#include "base/log.h"
#include "base/platform.h"
#include "base/status.h"
#include "support/checks.h"
#include "support/scratch.h"

#include <stdio.h>

static void every_status_has_its_name(void **state) {
    (void)state;
    assert_string_equal(weft_status_name(WEFT_OK), "WEFT_OK");
    assert_string_equal(weft_status_name(WEFT_ERROR_INTERNAL), "WEFT_ERROR_INTERNAL");
    for (int i = 1; i <= (int)WEFT_ERROR_PEER; i++) {
        assert_memory_equal(weft_status_name((weft_status)i), "WEFT_ERROR_", 11);
        for (int j = 0; j < i; j++)
            assert_string_not_equal(weft_status_name((weft_status)i), weft_status_name((weft_status)j));
    }
    assert_string_equal(weft_status_name((weft_status)(WEFT_ERROR_PEER + 1)), "unknown status");
    assert_string_equal(weft_status_name((weft_status)-1), "unknown status");
}

static void lacks_of_memory_are_known(void **state) {
    (void)state;
    for (int i = 0; i <= (int)WEFT_ERROR_PEER; i++) {
        const bool memory = strstr(weft_status_name((weft_status)i), "MEMORY") != NULL;
        assert_int_equal(wi_is_lack_of_memory((weft_status)i), memory);
    }
}

static void the_version_is_the_header_s(void **state) {
    char version[32];
    (void)state;
    snprintf(version, sizeof version, "%d.%d.%d", WEFT_VERSION_MAJOR, WEFT_VERSION_MINOR, WEFT_VERSION_PATCH);
    assert_string_equal(weft_version(), version);
    const char *const options[] = {"clblast=", " png=", " jpeg="};
    for (size_t i = 0; i < 3; i++) {
        const char *const found = strstr(weft_build_options(), options[i]);
        assert_non_null(found);
        const char *const value = found + strlen(options[i]);
        assert_true(strncmp(value, "yes", 3) == 0 || strncmp(value, "no", 2) == 0);
    }
}

static void an_error_is_one_line(void **state) {
    (void)state;
    assert_int_equal(wi_fail(WEFT_ERROR_SHAPE, "conv2d:\n a %d\r\n", 7), WEFT_ERROR_SHAPE);
    assert_string_equal(weft_last_error(), "conv2d:  a 7");
    wi_fail(WEFT_ERROR_SHAPE, "again: %s", weft_last_error());
    assert_string_equal(weft_last_error(), "again: conv2d:  a 7");
}

static void a_long_error_is_cut(void **state) {
    char text[5000];
    (void)state;
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    wi_fail(WEFT_ERROR_BUILD, "%s", text);
    assert_in_range(strlen(weft_last_error()), 1900, 2047);
}

static void an_error_can_be_kept(void **state) {
    char kept[2048];
    (void)state;
    wi_fail(WEFT_ERROR_FILE, "the first");
    wi_error_save(kept, sizeof kept);
    wi_fail(WEFT_ERROR_FILE, "the second");
    wi_error_restore(kept);
    assert_string_equal(weft_last_error(), "the first");
}

static void *fail_elsewhere(void *seen) {
    strcpy(seen, weft_last_error());
    wi_fail(WEFT_ERROR_FILE, "of the other thread");
    return NULL;
}

static void errors_belong_to_their_thread(void **state) {
    char seen[2048] = "unset";
    wi_thread thread = {0};
    (void)state;
    wi_fail(WEFT_ERROR_FILE, "of this thread");
    assert_ok(wi_thread_start(&thread, fail_elsewhere, seen));
    wi_thread_join(&thread);
    wi_thread_join(&thread); /* once more does nothing */
    assert_string_equal(seen, "");
    assert_string_equal(weft_last_error(), "of this thread");
}

static void log_lines_reach_the_callback(void **state) {
    scratch_log kept = {0};
    const wi_log log = {.function = scratch_log_line, .user = &kept}, silent = {0};
    (void)state;
    wi_log_line(&log, WEFT_LOG_WARNING, "one %s\nline", "long");
    wi_log_line(&log, WEFT_LOG_INFO, "two");
    wi_log_line(&silent, WEFT_LOG_WARNING, "nobody hears this");
    assert_string_equal(kept.text, "one long line\ntwo\n");
    assert_int_equal(kept.warnings, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_status_has_its_name),
        cmocka_unit_test(lacks_of_memory_are_known),
        cmocka_unit_test(the_version_is_the_header_s),
        cmocka_unit_test(an_error_is_one_line),
        cmocka_unit_test(a_long_error_is_cut),
        cmocka_unit_test(an_error_can_be_kept),
        cmocka_unit_test(errors_belong_to_their_thread),
        cmocka_unit_test(log_lines_reach_the_callback),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
