/* See waiting.h. The driver is asked, ever more rarely, and where it waits well by itself, but a limit forbids to let it, it calls back,
 * too: to ask often costs kernels on the same cores a tenth of their time. No call is relied on, which may come late, or not at all. */
#include "cl/waiting.h"
#include "cl/event_signal.h"
#include "cl/pending.h"
#include <math.h>

/* Between two questions lies this part of the time that has passed, within these bounds. */
static const double part = 1.0 / 32, shortest = 20e-6, longest = 1e-3;

/* The same where the driver calls back. */
static const double pause_between = 10e-3;

/* What lies between two questions counts up to this: a process that is stopped (SIGSTOP, a debugger) does not wait meanwhile. */
static const double most_counted = 10e-3;

weft_status wi_check_computing(const wi_device *device) {
    if (device->trial.hangs)
        WI_FAIL(WEFT_ERROR_OPENCL, "%s computes nothing any more: a kernel does not end", device->info.name);
    return WEFT_OK;
}

cl_int wi_event_state(cl_event event) {
    cl_int state = CL_COMPLETE;
    const cl_int asked = clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL);
    return asked == CL_SUCCESS ? state : CL_COMPLETE;
}

/* Seconds that waiting may take now; 0: any time. */
static double limit_of(const wi_device *device) {
    return device->trial.limit > 0.0 ? device->trial.limit : wi_pending_limit(device);
}

static void sleep_between(wi_event_signal *signal, double waited) {
    if (signal)
        wi_event_signal_wait(signal, pause_between);
    else
        wi_clock_sleep(fmin(fmax(waited * part, shortest), longest));
}

/* false: it was still under way when the limit was over. */
static bool sleep_until_done(wi_device *device, cl_event event) {
    double waited = 0.0, last = wi_clock_seconds();
    if (!wi_is_under_way(event)) return true;
    wi_event_signal *const signal = device->caps.sleeps ? NULL : wi_pending_signal(device, event);
    while (wi_is_under_way(event)) {
        if (wi_pending_advance(device)) waited = 0.0;
        const double limit = limit_of(device);
        if (limit > 0.0 && waited > limit) return false;
        sleep_between(signal, waited);
        const double now = wi_clock_seconds();
        waited += fmin(now - last, most_counted);
        last = now;
    }
    return true;
}

weft_status wi_wait_for_event(wi_device *device, cl_event event) {
    WI_TRY(wi_check_computing(device));
    if (sleep_until_done(device, event)) return WEFT_OK;
    device->trial.hangs = true;
    if (device->trial.limit <= 0.0) return wi_pending_fail(device);
    WI_FAIL(WEFT_ERROR_OPENCL, "it did not end in %g seconds", device->trial.limit);
}

/* Sleeps until all is done that the queue has been given. */
static weft_status sleep_for_queue(wi_device *device, cl_command_queue queue) {
    cl_event end = NULL;
    if (clEnqueueMarkerWithWaitList(queue, 0, NULL, &end) != CL_SUCCESS) return WEFT_OK;
    const weft_status status = clFlush(queue) == CL_SUCCESS ? wi_wait_for_event(device, end) : WEFT_OK;
    clReleaseEvent(end);
    return status;
}

/* What comes after the launches that are noted has no limit: the driver may wait for it. */
weft_status wi_wait_for_queue(wi_device *device, cl_command_queue queue) {
    WI_TRY(wi_check_computing(device));
    if (device->caps.sleeps || device->trial.limit > 0.0) return sleep_for_queue(device, queue);
    return queue == device->queue ? wi_pending_wait(device) : WEFT_OK;
}

weft_status wi_wait_for_events(wi_device *device, cl_uint count, const cl_event *events, const char *what) {
    const bool sleeps = device->caps.sleeps || wi_pending_any(device);
    for (cl_uint i = 0; i < count && sleeps; i++) WI_TRY(wi_wait_for_event(device, events[i]));
    return wi_cl_check(clWaitForEvents(count, events), what);
}
