/* Copying within a device, within an OpenCL context, or through the host (contract in device_copy.h). Nothing here
 * allocates. */
#include "cl/device_copy.h"

#include "cl/driver.h"
#include "cl/launch.h"
#include "cl/waiting.h"

#include <stdio.h>

static weft_status check(cl_int error, const wi_device_range *to, const wi_device_range *from, size_t bytes) {
    if (error == CL_SUCCESS) return WEFT_OK;
    char what[128];
    snprintf(what, sizeof what, "copying %zu bytes from device %d to device %d", bytes, from->device->index,
        to->device->index);
    return wi_cl_check(error, what);
}

/* Enqueues the copy on the queue of `to`. OpenCL refuses to copy a range onto itself, for which a marker is enqueued. */
static cl_int enqueue(const wi_device_range *to, const wi_device_range *from, size_t bytes, cl_uint waits,
    const cl_event *wait, cl_event *event) {
    cl_command_queue const queue = to->device->queue;
    if (to->memory == from->memory && to->offset == from->offset)
        return clEnqueueMarkerWithWaitList(queue, waits, wait, event);
    return clEnqueueCopyBuffer(
        queue, from->memory, to->memory, from->offset, to->offset, bytes, waits, wait, event);
}

/* Queues of one OpenCL context can wait for each other's events, but the events must be flushed. */
static weft_status copy_in_context(
    const wi_device_range *to, const wi_device_range *from, size_t bytes, cl_event *event) {
    cl_event written = NULL, copied = NULL;
    weft_status status;
    WI_TRY_DONE(check(clEnqueueMarkerWithWaitList(from->device->queue, 0, NULL, &written), to, from, bytes));
    WI_TRY_DONE(wi_queue_flush(from->device));
    WI_TRY_DONE(check(enqueue(to, from, bytes, 1, &written, &copied), to, from, bytes));
    WI_TRY_DONE(wi_queue_flush(to->device));
    WI_TRY_DONE(check(clEnqueueBarrierWithWaitList(from->device->queue, 1, &copied, NULL), to, from, bytes));
    if (event) {
        *event = copied;
        copied = NULL;
    }
done:
    if (copied) clReleaseEvent(copied);
    if (written) clReleaseEvent(written);
    return status;
}

/* A mapping that remains keeps its buffer alive, and writes to a mapped buffer are undefined. A failed unmapping is
 * therefore repeated once. */
static cl_int unmap(const wi_device_range *range, void *data) {
    cl_command_queue const queue = range->device->queue;
    const cl_int error = clEnqueueUnmapMemObject(queue, range->memory, data, 0, NULL, NULL);
    if (error == CL_SUCCESS) return CL_SUCCESS;
    const cl_int again = clEnqueueUnmapMemObject(queue, range->memory, data, 0, NULL, NULL);
    return again == CL_SUCCESS ? CL_SUCCESS : error;
}

/* Maps the range of `from` and writes it to `to`. The blocking map waits for the queue of `from`, and the blocking
 * write returns when the copy is complete. */
static weft_status copy_through_host(
    const wi_device_range *to, const wi_device_range *from, size_t bytes, cl_event *event) {
    cl_command_queue const queue = from->device->queue;
    cl_int error = CL_SUCCESS;
    WI_TRY(wi_wait_for_queue(from->device, queue));
    WI_TRY(wi_wait_for_queue(to->device, to->device->queue));
    void *const data = clEnqueueMapBuffer(
        queue, from->memory, CL_TRUE, CL_MAP_READ, from->offset, bytes, 0, NULL, NULL, &error);
    WI_TRY(check(error, to, from, bytes));
    const cl_int written =
        clEnqueueWriteBuffer(to->device->queue, to->memory, CL_TRUE, to->offset, bytes, data, 0, NULL, event);
    const cl_int unmapped = unmap(from, data);
    WI_TRY(check(written, to, from, bytes));
    return check(unmapped, to, from, bytes);
}

weft_status wi_device_copy(
    const wi_device_range *to, const wi_device_range *from, size_t bytes, cl_event *event) {
    if (to->device == from->device) return check(enqueue(to, from, bytes, 0, NULL, event), to, from, bytes);
    if (to->device->cl == from->device->cl) return copy_in_context(to, from, bytes, event);
    return copy_through_host(to, from, bytes, event);
}
