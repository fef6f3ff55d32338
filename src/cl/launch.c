/* Enqueueing launches (contract in launch.h). Nothing here allocates. */
#include "cl/launch.h"
#include "cl/driver.h"
#include "cl/quirks.h"
#include "cl/uploads.h"
#include "cl/waiting.h"

#include <math.h>
#include <stdio.h>

static weft_status fail_launch(const wi_launch *launch, cl_int error) {
    const size_t *const global = launch->global, *const local = launch->local;
    char what[512];
    snprintf(what, sizeof what, "launching %s over %zu x %zu x %zu in groups of %zu x %zu x %zu",
        launch->name, global[0], global[1], global[2], local[0], local[1], local[2]);
    return wi_cl_check(error, what);
}

/* ---- portions ---- */

enum { MOST_PORTIONS = 256, ITEMS_WITHOUT_GROUPS = 64 };

/* The work-items in which a portion's size along the dimension is counted: a work-group's, or, where the driver chooses
 * the groups, ITEMS_WITHOUT_GROUPS. */
static size_t unit_of(const wi_launch *launch, cl_uint dimension) {
    if (launch->local[0] == 0) return dimension == 0 ? ITEMS_WITHOUT_GROUPS : 1;
    return launch->local[dimension] > 0 ? launch->local[dimension] : 1;
}

static size_t units_along(const wi_launch *launch, cl_uint dimension) {
    return (launch->global[dimension] + unit_of(launch, dimension) - 1) / unit_of(launch, dimension);
}

void wi_launch_cut(wi_launch *launch, double seconds, double longest, unsigned whole) {
    size_t most = 1;
    int along = 0;
    launch->portions = 0;
    if (longest <= 0.0 || seconds <= longest) return;
    for (cl_uint i = 0; i < launch->dimensions; i++) {
        if (whole >> i & 1 || units_along(launch, i) <= most) continue;
        most = units_along(launch, i);
        along = (int)i;
    }
    const double wanted = ceil(fmin(seconds / longest, MOST_PORTIONS));
    const size_t portions = (size_t)wanted < most ? (size_t)wanted : most,
                 units = (most + portions - 1) / portions;
    launch->along = along;
    launch->portion = units * unit_of(launch, (cl_uint)along);
    launch->portions = (int)((most + units - 1) / units);
}

/* ---- enqueueing ---- */

static cl_int enqueue(const wi_launch *launch, int portion, wi_device *device, cl_event *event) {
    const size_t *const local = launch->local[0] > 0 ? launch->local : NULL;
    size_t offset[3] = {0}, global[3];
    if (launch->portions <= 1)
        return clEnqueueNDRangeKernel(
            device->queue, launch->kernel, launch->dimensions, NULL, launch->global, local, 0, NULL, event);
    for (int i = 0; i < 3; i++) global[i] = launch->global[i];
    offset[launch->along] = (size_t)portion * launch->portion;
    const size_t left = launch->global[launch->along] - offset[launch->along];
    global[launch->along] = left < launch->portion ? left : launch->portion;
    return clEnqueueNDRangeKernel(
        device->queue, launch->kernel, launch->dimensions, offset, global, local, 0, NULL, event);
}

weft_status wi_launch_run_portion(const wi_launch *launch, int portion, wi_device *device, cl_event *event) {
    const cl_int error = enqueue(launch, portion, device, event);
    if (error != CL_SUCCESS) return fail_launch(launch, error);
    return launch->portions > 1 ? wi_queue_flush(device) : WEFT_OK;
}

weft_status wi_launch_run(const wi_launch *launch, wi_device *device) {
    for (int portion = 0; portion < wi_launch_portions(launch); portion++)
        WI_TRY(wi_launch_run_portion(launch, portion, device, NULL));
    return WEFT_OK;
}

void wi_launch_clear(wi_launch *launch) {
    if (launch->kernel) clReleaseKernel(launch->kernel);
    *launch = (wi_launch){0};
}

static weft_status finish_kernels(wi_device *device) {
    WI_TRY(wi_wait_for_queue(device, device->queue));
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
    const weft_status copied = wi_uploads_finish(device);
    const weft_status finished = finish_kernels(device);
    return finished != WEFT_OK ? finished : copied;
}

weft_status wi_queue_flush(wi_device *device) {
    return wi_cl_check(clFlush(device->queue), "submitting work to the device");
}
