/* Environment variables (contract in environment.h). */
#include "cl/environment.h"
#include "base/memory.h"
#include "base/platform.h"
#include "base/status.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_VALUES = 16 };

/* docs/concepts.md and docs/internals.md document these values; the test structure.environment compares them. */
static const struct {
    const char *name, *values[MOST_VALUES];
} switches[WI_SWITCHES] = {
    [WI_SWITCH_MATRIX_ENGINES] = {"WEFT_MATRIX_ENGINES",
        {"0", "avx512", "model", "model-mma", "model-wmma", "model-wmma12", "model-mfma", "model-xmx8",
            "model-xmx16"}},
    [WI_SWITCH_SUB_GROUPS] = {"WEFT_SUB_GROUPS", {"0", "1", "model-8", "model-16", "model-32", "model-64"}},
    [WI_SWITCH_ASYNC_COPIES] = {"WEFT_ASYNC_COPIES", {"0", "model", "model-late"}},
    [WI_SWITCH_SELF_TEST] = {"WEFT_SELF_TEST", {"0", "1"}},
    [WI_SWITCH_UPLOAD_QUEUE] = {"WEFT_UPLOAD_QUEUE", {"0", "1"}},
    [WI_SWITCH_WAIT] = {"WEFT_WAIT", {"driver", "sleep"}},
    [WI_SWITCH_VERIFY] = {"WEFT_VERIFY", {"0", "1"}},
};

const char *wi_switch_name(wi_switch which) {
    return switches[which].name;
}

const char *wi_switch_allowed(wi_switch which, int i) {
    return i < MOST_VALUES ? switches[which].values[i] : NULL;
}

const char *wi_switch_value(wi_switch which) {
    const char *const value = wi_environment(switches[which].name), *allowed;
    for (int i = 0; value && (allowed = wi_switch_allowed(which, i)) != NULL; i++) {
        if (strcmp(value, allowed) == 0) return allowed;
    }
    return NULL;
}

bool wi_switch_is(wi_switch which, const char *value) {
    const char *const own = wi_switch_value(which);
    return own && strcmp(own, value) == 0;
}

static weft_status check_switch(wi_switch which) {
    const char *const value = wi_environment(switches[which].name);
    char known[256] = "";
    size_t length = 0;
    if (!value || wi_switch_value(which)) return WEFT_OK;
    for (int i = 0; wi_switch_allowed(which, i); i++) {
        const char *const between = i == 0 ? "" : wi_switch_allowed(which, i + 1) ? ", " : " or ";
        length += (size_t)snprintf(
            known + length, sizeof known - length, "%s%s", between, wi_switch_allowed(which, i));
    }
    WI_FAIL(WEFT_ERROR_ARGUMENT, "%s is '%.64s'; it must be %s", switches[which].name, value, known);
}

/* ---- numbers ---- */

static const double most_work_units = 4096, most_compile_processes = 64;

/* NAN if the text is not a finite number. */
static double number_of(const char *text) {
    wi_locale locale;
    char *end = NULL;
    wi_locale_enter(&locale);
    const double number = strtod(text, &end);
    wi_locale_leave(&locale);
    return end != text && *end == '\0' && isfinite(number) ? number : (double)NAN;
}

static weft_status read_work_units(size_t *units) {
    const char *const text = wi_environment("WEFT_WORK_UNITS");
    if ((double)*units > most_work_units)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_context_create: work_units is %zu; the most is %g", *units,
            most_work_units);
    if (*units > 0 || !text) return WEFT_OK;
    const double number = number_of(text);
    if (!(number >= 1 && number <= most_work_units && number == floor(number)))
        WI_FAIL(WEFT_ERROR_ARGUMENT, "WEFT_WORK_UNITS is '%.64s'; it must be a whole number from 1 to %g",
            text, most_work_units);
    *units = (size_t)number;
    return WEFT_OK;
}

static weft_status read_longest_launch(double *seconds) {
    const char *const text = wi_environment("WEFT_LONGEST_LAUNCH");
    if (!isfinite(*seconds))
        WI_FAIL(
            WEFT_ERROR_ARGUMENT, "weft_context_create: longest_launch is %g; it must be a number", *seconds);
    if (*seconds != 0.0 || !text) return WEFT_OK;
    *seconds = number_of(text);
    if (isfinite(*seconds)) return WEFT_OK;
    WI_FAIL(WEFT_ERROR_ARGUMENT, "WEFT_LONGEST_LAUNCH is '%.64s'; it must be a number", text);
}

/* The variable is for those who run a program, so it has priority over what the program chose. */
static weft_status read_compile_processes(size_t *count) {
    const char *const text = wi_environment("WEFT_COMPILE_PROCESSES");
    const double number = text ? number_of(text) : 0.0;
    if (!text) return WEFT_OK;
    if (!(number >= 0 && number <= most_compile_processes && number == floor(number)))
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "WEFT_COMPILE_PROCESSES is '%.64s'; it must be a whole number from 0 to %g", text,
            most_compile_processes);
    *count = (size_t)number;
    return WEFT_OK;
}

weft_status wi_environment_read(weft_context_options *options) {
    for (int i = 0; i < WI_SWITCHES; i++) WI_TRY(check_switch((wi_switch)i));
    WI_TRY(read_work_units(&options->work_units));
    WI_TRY(read_longest_launch(&options->longest_launch));
    WI_TRY(read_compile_processes(&options->compile_processes));
    if (!options->device) options->device = wi_environment("WEFT_DEVICE");
    return WEFT_OK;
}
