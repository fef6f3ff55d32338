/* See waiting.h. The driver is asked, ever more rarely, and not made to call back: a callback may come late, in a thread that it
 * never came from before, or not at all. */
#include "cl/waiting.h"
#include "base/platform.h"
#include <math.h>

/* Between two questions lies this part of the time that has passed, within these bounds. */
static const double part = 1.0 / 32, shortest = 20e-6, longest = 1e-3;

/* An event that has failed, or that cannot be asked, is not waited for: the call that follows says why. */
static bool is_under_way(cl_event event) {
    cl_int state = CL_COMPLETE;
    return clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL) ==
               CL_SUCCESS &&
           state > CL_COMPLETE;
}

/* false: it was still under way after so many seconds, of which 0 are any number. */
static bool sleep_until_done(cl_event event, double limit) {
    const double begin = wi_clock_seconds();
    while (is_under_way(event)) {
        const double passed = wi_clock_seconds() - begin;
        if (limit > 0.0 && passed > limit) return false;
        wi_clock_sleep(fmin(fmax(passed * part, shortest), longest));
    }
    return true;
}

weft_status wi_wait_for_queue(wi_device *device, cl_command_queue queue) {
    const double limit = device->trial.limit;
    cl_event end = NULL;
    if (device->trial.hangs)
        WI_FAIL(WEFT_ERROR_OPENCL, "%s computes nothing any more: a kernel that was tried does not end",
            device->info.name);
    if (!device->caps.sleeps && limit <= 0.0) return WEFT_OK;
    if (clEnqueueMarkerWithWaitList(queue, 0, NULL, &end) != CL_SUCCESS) return WEFT_OK;
    device->trial.hangs = clFlush(queue) == CL_SUCCESS && !sleep_until_done(end, limit);
    clReleaseEvent(end);
    if (device->trial.hangs) WI_FAIL(WEFT_ERROR_OPENCL, "it did not end in %g seconds", limit);
    return WEFT_OK;
}

cl_int wi_wait_for_events(const wi_device *device, cl_uint count, const cl_event *events) {
    for (cl_uint i = 0; i < count && device->caps.sleeps; i++) (void)sleep_until_done(events[i], 0.0);
    return clWaitForEvents(count, events);
}
