/* Names of statuses, and the error message of each thread (contract in status.h).
 *
 * The messages are thread-local, so that threads share nothing here. */
#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char last_error[WI_ERROR_LINE];
/* The message of the latest error of a graph on this thread, and the graph that has this error; NULL: there is none. */
static _Thread_local char cause[WI_ERROR_LINE];
static _Thread_local const void *cause_owner;

static const char *const status_names[] = {
    [WEFT_OK] = "WEFT_OK",
    [WEFT_ERROR_ARGUMENT] = "WEFT_ERROR_ARGUMENT",
    [WEFT_ERROR_SHAPE] = "WEFT_ERROR_SHAPE",
    [WEFT_ERROR_DTYPE] = "WEFT_ERROR_DTYPE",
    [WEFT_ERROR_STATE] = "WEFT_ERROR_STATE",
    [WEFT_ERROR_MEMORY] = "WEFT_ERROR_MEMORY",
    [WEFT_ERROR_DEVICE_MEMORY] = "WEFT_ERROR_DEVICE_MEMORY",
    [WEFT_ERROR_MEMORY_LIMIT] = "WEFT_ERROR_MEMORY_LIMIT",
    [WEFT_ERROR_NO_DEVICE] = "WEFT_ERROR_NO_DEVICE",
    [WEFT_ERROR_OPENCL] = "WEFT_ERROR_OPENCL",
    [WEFT_ERROR_BUILD] = "WEFT_ERROR_BUILD",
    [WEFT_ERROR_FILE] = "WEFT_ERROR_FILE",
    [WEFT_ERROR_FORMAT] = "WEFT_ERROR_FORMAT",
    [WEFT_ERROR_NOT_FINITE] = "WEFT_ERROR_NOT_FINITE",
    [WEFT_ERROR_CANCELLED] = "WEFT_ERROR_CANCELLED",
    [WEFT_ERROR_UNSUPPORTED] = "WEFT_ERROR_UNSUPPORTED",
    [WEFT_ERROR_INTERNAL] = "WEFT_ERROR_INTERNAL",
    [WEFT_ERROR_PEER] = "WEFT_ERROR_PEER",
};

_Static_assert(
    sizeof status_names / sizeof *status_names == (size_t)WEFT_ERROR_PEER + 1, "every status has a name");

const char *weft_status_name(weft_status status) {
    const size_t index = (size_t)status;
    return index < sizeof status_names / sizeof *status_names ? status_names[index] : "unknown status";
}

const char *weft_last_error(void) {
    return last_error;
}

#define TEXT_OF(x)            #x
#define VERSION_TEXT(a, b, c) TEXT_OF(a) "." TEXT_OF(b) "." TEXT_OF(c)

const char *weft_version(void) {
    return VERSION_TEXT(WEFT_VERSION_MAJOR, WEFT_VERSION_MINOR, WEFT_VERSION_PATCH);
}

#ifdef WEFT_WITH_CLBLAST
#define WITH_CLBLAST "yes"
#else
#define WITH_CLBLAST "no"
#endif
#ifdef WEFT_WITH_PNG
#define WITH_PNG "yes"
#else
#define WITH_PNG "no"
#endif
#ifdef WEFT_WITH_JPEG
#define WITH_JPEG "yes"
#else
#define WITH_JPEG "no"
#endif
#ifdef WEFT_WITH_ONNX
#define WITH_ONNX "yes"
#else
#define WITH_ONNX "no"
#endif

const char *weft_build_options(void) {
    return "clblast=" WITH_CLBLAST " png=" WITH_PNG " jpeg=" WITH_JPEG " onnx=" WITH_ONNX;
}

/* Replaces line breaks and tabs, which messages of drivers may have, by spaces, and removes trailing spaces. */
static void make_one_line(char *line) {
    size_t end = 0;
    for (size_t i = 0; line[i] != '\0'; i++) {
        if (line[i] == '\n' || line[i] == '\r' || line[i] == '\t') line[i] = ' ';
        if (line[i] != ' ') end = i + 1;
    }
    line[end] = '\0';
}

weft_status wi_fail(weft_status status, const char *format, ...) {
    /* Formatted in a second buffer, because the arguments may point into last_error. */
    char line[WI_ERROR_LINE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    make_one_line(line);
    memcpy(last_error, line, strlen(line) + 1);
    return status;
}

void wi_error_save(char *buffer, size_t capacity) {
    snprintf(buffer, capacity, "%s", last_error);
}

void wi_error_restore(const char *line) {
    if (line != last_error) snprintf(last_error, sizeof last_error, "%s", line);
}

void wi_error_add(const char *place) {
    const size_t length = strlen(last_error);
    if (strstr(last_error, place)) return; /* already added, if an error passes through several calls */
    snprintf(last_error + length, sizeof last_error - length, "%s", place);
}

void wi_cause_note(const void *owner) {
    cause_owner = owner;
    wi_error_save(cause, sizeof cause);
}

void wi_cause_forget(const void *owner) {
    if (cause_owner == owner) cause_owner = NULL;
}

weft_status wi_fail_null(const char *call, const char *what) {
    if (!cause_owner) WI_FAIL(WEFT_ERROR_ARGUMENT, "%s: %s is NULL", call, what);
    WI_FAIL(WEFT_ERROR_ARGUMENT, "%s: %s is NULL because an earlier call failed: %s", call, what, cause);
}

bool wi_is_lack_of_memory(weft_status status) {
    return status == WEFT_ERROR_MEMORY || status == WEFT_ERROR_DEVICE_MEMORY ||
           status == WEFT_ERROR_MEMORY_LIMIT;
}
