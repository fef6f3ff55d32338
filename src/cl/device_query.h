/* Queries of what a driver reports of a device or platform. Errors: WEFT_ERROR_OPENCL, WEFT_ERROR_DEVICE_MEMORY; the
 * message names the query. */
#ifndef WI_DEVICE_QUERY_H
#define WI_DEVICE_QUERY_H

#include "base/memory.h"
#include <CL/cl.h>

/* Reads a value of `bytes` bytes. name: the name of the constant `what`, for the message. */
weft_status wi_device_query(
    cl_device_id device, cl_device_info what, const char *name, void *value, size_t bytes);
/* Read a text of any length, without leading blanks. The caller releases *text with wi_release. Also WEFT_ERROR_MEMORY. */
weft_status wi_device_query_text(
    char **text, const weft_allocator *allocator, cl_device_id device, cl_device_info what, const char *name);
weft_status wi_platform_query_text(char **text, const weft_allocator *allocator, cl_platform_id platform,
    cl_platform_info what, const char *name);

#define WI_QUERY(device, what, value)                                                                        \
    WI_TRY(wi_device_query((device), (what), #what, (value), sizeof *(value)))

#endif
