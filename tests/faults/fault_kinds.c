/* Memory and OpenCL as kinds of faults. */
#include "cl/opened_device.h"
#include "fault_files.h"
#include "fault_kind.h"
#include "fault_layer.h"
#include "fault_memory.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

static bool never(size_t series) {
    (void)series;
    return false;
}

/* ---- memory: one allocation fails, or all from one on ---- */

static size_t memory_series(void) {
    return 2;
}

static long memory_calls(size_t series) {
    (void)series;
    return fault_memory_asked();
}

static void memory_arm(size_t series, long nth) {
    fault_memory_arm(nth, series == 1);
}

/* The C library says so with errno, in the call of which file it was. */
static bool memory_expects(size_t series, weft_status status, const char *line) {
    (void)series;
    return status == WEFT_ERROR_MEMORY ||
           (status == WEFT_ERROR_FILE && strstr(line, "Cannot allocate memory") != NULL);
}

static void memory_describe(size_t series, char *text, size_t capacity) {
    snprintf(text, capacity, "%s from %s", series ? "no memory" : "one allocation fails,",
        fault_memory_name(fault_memory_site()));
}

const fault_kind fault_kind_memory = {.name = "memory",
    .open = fault_memory_open,
    .series = memory_series,
    .calls = memory_calls,
    .arm = memory_arm,
    .hit = fault_memory_hit,
    .expects = memory_expects,
    .is_remembered = never,
    .describe = memory_describe};

/* ---- OpenCL: each function with each of its errors, and each command later, too ---- */

enum { LATER = -5 }; /* CL_OUT_OF_RESOURCES */

typedef struct opencl_case {
    const fault_function *of;
    size_t function;
    cl_int error; /* 0: there is no such series */
    bool later;
} opencl_case;

static opencl_case find(size_t series) {
    const fault_function *functions;
    const size_t count = fault_layer_functions(&functions);
    for (size_t i = 0; i < count; i++) {
        size_t errors = 0;
        while (functions[i].errors[errors]) errors++;
        if (series < errors) return (opencl_case){&functions[i], i, functions[i].errors[series], false};
        series -= errors;
        if (functions[i].enqueues && series-- == 0) return (opencl_case){&functions[i], i, LATER, true};
    }
    return (opencl_case){0};
}

static size_t opencl_series(void) {
    size_t count = 0;
    while (find(count).error) count++;
    return count;
}

static long opencl_calls(size_t series) {
    return fault_layer_calls(find(series).function);
}

static void opencl_arm(size_t series, long nth) {
    const opencl_case c = find(series);
    fault_layer_arm(c.function, nth, c.error, c.later);
}

static bool names(const char *line, const opencl_case *c) {
    static const cl_int waited[] = {CL_OUT_OF_RESOURCES, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST};
    for (size_t i = 0; c->later && i < 2; i++)
        if (strstr(line, wi_cl_error_name(waited[i]))) return true;
    return strstr(line, wi_cl_error_name(c->error)) != NULL;
}

static bool opencl_expects(size_t series, weft_status status, const char *line) {
    const opencl_case c = find(series);
    const bool memory = c.error == CL_OUT_OF_HOST_MEMORY || c.error == CL_MEM_OBJECT_ALLOCATION_FAILURE;
    if (c.error == CL_DEVICE_NOT_FOUND) return status == WEFT_ERROR_NO_DEVICE;
    /* A property that a driver does not know counts as none. */
    if (c.error == CL_INVALID_VALUE && strcmp(c.of->name, "clGetDeviceInfo") == 0 &&
        (status == WEFT_ERROR_UNSUPPORTED || status == WEFT_ERROR_NO_DEVICE))
        return true;
    /* Drivers return these when the memory does not suffice. */
    if (strcmp(c.of->name, "clCreateBuffer") == 0 &&
        (c.error == CL_OUT_OF_RESOURCES || c.error == CL_INVALID_BUFFER_SIZE))
        return status == WEFT_ERROR_DEVICE_MEMORY && names(line, &c);
    if (c.error == CL_BUILD_PROGRAM_FAILURE)
        return status == WEFT_ERROR_BUILD && strstr(line, FAULT_BUILD_LOG) != NULL;
    return status == (memory ? WEFT_ERROR_DEVICE_MEMORY : WEFT_ERROR_OPENCL) && names(line, &c);
}

static bool opencl_is_remembered(size_t series) {
    return find(series).error == CL_BUILD_PROGRAM_FAILURE;
}

static void opencl_describe(size_t series, char *text, size_t capacity) {
    const opencl_case c = find(series);
    snprintf(text, capacity, "%s: %s%s", c.of->name, wi_cl_error_name(c.error), c.later ? ", later" : "");
}

const fault_kind fault_kind_opencl = {.name = "opencl",
    .open = fault_memory_open,
    .series = opencl_series,
    .calls = opencl_calls,
    .arm = opencl_arm,
    .hit = fault_layer_hit,
    .expects = opencl_expects,
    .is_remembered = opencl_is_remembered,
    .chains = true,
    .describe = opencl_describe};

/* ---- files: each call with each of its errors ---- */

typedef struct file_case {
    const fault_call *of; /* NULL: there is no such series */
    size_t call;
    int error;
} file_case;

static file_case find_file(size_t series) {
    const fault_call *calls;
    const size_t count = fault_files_calls(&calls);
    for (size_t i = 0; i < count; i++) {
        size_t errors = 0;
        while (calls[i].errors[errors]) errors++;
        if (series < errors) return (file_case){&calls[i], i, calls[i].errors[series]};
        series -= errors;
    }
    return (file_case){0};
}

static size_t files_series(void) {
    size_t count = 0;
    while (find_file(count).of) count++;
    return count;
}

static long files_calls(size_t series) {
    return fault_files_count(find_file(series).call);
}

static void files_arm(size_t series, long nth) {
    const file_case c = find_file(series);
    fault_files_arm(c.call, nth, c.error);
}

static bool is_one_of(const char *name, const char *const *names) {
    while (*names && strcmp(name, *names) != 0) names++;
    return *names != NULL;
}

/* What was interrupted, or done in part, is to be gone on with. */
static bool files_expects(size_t series, weft_status status, const char *line) {
    static const char *const repeated[] = {"open", "read", "write", "fsync", "close", "flock", NULL};
    const file_case c = find_file(series);
    if ((c.error == EINTR || c.error == FAULT_SHORT) && is_one_of(c.of->name, repeated)) return false;
    if (c.error == ENOMEM || strcmp(c.of->name, "pthread_create") == 0) return status == WEFT_ERROR_MEMORY;
    return status == WEFT_ERROR_FILE && strstr(line, strerror(c.error)) != NULL;
}

static void files_describe(size_t series, char *text, size_t capacity) {
    const file_case c = find_file(series);
    snprintf(text, capacity, "%s: %s", c.of->name, c.error == FAULT_SHORT ? "a part" : strerror(c.error));
}

const fault_kind fault_kind_files = {.name = "files",
    .open = fault_memory_open,
    .series = files_series,
    .calls = files_calls,
    .arm = files_arm,
    .hit = fault_files_hit,
    .expects = files_expects,
    .is_remembered = never,
    .describe = files_describe};
