/* Reading build logs (contract in build_log.h). */
#include "cl/build_log.h"
#include "base/log.h"

#include "cl/device_list.h"
#include "cl/driver.h"

#include <stdio.h>
#include <string.h>

enum { LONGEST_LINE = 1900 };

weft_status wi_build_log_read(char **log, const wi_device *device, cl_program built, cl_int error) {
    const weft_allocator *const allocator = device->host.allocator;
    size_t bytes = 0;
    *log = NULL;
    if (clGetProgramBuildInfo(built, device->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &bytes) == CL_SUCCESS &&
        bytes > 1) {
        *log = wi_allocate(allocator, bytes + 1);
        if (!*log) return WEFT_ERROR_MEMORY;
        if (clGetProgramBuildInfo(built, device->id, CL_PROGRAM_BUILD_LOG, bytes, *log, NULL) == CL_SUCCESS &&
            strspn(*log, " \r\n\t") < strlen(*log))
            return WEFT_OK;
        wi_release(allocator, *log);
    }
    *log = wi_copy_string(allocator, wi_cl_error_name(error));
    return *log ? WEFT_OK : WEFT_ERROR_MEMORY;
}

void wi_build_log_show(const wi_device *device, const char *what, const char *log) {
    while (*log) {
        const size_t length = strcspn(log, "\n");
        if (length > 0)
            wi_log_line(device->host.log, WEFT_LOG_WARNING, "%s: %.*s", what,
                (int)(length < LONGEST_LINE ? length : LONGEST_LINE), log);
        log += length + (log[length] != '\0');
    }
}

/* Whether the line has a position in a source. Clang and compilers based on it write FILE:12:3, Vivante's compiler
 * (12:3), older compilers (12). */
static bool has_position(const char *line) {
    static const char digits[] = "0123456789";
    for (const char *at = line; (at = strpbrk(at, ":(")); at++) {
        const size_t row = strspn(at + 1, digits);
        const char *const next = at + 1 + row;
        if (row > 0 && *at == '(' && strchr(",:)", *next) && *next) return true;
        if (row > 0 && *at == ':' && *next == ':' && strspn(next + 1, digits) > 0) return true;
    }
    return false;
}

bool wi_build_log_is_verdict(const char *log) {
    while (*log) {
        char line[LONGEST_LINE];
        const size_t length = strcspn(log, "\n");
        snprintf(line, sizeof line, "%.*s", (int)(length < sizeof line ? length : sizeof line - 1), log);
        if (wi_contains_any_case(line, "error") && has_position(line)) return true;
        log += length + (log[length] != '\0');
    }
    return false;
}
