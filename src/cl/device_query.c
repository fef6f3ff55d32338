/* Queries of devices and platforms (contract in device_query.h). */
#include "cl/device_query.h"

#include "cl/driver.h"
#include "cl/opened_device.h"

#include <stdio.h>
#include <string.h>

static weft_status check(cl_int error, const char *function, const char *name) {
    char what[128];
    if (error == CL_SUCCESS) return WEFT_OK;
    snprintf(what, sizeof what, "%s(%s)", function, name);
    return wi_cl_check(error, what);
}

weft_status wi_device_query(
    cl_device_id device, cl_device_info what, const char *name, void *value, size_t bytes) {
    return check(clGetDeviceInfo(device, what, bytes, value, NULL), "clGetDeviceInfo", name);
}

/* Queries the device, or the platform if device is NULL, for a text. */
static cl_int ask(
    cl_device_id device, cl_platform_id platform, cl_uint what, size_t bytes, char *text, size_t *size) {
    return device ? clGetDeviceInfo(device, what, bytes, text, size)
                  : clGetPlatformInfo(platform, what, bytes, text, size);
}

static weft_status read_text(char **result, const weft_allocator *allocator, cl_device_id device,
    cl_platform_id platform, cl_uint what, const char *name) {
    const char *const function = device ? "clGetDeviceInfo" : "clGetPlatformInfo";
    size_t bytes = 0;
    *result = NULL;
    WI_TRY(check(ask(device, platform, what, 0, NULL, &bytes), function, name));
    char *const text = wi_allocate(allocator, bytes + 1);
    if (!text) return WEFT_ERROR_MEMORY;
    const weft_status status =
        bytes > 0 ? check(ask(device, platform, what, bytes, text, NULL), function, name) : WEFT_OK;
    if (status != WEFT_OK) {
        wi_release(allocator, text);
        return status;
    }
    const size_t blanks = strspn(text, " ");
    memmove(text, text + blanks, strlen(text) + 1 - blanks);
    *result = text;
    return WEFT_OK;
}

weft_status wi_device_query_text(char **text, const weft_allocator *allocator, cl_device_id device,
    cl_device_info what, const char *name) {
    return read_text(text, allocator, device, NULL, what, name);
}

weft_status wi_platform_query_text(char **text, const weft_allocator *allocator, cl_platform_id platform,
    cl_platform_info what, const char *name) {
    return read_text(text, allocator, NULL, platform, what, name);
}
