/* Waiting for the device. Some drivers turn round until it has ended (NVIDIA's), which takes a whole core that the program, or
 * another one, could use. There the thread sleeps until all is done, before the call that waits: that one then has nothing
 * to wait for, and says what went wrong. The same sleep ends where something takes too long: in a trial (trial.h), and everywhere where the
 * program has a longest_wait (pending.h). Calls that return without what they wait for leave it behind: objects of OpenCL's are released,
 * and the driver keeps them; host memory that a copy may still read or write is kept by wi_leave_to_device. */
#ifndef WI_WAITING_H
#define WI_WAITING_H

#include "cl/opened_device.h"

/* Fails where the device computes nothing any more, which stays so, and in a process that has lost the driver (base/process.h). */
weft_status wi_check_computing(const wi_device *device);
/* Before a call that blocks on what the queue, one of the device's, has been given: sleeps until that is done where waiting would turn
 * round or has a limit, else returns at once. Fails where it takes too long, and then always; nothing may be waited for then. Fails, too,
 * where a launch that was noted has failed. `what` begins the line of an error that knows no launch. */
weft_status wi_wait_for_queue(wi_device *device, cl_command_queue queue, const char *what);
/* Sleeps until an event of flushed work is done, or has failed; fails as wi_wait_for_queue does. */
weft_status wi_wait_for_event(wi_device *device, cl_event event, const char *what);
/* clWaitForEvents, without turning round, and with the same limit. `what` begins the line of an error. */
weft_status wi_wait_for_events(wi_device *device, cl_uint count, const cl_event *events, const char *what);
/* Something hangs, which this names in the line of later calls. */
void wi_note_hung(wi_device *device, const char *format, ...) WI_PRINTF(2, 3);
/* Releases host memory that copies of the device read or write; where something hangs, it stays instead until the process ends, as such a
 * copy may come late. */
void wi_leave_to_device(const wi_device *device, const weft_allocator *allocator, void *memory);
/* CL_RUNNING and the like; below 0: it has failed. One that cannot be asked is complete: who waits for it then hears why. */
cl_int wi_event_state(cl_event event);
static inline bool wi_is_under_way(cl_event event) {
    return wi_event_state(event) > CL_COMPLETE;
}

#endif
