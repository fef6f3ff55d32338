/* The pool of a device's freed buffers, the limit, and the count of bytes held.
 *
 * held counts every byte of every cl_mem that the context owns on the device, pooled ones too; it never exceeds the limit.
 *
 * What is unused are the pooled buffers, and the waste: the bytes by which buffers in use are larger than what they hold. It
 * never exceeds half of the larger of the largest living plan and the largest of the last plans that were released; without
 * any plan nothing is pooled. Where a further buffer would exceed that, the oldest ones are given back to the driver. Waste cannot
 * be given back, so that it is limited where it begins: only buffers of a plan may have any, and only as far as all waste is
 * no more than half of that plan. (The latest plan that has waste allowed for the waste of all plans before it.)
 *
 * held and peak are atomic because weft_context_memory may be called from any thread; all else is the context's thread's. */
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
    size_t limit; /* 0: none */
    atomic_size_t held, peak;
    size_t bytes, count;                      /* of what is pooled */
    wi_pooled_buffer buffers[WI_MOST_POOLED]; /* the oldest first */
    size_t waste;
    wi_plan_share *living;                /* the latest first */
    size_t released[WI_PLANS_REMEMBERED]; /* bytes */
    size_t next;                          /* of them to be replaced */
} wi_buffer_pool;

weft_status wi_buffer_pool_open(wi_device *device, size_t limit); /* bytes; 0: no limit */
void wi_buffer_pool_close(wi_device *device);

/* Takes the smallest pooled buffer of at least so many bytes, and `most` more at most; false when there is none. */
bool wi_buffer_pool_take(wi_buffer_pool *pool, wi_buffer *buffer, size_t bytes, size_t most);
void wi_buffer_pool_add(wi_buffer_pool *pool, const wi_buffer *buffer);
/* Gives all pooled buffers back to the driver. */
void wi_buffer_pool_empty(wi_buffer_pool *pool);
/* By how much a plan's buffer of so many bytes may be larger. */
size_t wi_buffer_pool_allowed_waste(const wi_buffer_pool *pool, const wi_plan_share *plan, size_t bytes);

#endif
