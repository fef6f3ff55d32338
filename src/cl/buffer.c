/* Buffers in device memory, their limits, and blocking copies (contract in buffer.h). */
#include "cl/buffer.h"

#include "base/pages.h"
#include "cl/buffer_pool.h"
#include "cl/driver.h"
#include "cl/quirks.h"
#include "cl/waiting.h"

#include <stdio.h>

enum { LEAST_IN_LARGE_PAGES = 4 << 20 };

static bool exceeds_limit(const wi_buffer_pool *pool, size_t held, size_t bytes) {
    return pool->limit > 0 && (bytes > pool->limit || held > pool->limit - bytes);
}

/* pool->held also counts pooled buffers. These are not in use here, because the pool is emptied before a request
 * fails. */
weft_status wi_buffer_check_limit(wi_device *device, size_t bytes, const char *what) {
    const wi_buffer_pool *const pool = device->buffers;
    const size_t in_use = atomic_load(&pool->held) - pool->bytes;
    if (!exceeds_limit(pool, in_use, bytes)) return WEFT_OK;
    WI_FAIL(WEFT_ERROR_MEMORY_LIMIT,
        "%s needs %zu bytes of device memory; %zu are in use and the limit is %zu", what, bytes, in_use,
        pool->limit);
}

size_t wi_buffer_limit(const wi_device *device) {
    return device->buffers->limit;
}

size_t wi_buffer_available(const wi_device *device) {
    const wi_buffer_pool *const pool = device->buffers;
    const size_t in_use = atomic_load(&pool->held) - pool->bytes;
    if (pool->limit == 0) return SIZE_MAX;
    return in_use < pool->limit ? pool->limit - in_use : 0;
}

static void count_held(wi_buffer_pool *pool, size_t bytes) {
    const size_t held = atomic_fetch_add(&pool->held, bytes) + bytes;
    if (held > atomic_load(&pool->peak)) atomic_store(&pool->peak, held);
}

size_t wi_buffer_largest(const wi_device *device) {
    const wi_capabilities *const caps = &device->caps;
    const cl_ulong largest = caps->large_buffers ? caps->global_memory : caps->largest_allocation;
    return largest > 0 ? (size_t)largest : SIZE_MAX;
}

weft_status wi_buffer_check_largest(const wi_device *device, size_t bytes, const char *what) {
    const size_t largest = wi_buffer_largest(device);
    if (bytes <= largest) return WEFT_OK;
    WI_FAIL(WEFT_ERROR_DEVICE_MEMORY,
        "%s of %zu bytes is too large: the largest buffer of %s has %zu bytes; %s", what, bytes,
        device->info.name, largest,
        device->caps.large_buffers
            ? "the device has no more memory"
            : "use a smaller batch or tensor, or set the option large_buffers of weft_context_options");
}

/* WEFT_ERROR_DEVICE_MEMORY for the errors with which drivers report lack of memory, WEFT_ERROR_OPENCL for others. */
static weft_status fail_create(const wi_buffer_pool *pool, size_t bytes, cl_int error) {
    const bool full = error == CL_MEM_OBJECT_ALLOCATION_FAILURE || error == CL_OUT_OF_RESOURCES ||
                      error == CL_OUT_OF_HOST_MEMORY || error == CL_INVALID_BUFFER_SIZE;
    return wi_fail(full ? WEFT_ERROR_DEVICE_MEMORY : WEFT_ERROR_OPENCL,
        "creating a buffer of %zu bytes, with %zu bytes already allocated: %s (%d)", bytes,
        atomic_load(&pool->held), wi_cl_error_name(error), error);
}

/* Stored in the last bytes of the mapped pages, after the bytes of the buffer: unmap_pages gets a pointer to it. */
typedef struct page_end {
    void *pages;
    size_t bytes;
} page_end;

static void CL_CALLBACK unmap_pages(cl_mem memory, void *user) {
    const page_end end = *(const page_end *)user;
    (void)memory;
    wi_pages_unmap(end.pages, end.bytes);
}

/* Creates a buffer over pages that Weft maps; the driver's destructor callback unmaps them. NULL: no large pages, no
 * memory, or an error of the driver, after which the driver's own memory is used. */
static cl_mem create_in_large_pages(const wi_device *device, size_t bytes) {
    const size_t step = sizeof(page_end), numbers = (bytes + step - 1) / step * step, all = numbers + step;
    char *const pages = wi_pages_map(all);
    if (!pages) return NULL;
    page_end *const end = (page_end *)(void *)(pages + numbers);
    *end = (page_end){pages, all};
    cl_int error = CL_SUCCESS;
    cl_mem memory = clCreateBuffer(device->cl, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, bytes, pages, &error);
    if (error == CL_SUCCESS && clSetMemObjectDestructorCallback(memory, unmap_pages, end) == CL_SUCCESS)
        return memory;
    if (error == CL_SUCCESS) clReleaseMemObject(memory);
    wi_pages_unmap(pages, all);
    return NULL;
}

/* CL_MEM_ALLOW_UNRESTRICTED_SIZE_INTEL, which not every cl_ext.h has. */
#define UNRESTRICTED_SIZE ((cl_mem_flags)1 << 23)

static cl_mem_flags flags_of(const wi_device *device, size_t bytes, bool on_host) {
    const bool needs_flag =
        (device->caps.quirks & WI_QUIRK_LARGE_FLAG) && bytes > device->caps.largest_allocation;
    return CL_MEM_READ_WRITE | (needs_flag ? UNRESTRICTED_SIZE : 0) | (on_host ? CL_MEM_ALLOC_HOST_PTR : 0);
}

/* Drivers limit what they allocate to the device's memory, but do not count pages that Weft maps; these are therefore
 * limited here. */
static cl_mem create_memory(const wi_device *device, size_t bytes, bool on_host, cl_int *error) {
    const wi_capabilities *const caps = &device->caps;
    const bool is_ours = (caps->type & CL_DEVICE_TYPE_CPU) && bytes >= LEAST_IN_LARGE_PAGES &&
                         atomic_load(&device->buffers->held) + bytes <= caps->global_memory;
    cl_mem memory = is_ours ? create_in_large_pages(device, bytes) : NULL;
    *error = CL_SUCCESS;
    return memory ? memory : clCreateBuffer(device->cl, flags_of(device, bytes, on_host), bytes, NULL, error);
}

/* waste: the most bytes by which a pooled buffer may be larger than asked for. */
static weft_status create(wi_buffer *buffer, wi_device *device, size_t bytes, size_t waste) {
    wi_buffer_pool *const pool = device->buffers;
    *buffer = (wi_buffer){0};
    WI_TRY(wi_process_check_driver());
    if (bytes == 0) WI_FAIL(WEFT_ERROR_ARGUMENT, "a buffer of 0 bytes was requested, expected 1 or more");
    if (wi_buffer_pool_take(pool, buffer, bytes, waste)) return WEFT_OK;
    WI_TRY(wi_buffer_check_limit(device, bytes, "a buffer"));
    WI_TRY(wi_buffer_check_largest(device, bytes, "a buffer"));
    if (exceeds_limit(pool, atomic_load(&pool->held), bytes)) wi_buffer_pool_empty(pool);
    cl_int error = CL_SUCCESS;
    cl_mem memory = create_memory(device, bytes, false, &error);
    if (error != CL_SUCCESS && pool->count > 0) {
        wi_buffer_pool_empty(pool);
        memory = create_memory(device, bytes, false, &error);
    }
    if (error != CL_SUCCESS) return fail_create(pool, bytes, error);
    *buffer = (wi_buffer){.memory = memory, .bytes = bytes, .capacity = bytes};
    count_held(pool, bytes);
    return WEFT_OK;
}

weft_status wi_buffer_create(wi_buffer *buffer, wi_device *device, size_t bytes) {
    return create(buffer, device, bytes, 0);
}

weft_status wi_buffer_create_on_host(wi_buffer *buffer, wi_device *device, size_t bytes) {
    cl_int error = CL_SUCCESS;
    *buffer = (wi_buffer){0};
    WI_TRY(wi_process_check_driver());
    WI_TRY(wi_buffer_check_largest(device, bytes, "a buffer in host memory"));
    cl_mem const memory = create_memory(device, bytes, true, &error);
    if (error != CL_SUCCESS) return fail_create(device->buffers, bytes, error);
    *buffer = (wi_buffer){.memory = memory, .bytes = bytes, .on_host = true};
    return WEFT_OK;
}

weft_status wi_buffer_create_for_plan(
    wi_buffer *buffer, wi_device *device, size_t bytes, wi_plan_share *plan) {
    WI_TRY(create(buffer, device, bytes, wi_buffer_pool_allowed_waste(device->buffers, plan, bytes)));
    plan->bytes += bytes;
    return WEFT_OK;
}

void wi_buffer_release(wi_buffer *buffer, wi_device *device) {
    if (!buffer->memory) return;
    if (buffer->on_host)
        clReleaseMemObject(buffer->memory);
    else
        wi_buffer_pool_add(device->buffers, buffer);
    *buffer = (wi_buffer){0};
}

static weft_status check_copy(cl_int error, const char *doing, size_t offset, size_t bytes) {
    if (error == CL_SUCCESS) return WEFT_OK;
    char what[128];
    snprintf(what, sizeof what, "%s %zu bytes at offset %zu of a buffer", doing, bytes, offset);
    return wi_cl_check(error, what);
}

weft_status wi_buffer_write(wi_device *device, cl_mem memory, size_t offset, const void *data, size_t bytes) {
    if (bytes == 0) return WEFT_OK;
    WI_TRY(wi_wait_for_queue(device, device->queue));
    return check_copy(
        clEnqueueWriteBuffer(device->queue, memory, CL_TRUE, offset, bytes, data, 0, NULL, NULL), "writing",
        offset, bytes);
}

weft_status wi_buffer_read(wi_device *device, cl_mem memory, size_t offset, void *data, size_t bytes) {
    if (bytes == 0) return WEFT_OK;
    WI_TRY(wi_wait_for_queue(device, device->queue));
    return check_copy(clEnqueueReadBuffer(device->queue, memory, CL_TRUE, offset, bytes, data, 0, NULL, NULL),
        "reading", offset, bytes);
}

/* Oclgrind marks only one pattern of a filled range as initialised. Small ranges are therefore written, which takes no
 * longer. */
weft_status wi_buffer_fill_zero(wi_device *device, cl_mem memory, size_t offset, size_t bytes) {
    static const cl_uint zero = 0, zeros[256] = {0};
    if (bytes <= sizeof zeros) return wi_buffer_write(device, memory, offset, zeros, bytes);
    const size_t pattern = offset % sizeof zero == 0 && bytes % sizeof zero == 0 ? sizeof zero : 1;
    return check_copy(
        clEnqueueFillBuffer(device->queue, memory, &zero, pattern, offset, bytes, 0, NULL, NULL), "clearing",
        offset, bytes);
}
