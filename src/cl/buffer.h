/* Buffers in a device's memory, and the limit of their bytes.
 *
 * A released buffer goes to the pool (buffer_pool.h), which hands it out again for the same size, or, to a plan, for a
 * slightly smaller one. The pool is emptied if a request would otherwise fail or exceed the limit. */
#ifndef WI_BUFFER_H
#define WI_BUFFER_H

#include "base/status.h"
#include <CL/cl.h>

typedef struct wi_device wi_device; /* opened_device.h */

typedef struct wi_buffer {
    cl_mem memory;
    size_t bytes; /* as requested */
    size_t capacity;
    bool on_host; /* in host memory, which neither the limit nor the pool counts */
} wi_buffer;

/* Creates a buffer of `bytes` bytes, which the caller releases. Errors: WEFT_ERROR_ARGUMENT (0 bytes),
 * WEFT_ERROR_MEMORY_LIMIT (the message has the requested and used bytes and the limit), WEFT_ERROR_DEVICE_MEMORY,
 * WEFT_ERROR_OPENCL, WEFT_ERROR_STATE. */
weft_status wi_buffer_create(wi_buffer *buffer, wi_device *device, size_t bytes);
/* Creates a buffer in memory of the host, from and to which the device's queue copies. */
weft_status wi_buffer_create_on_host(wi_buffer *buffer, wi_device *device, size_t bytes);
void wi_buffer_release(wi_buffer *buffer, wi_device *device); /* no effect on a zeroed buffer */

/* The device memory of one living plan; from it the pool computes how many unused bytes it may keep. */
typedef struct wi_plan_share {
    size_t bytes;               /* of all buffers created for the plan */
    struct wi_plan_share *next; /* the next share in the device's list */
} wi_plan_share;

/* The share must not move until wi_plan_share_end, which follows the release of the plan's buffers. */
void wi_plan_share_begin(wi_plan_share *share, wi_device *device);
weft_status wi_buffer_create_for_plan(
    wi_buffer *buffer, wi_device *device, size_t bytes, wi_plan_share *plan);
/* remember: the pool counts the plan among the last released ones, and so keeps memory for its successor. No effect on
 * a share that never began. */
void wi_plan_share_end(wi_plan_share *share, wi_device *device, bool remember);

/* WEFT_ERROR_MEMORY_LIMIT if `bytes` more would exceed the limit; allocates nothing. `what` begins the message. */
weft_status wi_buffer_check_limit(wi_device *device, size_t bytes, const char *what);
/* The bytes of the limit; 0: none. */
size_t wi_buffer_limit(const wi_device *device);
/* The bytes that the limit still allows; SIZE_MAX if there is no limit. */
size_t wi_buffer_available(const wi_device *device);
/* The largest size of one buffer, in bytes. */
size_t wi_buffer_largest(const wi_device *device);
/* WEFT_ERROR_DEVICE_MEMORY if `bytes` is larger than that; the message begins with `what` and says what to do. */
weft_status wi_buffer_check_largest(const wi_device *device, size_t bytes, const char *what);
/* Offsets are in bytes. Writing and reading block; wi_buffer_fill_zero may return before the bytes are cleared. */
weft_status wi_buffer_write(wi_device *device, cl_mem memory, size_t offset, const void *data, size_t bytes);
weft_status wi_buffer_read(wi_device *device, cl_mem memory, size_t offset, void *data, size_t bytes);
weft_status wi_buffer_fill_zero(wi_device *device, cl_mem memory, size_t offset, size_t bytes);

#endif
