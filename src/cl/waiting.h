/* Waiting for the device. Some drivers turn round until it has ended (NVIDIA's), which takes a whole core that the program, or
 * another one, could use. There the thread sleeps until all is done, before the call that waits: that one then has nothing
 * to wait for, and says what went wrong. The same sleep ends where something takes too long: in a trial (trial.h), and where the
 * program has a longest_wait (pending.h). */
#ifndef WI_WAITING_H
#define WI_WAITING_H

#include "cl/opened_device.h"

/* Fails where the device computes nothing any more, which stays so. */
weft_status wi_check_computing(const wi_device *device);
/* Before a call that blocks on what the queue, one of the device's, has been given: sleeps until that is done where waiting would turn
 * round or has a limit, else returns at once. Fails where it takes too long, and then always; nothing may be waited for then. */
weft_status wi_wait_for_queue(wi_device *device, cl_command_queue queue);
/* Sleeps until an event of flushed work is done, or has failed; fails as wi_wait_for_queue does. */
weft_status wi_wait_for_event(wi_device *device, cl_event event);
/* clWaitForEvents, without turning round, and with the same limit. `what` begins the line of an error. */
weft_status wi_wait_for_events(wi_device *device, cl_uint count, const cl_event *events, const char *what);
/* CL_RUNNING and the like; below 0: it has failed. One that cannot be asked is complete: who waits for it then hears why. */
cl_int wi_event_state(cl_event event);
static inline bool wi_is_under_way(cl_event event) {
    return wi_event_state(event) > CL_COMPLETE;
}

#endif
