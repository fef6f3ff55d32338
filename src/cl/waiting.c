/* See waiting.h. The driver is asked, ever more rarely, and where it waits well by itself, but a limit forbids to let it, it calls back,
 * too: to ask often costs kernels on the same cores a tenth of their time. No call is relied on, which may come late, or not at all. */
#include "cl/waiting.h"
#include "cl/driver.h"
#include "cl/event_signal.h"
#include "cl/pending.h"
#include <math.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* Between two questions lies this part of the time that has passed, within these bounds. */
static const double part = 1.0 / 32, shortest = 20e-6, longest = 1e-3;

/* The same where the driver calls back. */
static const double pause_between = 10e-3;

/* What lies between two questions counts up to this: a process that is stopped (SIGSTOP, a debugger) does not wait meanwhile. */
static const double most_counted = 10e-3;

weft_status wi_check_computing(const wi_device *device) {
    WI_TRY(wi_process_check_driver());
    if (device->trial.hangs)
        WI_FAIL(WEFT_ERROR_OPENCL, "%s can no longer be used: %s did not finish", device->info.name,
            *device->hung ? device->hung : "a kernel");
    return WEFT_OK;
}

void wi_note_hung(wi_device *device, const char *format, ...) {
    char text[WI_HUNG_NAME];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    memcpy(device->hung, text, sizeof text);
    for (int i = 0; i < *device->host.all_count; i++) memcpy(device->host.all[i]->hung, text, sizeof text);
}

/* Of the process, as what hangs may outlive its context: so that tools that look for lost memory find it. */
typedef struct left {
    void *memory;
    struct left *next;
} left;
static _Atomic(left *) last_left;

void wi_leave_to_device(const wi_device *device, const weft_allocator *allocator, void *memory) {
    if (!device->trial.hangs) {
        wi_release(allocator, memory);
        return;
    }
    left *const one = memory ? wi_allocate(NULL, sizeof *one) : NULL;
    if (!one) return;
    one->memory = memory;
    one->next = atomic_load(&last_left);
    while (!atomic_compare_exchange_weak(&last_left, &one->next, one)) continue;
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

weft_status wi_wait_for_event(wi_device *device, cl_event event, const char *what) {
    const bool is_trial = device->trial.usual || device->trial.limit > 0.0;
    WI_TRY(wi_check_computing(device));
    if (sleep_until_done(device, event)) return WEFT_OK;
    if (!is_trial) return wi_pending_fail(device, what);
    device->trial.hangs = true;
    WI_FAIL(WEFT_ERROR_OPENCL, "it did not finish within %g seconds", limit_of(device));
}

/* Something of a run that failed on its way has no mark behind it yet. */
static weft_status wait_for_mark(wi_device *device, cl_command_queue queue, const char *what) {
    cl_event end = NULL;
    if (queue == device->queue) WI_TRY(wi_pending_end_run(device));
    if (clEnqueueMarkerWithWaitList(queue, 0, NULL, &end) != CL_SUCCESS) return WEFT_OK;
    weft_status status = clFlush(queue) == CL_SUCCESS ? wi_wait_for_event(device, end, what) : WEFT_OK;
    if (status == WEFT_OK) (void)wi_pending_advance(device);
    if (status == WEFT_OK) status = wi_pending_check(device);
    if (status == WEFT_OK && wi_event_state(end) < CL_COMPLETE)
        status = wi_cl_check(wi_event_state(end), what);
    clReleaseEvent(end);
    return status;
}

/* Is the wait ours, and not left to the driver? */
static bool asks_itself(const wi_device *device) {
    return device->caps.sleeps || device->trial.limit > 0.0 || device->pending;
}

weft_status wi_wait_for_queue(wi_device *device, cl_command_queue queue, const char *what) {
    WI_TRY(wi_check_computing(device));
    return asks_itself(device) ? wait_for_mark(device, queue, what) : WEFT_OK;
}

weft_status wi_wait_for_events(wi_device *device, cl_uint count, const cl_event *events, const char *what) {
    const bool asks = asks_itself(device);
    for (cl_uint i = 0; i < count && asks; i++) WI_TRY(wi_wait_for_event(device, events[i], what));
    return wi_cl_check(clWaitForEvents(count, events), what);
}
