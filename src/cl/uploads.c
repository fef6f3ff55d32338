/* The queue for uploads, and pinned memory (contract in uploads.h). */
#include "cl/uploads.h"
#include "base/log.h"
#include "cl/buffer.h"
#include "cl/device_list.h"
#include "cl/driver.h"
#include "cl/launch.h"
#include "cl/waiting.h"
#include <stdio.h>

enum { MOST_PENDING = 32, MOST_PINNED = 512 << 20 };

typedef struct wi_uploads {
    cl_command_queue queue;
    cl_event pending[MOST_PENDING]; /* events of copies for which nothing has waited, the oldest first */
    cl_uint count;
} wi_uploads;

static cl_command_queue make_queue(wi_device *device) {
    cl_int error = CL_SUCCESS;
    wi_driver_lock();
    cl_command_queue const queue = clCreateCommandQueue(device->cl, device->id, 0, &error);
    wi_driver_unlock();
    if (error == CL_SUCCESS) return queue;
    wi_log_line(device->host.log, WEFT_LOG_WARNING,
        "creating a second queue for uploads failed, so uploads wait for kernels: %s (%d)",
        wi_cl_error_name(error), error);
    return NULL;
}

void wi_uploads_open(wi_device *device) {
    if (!device->profile.upload_queue) return;
    cl_command_queue const queue = make_queue(device);
    if (!queue) return;
    device->uploads = wi_allocate(device->host.allocator, sizeof *device->uploads);
    if (device->uploads)
        device->uploads->queue = queue;
    else
        clReleaseCommandQueue(queue);
}

void wi_uploads_close(wi_device *device) {
    if (!device->uploads) return;
    (void)wi_uploads_finish(device);
    wi_driver_lock();
    clReleaseCommandQueue(device->uploads->queue);
    wi_driver_unlock();
    wi_release(device->host.allocator, device->uploads);
    device->uploads = NULL;
}

weft_status wi_uploads_mark(wi_device *device, cl_event *mark) {
    *mark = NULL;
    WI_CL(clEnqueueMarkerWithWaitList(device->queue, 0, NULL, mark), "marking the queue of the kernels");
    const weft_status status = wi_queue_flush(device);
    if (status == WEFT_OK) return WEFT_OK;
    clReleaseEvent(*mark);
    *mark = NULL;
    return status;
}

static weft_status flush(wi_device *device) {
    return wi_cl_check(clFlush(device->uploads->queue), "submitting uploads to the device");
}

/* ---- unfinished copies ---- */

/* Waits for events. The queue is flushed first, because the wait may only query the events, which starts no work. */
static weft_status wait_for(wi_device *device, cl_uint count, const cl_event *events) {
    WI_TRY(flush(device));
    return wi_wait_for_events(device, count, events, "waiting for data that is copied to the device");
}

/* Waits for the `count` oldest copies and releases their events. After an error each event is waited for alone, so that
 * all copies have ended. */
static weft_status retire(wi_device *device, cl_uint count) {
    wi_uploads *const uploads = device->uploads;
    weft_status status = count > 0 ? wait_for(device, count, uploads->pending) : WEFT_OK;
    for (cl_uint i = 0; i < count && status != WEFT_OK; i++) (void)clWaitForEvents(1, &uploads->pending[i]);
    for (cl_uint i = 0; i < count; i++) clReleaseEvent(uploads->pending[i]);
    for (cl_uint i = count; i < uploads->count; i++) uploads->pending[i - count] = uploads->pending[i];
    uploads->count -= count;
    return status;
}

weft_status wi_uploads_finish(wi_device *device) {
    return device->uploads ? retire(device, device->uploads->count) : WEFT_OK;
}

/* ---- copies ---- */

static weft_status check(cl_int error, size_t bytes) {
    if (error == CL_SUCCESS) return WEFT_OK;
    char what[96];
    snprintf(what, sizeof what, "writing %zu bytes on the queue for uploads", bytes);
    return wi_cl_check(error, what);
}

/* Makes the kernels' queue wait for a copy. The copy has been flushed, so that the host must wait for it if this fails. */
static weft_status order_kernels(wi_device *device, cl_event copied) {
    WI_TRY(flush(device));
    return wi_cl_check(clEnqueueBarrierWithWaitList(device->queue, 1, &copied, NULL),
        "making kernels wait for data that they read");
}

static weft_status enqueue_copy(
    wi_device *device, cl_mem memory, const void *data, size_t bytes, cl_event after) {
    wi_uploads *const uploads = device->uploads;
    cl_event copied = NULL;
    if (uploads->count == MOST_PENDING) WI_TRY(retire(device, MOST_PENDING / 2));
    WI_TRY(check(clEnqueueWriteBuffer(uploads->queue, memory, CL_FALSE, 0, bytes, data, after ? 1 : 0,
                     after ? &after : NULL, &copied),
        bytes));
    uploads->pending[uploads->count++] = copied;
    return WEFT_OK;
}

/* `wait` waits for the event of a non-blocking write: after a blocking write that itself waits for an event, kernels on
 * Intel's CPU runtime 2026.2 sometimes read old data. */
weft_status wi_upload(
    wi_device *device, cl_mem memory, const void *data, size_t bytes, cl_event after, bool wait) {
    wi_uploads *const uploads = device->uploads;
    WI_TRY(enqueue_copy(device, memory, data, bytes, after));
    if (wait) return wi_uploads_finish(device);
    const weft_status status = order_kernels(device, uploads->pending[uploads->count - 1]);
    if (status != WEFT_OK) {
        char error[WI_ERROR_LINE];
        wi_error_save(error, sizeof error);
        (void)wi_uploads_finish(device);
        wi_error_restore(error);
    }
    return status;
}

/* ---- pinned memory ---- */

/* Waits for all commands of the queue. The thread's error message does not change. */
static void sleep_until_idle(const wi_device *device) {
    char error[WI_ERROR_LINE];
    wi_error_save(error, sizeof error);
    (void)wi_wait_for_queue(device, device->uploads->queue);
    wi_error_restore(error);
}

/* Creates and maps the memory; the blocking map waits for all commands of the queue. */
static cl_int create(wi_pinned *pinned, wi_device *device, size_t bytes) {
    cl_int error = CL_SUCCESS;
    pinned->memory =
        clCreateBuffer(device->cl, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, bytes, NULL, &error);
    if (error != CL_SUCCESS) return error;
    pinned->data = clEnqueueMapBuffer(device->uploads->queue, pinned->memory, CL_TRUE,
        CL_MAP_READ | CL_MAP_WRITE, 0, bytes, 0, NULL, NULL, &error);
    if (error == CL_SUCCESS) return CL_SUCCESS;
    clReleaseMemObject(pinned->memory);
    *pinned = (wi_pinned){0};
    return error;
}

void wi_pinned_create(wi_pinned *pinned, wi_device *device, size_t bytes) {
    *pinned = (wi_pinned){0};
    if (!device->uploads || bytes == 0 || bytes > MOST_PINNED || bytes > wi_buffer_largest(device)) return;
    sleep_until_idle(device);
    const cl_int error = create(pinned, device, bytes);
    if (error != CL_SUCCESS) {
        *pinned = (wi_pinned){0};
        wi_log_line(device->host.log, WEFT_LOG_INFO, "allocating %zu bytes of pinned memory failed: %s (%d)",
            bytes, wi_cl_error_name(error), error);
    }
}

/* A mapping that remains keeps its buffer alive. A failed unmapping is therefore repeated once. */
void wi_pinned_release(wi_pinned *pinned, wi_device *device) {
    if (!pinned->memory) return;
    cl_command_queue const queue = device->uploads->queue;
    if (clEnqueueUnmapMemObject(queue, pinned->memory, pinned->data, 0, NULL, NULL) != CL_SUCCESS)
        (void)clEnqueueUnmapMemObject(queue, pinned->memory, pinned->data, 0, NULL, NULL);
    sleep_until_idle(device);
    (void)clFinish(queue);
    clReleaseMemObject(pinned->memory);
    *pinned = (wi_pinned){0};
}
