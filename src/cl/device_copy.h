/* Copies from buffer to buffer, within a device or from one to another. */
#ifndef WI_DEVICE_COPY_H
#define WI_DEVICE_COPY_H

#include "cl/opened_device.h"

typedef struct wi_device_range {
    wi_device *device;
    cl_mem memory;
    size_t offset; /* bytes */
} wi_device_range;

/* Enqueues the copy. Between devices it begins when all that `from` was given before is done, and what either is given
 * after it waits for it. Devices of one OpenCL context copy by themselves; otherwise the host does, and the call
 * returns when it is done. event: that of the copy; NULL: none is made. */
weft_status wi_device_copy(
    const wi_device_range *to, const wi_device_range *from, size_t bytes, cl_event *event);

#endif
