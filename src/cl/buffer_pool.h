/* The pool of a device's released buffers, the memory limit, and the count of bytes.
 *
 * `held` counts the bytes of every cl_mem that the context owns on the device, also of pooled ones, and never exceeds
 * the limit.
 *
 * Unused bytes are those of pooled buffers and the *waste*, by which buffers in use are larger than requested. Unused
 * bytes never exceed the allowance: half the bytes of the largest plan among all living plans and the last
 * WI_PLANS_REMEMBERED released ones. Without such a plan nothing is pooled. To stay within the allowance, the pool
 * gives its oldest buffers back to the driver. Waste cannot be given back, and is therefore limited when a buffer is
 * taken: only plans may take larger buffers, and only while the waste of all plans is at most half the bytes of the
 * plan that takes the buffer.
 *
 * held and peak are atomic because weft_context_memory may be called from any thread; only the context's thread uses
 * the rest. */
#ifndef WI_BUFFER_POOL_H
#define WI_BUFFER_POOL_H

#include "cl/buffer.h"
#include <stdatomic.h>

enum { WI_MOST_POOLED = 64, WI_PLANS_REMEMBERED = 4 };

typedef struct wi_pooled_buffer {
    cl_mem memory;
    size_t capacity;
} wi_pooled_buffer;

typedef struct wi_buffer_pool {
    size_t limit; /* bytes; 0: no limit */
    atomic_size_t held, peak;
    size_t bytes, count;                      /* of the pooled buffers */
    wi_pooled_buffer buffers[WI_MOST_POOLED]; /* the oldest first */
    size_t waste;
    wi_plan_share *living;                /* the latest plan first */
    size_t released[WI_PLANS_REMEMBERED]; /* bytes of the last released plans */
    size_t next;                          /* the index in `released` that is replaced next */
} wi_buffer_pool;

weft_status wi_buffer_pool_open(wi_device *device, size_t limit); /* bytes; 0: no limit */
void wi_buffer_pool_close(wi_device *device);

/* Takes the smallest pooled buffer that has at least `bytes` bytes, and at most `most` bytes more; false: there is none. */
bool wi_buffer_pool_take(wi_buffer_pool *pool, wi_buffer *buffer, size_t bytes, size_t most);
void wi_buffer_pool_add(wi_buffer_pool *pool, const wi_buffer *buffer);
/* Gives all pooled buffers back to the driver. */
void wi_buffer_pool_empty(wi_buffer_pool *pool);
/* The most bytes by which a pooled buffer may be larger than the `bytes` that the plan requests. */
size_t wi_buffer_pool_allowed_waste(const wi_buffer_pool *pool, const wi_plan_share *plan, size_t bytes);

#endif
