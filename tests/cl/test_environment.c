/* Variables of the environment: each value that a switch has is taken, and any other is an error of the context that names the variable,
 * the value, and what is allowed, whatever devices there are. */
#include "cl/context.h"
#include "cl/environment.h"
#include "cl/gpu_engines.h"
#include "support/fixture.h"
#include "support/scratch.h"
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void unknown_values_are_errors(void **state) {
    (void)state;
    for (int i = 0; i < WI_SWITCHES; i++) {
        char line[128];
        scratch_log log = {0};
        weft_context *context = NULL;
        const char *const name = wi_switch_name((wi_switch)i), *allowed;
        setenv(name, "often", 1);
        snprintf(line, sizeof line, "%s is 'often'; it must be ", name);
        const weft_context_options options = {
            WEFT_CONTEXT_OPTIONS_INIT, .log = scratch_log_line, .log_user = &log};
        assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_context_create(&context, &options), line);
        assert_null(context);
        assert_int_equal(log.warnings, 0); /* no device was tried */
        for (int k = 0; (allowed = wi_switch_allowed((wi_switch)i, k)) != NULL; k++)
            if (!strstr(weft_last_error(), allowed)) fail_msg("%s: %s", allowed, weft_last_error());
        assert_null(wi_switch_value((wi_switch)i));
        unsetenv(name);
    }
}

static void known_values_are_taken(void **state) {
    (void)state;
    for (int i = 0; i < WI_SWITCHES; i++) {
        const char *const name = wi_switch_name((wi_switch)i), *allowed;
        for (int k = 0; (allowed = wi_switch_allowed((wi_switch)i, k)) != NULL; k++) {
            setenv(name, allowed, 1);
            assert_true(wi_switch_is((wi_switch)i, allowed));
            assert_false(wi_switch_is((wi_switch)i, "often"));
            weft_context_release(test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT}));
        }
        setenv(name, "", 1);
        assert_null(wi_switch_value((wi_switch)i)); /* as if it was not set */
        unsetenv(name);
    }
}

/* A value that is allowed, but that nobody knows, would do nothing. */
static void every_model_is_one(void **state) {
    const char *allowed;
    (void)state;
    for (int k = 0; (allowed = wi_switch_allowed(WI_SWITCH_MATRIX_ENGINES, k)) != NULL; k++) {
        const bool is_model = strncmp(allowed, "model", strlen("model")) == 0;
        assert_int_equal(wi_engine_modelled(allowed, WEFT_CLASS_GPU) != 0, is_model);
    }
    for (int k = 0; (allowed = wi_switch_allowed(WI_SWITCH_SUB_GROUPS, k)) != NULL; k++) {
        setenv("WEFT_SUB_GROUPS", allowed, 1);
        weft_context *const context = test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT});
        const wi_device *const device = wi_context_device(context);
        if (device->profile.device_class == WEFT_CLASS_GPU && strncmp(allowed, "model", strlen("model")) == 0)
            assert_non_null(device->caps.exchange);
        weft_context_release(context);
    }
    unsetenv("WEFT_SUB_GROUPS");
}

static wi_capabilities caps_with(const char *copies) {
    setenv("WEFT_ASYNC_COPIES", copies, 1);
    weft_context *const context = test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT});
    const wi_capabilities caps = wi_context_device(context)->caps;
    weft_context_release(context);
    unsetenv("WEFT_ASYNC_COPIES");
    return caps;
}

static void copies_are_what_the_switch_says(void **state) {
    (void)state;
    assert_false(caps_with("0").async_copies);
    assert_int_equal(caps_with("model").copy_model, WI_COPIES_AT_ONCE);
    assert_int_equal(caps_with("model-late").copy_model, WI_COPIES_LATE);
    assert_true(caps_with("model-late").async_copies);
}

/* The variables' numbers have a point in every locale. */
static void numbers_are_those_of_c(void **state) {
    static const char *const commas[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "fr_FR.utf8"};
    const char *comma = NULL;
    (void)state;
    for (size_t i = 0; i < 4 && !comma; i++) comma = setlocale(LC_NUMERIC, commas[i]);
    if (!comma) print_message("no locale with a decimal comma is installed; checked with a point only\n");
    setenv("WEFT_LONGEST_LAUNCH", "0.25", 1);
    weft_context *const context = test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT});
    assert_true(wi_context_device(context)->caps.longest_launch == 0.25);
    weft_context_release(context);
    unsetenv("WEFT_LONGEST_LAUNCH");
    setlocale(LC_NUMERIC, "C");
}

static void wrong_numbers_are_errors(void **state) {
    static const struct {
        const char *variable, *value, *allowed;
    } wrong[] = {{"WEFT_WORK_UNITS", "2.5", "whole number from 1 to 4096"},
        {"WEFT_WORK_UNITS", "0", "from 1 to 4096"}, {"WEFT_LONGEST_LAUNCH", "0,25", "a number"},
        {"WEFT_LONGEST_LAUNCH", "inf", "a number"}, {"WEFT_COMPILE_PROCESSES", "65", "from 0 to 64"},
        {"WEFT_COMPILE_PROCESSES", "-1", "from 0 to 64"}, {"WEFT_COMPILE_PROCESSES", "all", "from 0 to 64"}};
    weft_context *context = NULL;
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char line[128];
        snprintf(line, sizeof line, "%s is '%s'; it must be a ", wrong[i].variable, wrong[i].value);
        setenv(wrong[i].variable, wrong[i].value, 1);
        assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_context_create(&context, NULL), line, wrong[i].allowed);
        unsetenv(wrong[i].variable);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(unknown_values_are_errors),
        cmocka_unit_test(known_values_are_taken), cmocka_unit_test(every_model_is_one),
        cmocka_unit_test(copies_are_what_the_switch_says), cmocka_unit_test(numbers_are_those_of_c),
        cmocka_unit_test(wrong_numbers_are_errors)};
    return test_finish(cmocka_run_group_tests_name("environment", tests, NULL, NULL));
}
