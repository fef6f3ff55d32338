/* Enqueueing prepared launches (contract in launch.h). Nothing here allocates. */
#include "cl/launch.h"
#include "cl/quirks.h"
#include "cl/uploads.h"

#include <stdio.h>

static weft_status fail_launch(const wi_launch *launch, cl_int error) {
    const size_t *const global = launch->global, *const local = launch->local;
    char what[512];
    snprintf(what, sizeof what, "launching %s over %zu x %zu x %zu in groups of %zu x %zu x %zu",
        launch->name, global[0], global[1], global[2], local[0], local[1], local[2]);
    return wi_cl_check(error, what);
}

weft_status wi_launch_run_event(const wi_launch *launch, wi_device *device, cl_event *event) {
    const size_t *const local = launch->local[0] > 0 ? launch->local : NULL;
    const cl_int error = clEnqueueNDRangeKernel(
        device->queue, launch->kernel, launch->dimensions, NULL, launch->global, local, 0, NULL, event);
    return error == CL_SUCCESS ? WEFT_OK : fail_launch(launch, error);
}

weft_status wi_launch_run(const wi_launch *launch, wi_device *device) {
    return wi_launch_run_event(launch, device, NULL);
}

void wi_launch_clear(wi_launch *launch) {
    if (launch->kernel) clReleaseKernel(launch->kernel);
    *launch = (wi_launch){0};
}

static weft_status finish_kernels(wi_device *device) {
    if (device->caps.quirks & WI_QUIRK_EARLY_FINISH) {
        cl_event last = NULL;
        WI_CL(clEnqueueMarkerWithWaitList(device->queue, 0, NULL, &last), "marking the end of the queue");
        const cl_int error = clWaitForEvents(1, &last);
        clReleaseEvent(last);
        WI_CL(error, "waiting for the end of the queue");
    }
    return wi_cl_check(clFinish(device->queue), "waiting for the device");
}

weft_status wi_queue_finish(wi_device *device) {
    const weft_status copied = wi_uploads_finish(device), finished = finish_kernels(device);
    return finished != WEFT_OK ? finished : copied;
}

weft_status wi_queue_flush(wi_device *device) {
    return wi_cl_check(clFlush(device->queue), "handing work to the device");
}
