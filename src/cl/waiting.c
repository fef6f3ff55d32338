/* Waiting for a device (contract in waiting.h). The thread polls, at growing intervals. An event's callback would not
 * do: drivers may call it late, from a new thread, or never. */
#include "cl/waiting.h"
#include "base/platform.h"
#include "cl/driver.h"
#include <math.h>

/* The thread sleeps for this part of the time already waited, but at least `shortest` and at most `longest` seconds. */
static const double part = 1.0 / 32, shortest = 20e-6, longest = 1e-3;

/* False also for an event that failed or cannot be queried; the blocking call that follows reports the error. */
static bool is_under_way(cl_event event) {
    cl_int state = CL_COMPLETE;
    return clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL) ==
               CL_SUCCESS &&
           state > CL_COMPLETE;
}

static void sleep_until_done(cl_event event) {
    const double begin = wi_clock_seconds();
    while (is_under_way(event))
        wi_clock_sleep(fmin(fmax((wi_clock_seconds() - begin) * part, shortest), longest));
}

weft_status wi_wait_for_queue(const wi_device *device, cl_command_queue queue) {
    cl_event end = NULL;
    WI_TRY(wi_process_check_driver());
    if (!device->caps.sleeps) return WEFT_OK;
    if (clEnqueueMarkerWithWaitList(queue, 0, NULL, &end) != CL_SUCCESS) return WEFT_OK;
    if (clFlush(queue) == CL_SUCCESS) sleep_until_done(end);
    clReleaseEvent(end);
    return WEFT_OK;
}

weft_status wi_wait_for_events(
    const wi_device *device, cl_uint count, const cl_event *events, const char *what) {
    for (cl_uint i = 0; i < count && device->caps.sleeps; i++) sleep_until_done(events[i]);
    return wi_cl_check(clWaitForEvents(count, events), what);
}
