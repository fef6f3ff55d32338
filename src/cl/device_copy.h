/* Copies between buffers of one device or of two devices. */
#ifndef WI_DEVICE_COPY_H
#define WI_DEVICE_COPY_H

#include "cl/opened_device.h"

typedef struct wi_device_range {
    wi_device *device;
    cl_mem memory;
    size_t offset; /* bytes */
} wi_device_range;

/* Copies `bytes` bytes. The copy starts after all commands that are already in the queues of both devices, and later
 * commands of both wait for it. If the devices have different OpenCL contexts, the host copies and the call blocks;
 * otherwise the copy is only enqueued. *event, which the caller releases: that of the copy; event may be NULL. Errors:
 * WEFT_ERROR_OPENCL, _DEVICE_MEMORY. */
weft_status wi_device_copy(
    const wi_device_range *to, const wi_device_range *from, size_t bytes, cl_event *event);

#endif
