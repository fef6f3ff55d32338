/* See waiting.h. The driver is asked, ever more rarely, and not made to call back: a callback may come late, in a thread that it
 * never came from before, or not at all. */
#include "cl/waiting.h"
#include "cl/driver.h"
#include <math.h>

/* Between two questions lies this part of the time that has passed, within these bounds. */
static const double part = 1.0 / 32, shortest = 20e-6, longest = 1e-3;

/* What lies between two questions counts up to this: a process that is stopped (SIGSTOP, a debugger) does not wait meanwhile. */
static const double most_counted = 10e-3;

weft_status wi_check_computing(const wi_device *device) {
    WI_TRY(wi_process_check_driver());
    if (device->trial.hangs)
        WI_FAIL(WEFT_ERROR_OPENCL,
            "%s can no longer be used: a kernel that was measured between runs did not finish",
            device->info.name);
    return WEFT_OK;
}

/* An event that has failed, or that cannot be asked, is not: the call that follows says why. */
static bool is_under_way(cl_event event) {
    cl_int state = CL_COMPLETE;
    return clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL) ==
               CL_SUCCESS &&
           state > CL_COMPLETE;
}

/* false: it was still under way after so many seconds, of which 0 are any number. */
static bool sleep_until_done(cl_event event, double limit) {
    double waited = 0.0, last = wi_clock_seconds();
    while (is_under_way(event)) {
        if (limit > 0.0 && waited > limit) return false;
        wi_clock_sleep(fmin(fmax(waited * part, shortest), longest));
        const double now = wi_clock_seconds();
        waited += fmin(now - last, most_counted);
        last = now;
    }
    return true;
}

weft_status wi_wait_for_queue(wi_device *device, cl_command_queue queue) {
    const double limit = device->trial.limit;
    cl_event end = NULL;
    WI_TRY(wi_check_computing(device));
    if (!device->caps.sleeps && limit <= 0.0) return WEFT_OK;
    if (clEnqueueMarkerWithWaitList(queue, 0, NULL, &end) != CL_SUCCESS) return WEFT_OK;
    device->trial.hangs = clFlush(queue) == CL_SUCCESS && !sleep_until_done(end, limit);
    clReleaseEvent(end);
    if (device->trial.hangs) WI_FAIL(WEFT_ERROR_OPENCL, "it did not finish within %g seconds", limit);
    return WEFT_OK;
}

weft_status wi_wait_for_events(
    const wi_device *device, cl_uint count, const cl_event *events, const char *what) {
    for (cl_uint i = 0; i < count && device->caps.sleeps; i++) (void)sleep_until_done(events[i], 0.0);
    return wi_cl_check(clWaitForEvents(count, events), what);
}
