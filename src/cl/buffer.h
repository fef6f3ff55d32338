/* Device memory of a device: buffers, and the hard limit of their bytes.
 *
 * A released buffer goes to the pool (buffer_pool.h) and may be handed out again for the same size, or, to a plan, for a
 * somewhat smaller one. The pool is emptied when a request would else fail or exceed the limit. */
#ifndef WI_BUFFER_H
#define WI_BUFFER_H

#include "cl/opened_device.h"

typedef struct wi_buffer {
    cl_mem memory;
    size_t bytes; /* as asked for */
    size_t capacity;
} wi_buffer;

/* bytes > 0. Errors: WEFT_ERROR_MEMORY_LIMIT (asked, held, limit in the line), _DEVICE_MEMORY. */
weft_status wi_buffer_create(wi_buffer *buffer, wi_device *device, size_t bytes);
void wi_buffer_release(wi_buffer *buffer, wi_device *device); /* a zeroed buffer is fine */

/* What a plan that lives has of a device's memory, by which the pool knows how much it may keep. */
typedef struct wi_plan_share {
    size_t bytes;               /* of its buffers, as asked for; they stay counted until the share ends */
    struct wi_plan_share *next; /* of the plans that live on the device */
} wi_plan_share;

/* The share stays where it is until its end, which comes after the release of the plan's buffers. */
void wi_plan_share_begin(wi_plan_share *share, wi_device *device);
weft_status wi_buffer_create_for_plan(
    wi_buffer *buffer, wi_device *device, size_t bytes, wi_plan_share *plan);
/* remember: the pool may keep as much for a while as if the plan still lived. A share that never began is fine. */
void wi_plan_share_end(wi_plan_share *share, wi_device *device, bool remember);

/* Refuses, before anything is allocated, what would not fit; `what` begins the line. */
weft_status wi_buffer_check_limit(wi_device *device, size_t bytes, const char *what);
/* What that would still allow; SIZE_MAX without a limit. */
size_t wi_buffer_available(const wi_device *device);
/* The most bytes that one buffer of the device may have. */
size_t wi_buffer_largest(const wi_device *device);
/* WEFT_ERROR_DEVICE_MEMORY for more, with the cure in the line, which begins with `what`. */
weft_status wi_buffer_check_largest(const wi_device *device, size_t bytes, const char *what);
/* Blocking copies; offsets in bytes. */
weft_status wi_buffer_write(wi_device *device, cl_mem memory, size_t offset, const void *data, size_t bytes);
weft_status wi_buffer_read(wi_device *device, cl_mem memory, size_t offset, void *data, size_t bytes);
weft_status wi_buffer_fill_zero(wi_device *device, cl_mem memory, size_t offset, size_t bytes);

#endif
