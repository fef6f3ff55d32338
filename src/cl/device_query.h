/* What a driver says of a device. A query that fails is an error whose line names it. */
#ifndef WI_DEVICE_QUERY_H
#define WI_DEVICE_QUERY_H

#include "base/memory.h"
#include <CL/cl.h>

/* name: of what, for the line. Into a value of exactly so many bytes. */
weft_status wi_device_query(
    cl_device_id device, cl_device_info what, const char *name, void *value, size_t bytes);
/* Without leading blanks, NUL-terminated, of any length; release it with wi_release. */
weft_status wi_device_query_text(
    char **text, const weft_allocator *allocator, cl_device_id device, cl_device_info what, const char *name);
weft_status wi_platform_query_text(char **text, const weft_allocator *allocator, cl_platform_id platform,
    cl_platform_info what, const char *name);

#define WI_QUERY(device, what, value)                                                                        \
    WI_TRY(wi_device_query((device), (what), #what, (value), sizeof *(value)))

#endif
