/* Device memory of a device: a pool of cl_mem, the hard limit, and the count of bytes held.
 *
 * A released buffer goes back to the pool and may be handed out again for the same or a somewhat smaller
 * size; the pool is emptied when a request would else fail or exceed the limit. */
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
