/* The pool of released buffers (contract in buffer_pool.h). */
#include "cl/buffer_pool.h"

#include "cl/context.h"
#include "cl/driver.h"
#include <string.h>

enum { LARGEST_WASTE = 4 }; /* a quarter of the requested bytes */

weft_status wi_buffer_pool_open(wi_device *device, size_t limit) {
    device->buffers = wi_allocate(device->host.allocator, sizeof *device->buffers);
    if (!device->buffers) return WEFT_ERROR_MEMORY;
    device->buffers->limit = limit;
    return WEFT_OK;
}

void wi_buffer_pool_close(wi_device *device) {
    if (!device->buffers) return;
    wi_buffer_pool_empty(device->buffers);
    wi_release(device->host.allocator, device->buffers);
    device->buffers = NULL;
}

/* ---- pooled buffers ---- */

static wi_pooled_buffer remove_at(wi_buffer_pool *pool, size_t index) {
    const wi_pooled_buffer removed = pool->buffers[index];
    pool->bytes -= removed.capacity;
    pool->count--;
    memmove(&pool->buffers[index], &pool->buffers[index + 1], (pool->count - index) * sizeof removed);
    return removed;
}

static void give_back(wi_buffer_pool *pool, cl_mem memory, size_t capacity) {
    clReleaseMemObject(memory);
    atomic_fetch_sub(&pool->held, capacity);
}

static void drop_oldest(wi_buffer_pool *pool) {
    const wi_pooled_buffer oldest = remove_at(pool, 0);
    give_back(pool, oldest.memory, oldest.capacity);
}

void wi_buffer_pool_empty(wi_buffer_pool *pool) {
    while (pool->count > 0) drop_oldest(pool);
}

/* The most unused bytes that are allowed now. */
static size_t allowance(const wi_buffer_pool *pool) {
    size_t largest = 0;
    for (const wi_plan_share *plan = pool->living; plan; plan = plan->next)
        if (plan->bytes > largest) largest = plan->bytes;
    for (size_t i = 0; i < WI_PLANS_REMEMBERED; i++)
        if (pool->released[i] > largest) largest = pool->released[i];
    return largest / 2;
}

static void keep_to_allowance(wi_buffer_pool *pool) {
    const size_t allowed = allowance(pool);
    while (pool->count > 0 && pool->bytes + pool->waste > allowed) drop_oldest(pool);
}

bool wi_buffer_pool_take(wi_buffer_pool *pool, wi_buffer *buffer, size_t bytes, size_t most) {
    size_t best = pool->count;
    for (size_t i = 0; i < pool->count; i++) {
        const size_t capacity = pool->buffers[i].capacity;
        if (capacity < bytes || capacity - bytes > most) continue;
        if (best == pool->count || capacity < pool->buffers[best].capacity) best = i;
    }
    if (best == pool->count) return false;
    const wi_pooled_buffer taken = remove_at(pool, best);
    *buffer = (wi_buffer){.memory = taken.memory, .bytes = bytes, .capacity = taken.capacity};
    pool->waste += buffer->capacity - bytes;
    return true;
}

/* A buffer that exceeds the allowance by itself goes back to the driver; removing other buffers would not make room for
 * it. */
void wi_buffer_pool_add(wi_buffer_pool *pool, const wi_buffer *buffer) {
    pool->waste -= buffer->capacity - buffer->bytes;
    if (buffer->capacity + pool->waste > allowance(pool)) {
        give_back(pool, buffer->memory, buffer->capacity);
        return;
    }
    if (pool->count == WI_MOST_POOLED) drop_oldest(pool);
    pool->buffers[pool->count++] = (wi_pooled_buffer){buffer->memory, buffer->capacity};
    pool->bytes += buffer->capacity;
    keep_to_allowance(pool);
}

/* ---- plans ---- */

void wi_plan_share_begin(wi_plan_share *share, wi_device *device) {
    *share = (wi_plan_share){.next = device->buffers->living};
    device->buffers->living = share;
}

void wi_plan_share_end(wi_plan_share *share, wi_device *device, bool remember) {
    wi_buffer_pool *const pool = device->buffers;
    wi_plan_share **at = &pool->living;
    while (*at && *at != share) at = &(*at)->next;
    if (!*at) return;
    *at = share->next;
    if (remember) {
        pool->released[pool->next] = share->bytes;
        pool->next = (pool->next + 1) % WI_PLANS_REMEMBERED;
    }
    keep_to_allowance(pool);
}

size_t wi_buffer_pool_allowed_waste(const wi_buffer_pool *pool, const wi_plan_share *plan, size_t bytes) {
    const size_t of_buffer = bytes / LARGEST_WASTE, of_plan = (plan->bytes + bytes) / 2;
    const size_t left = of_plan > pool->waste ? of_plan - pool->waste : 0;
    return of_buffer < left ? of_buffer : left;
}

/* ---- public functions ---- */

void weft_context_memory(const weft_context *context, size_t *bytes, size_t *peak) {
    size_t held = 0, most = 0;
    for (int i = 0; context && i < context->device_count; i++) {
        held += atomic_load(&context->devices[i]->buffers->held);
        most += atomic_load(&context->devices[i]->buffers->peak);
    }
    if (bytes) *bytes = held;
    if (peak) *peak = most;
}

weft_status weft_context_trim(weft_context *context, size_t *freed) {
    if (freed) *freed = 0;
    if (!context) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_context_trim: context is NULL");
    for (int i = 0; i < context->device_count; i++) {
        wi_buffer_pool *const pool = context->devices[i]->buffers;
        if (freed) *freed += pool->bytes;
        wi_buffer_pool_empty(pool);
    }
    return WEFT_OK;
}
