/* Waiting for the device. Some drivers turn round until it has ended (NVIDIA's), which takes a whole core that the program, or
 * another one, could use. There the thread sleeps until all is done, before the call that waits: that one then has nothing
 * to wait for, and says what went wrong. In a trial (trial.h) the same sleep has a limit. */
#ifndef WI_WAITING_H
#define WI_WAITING_H

#include "cl/opened_device.h"

/* Fails where the device computes nothing any more, which stays so, and in a process that has lost the driver (base/process.h). Nothing may
 * be enqueued for the device then that uses host memory: it may never run. */
weft_status wi_check_computing(const wi_device *device);
/* Before a call that blocks on what the queue, one of the device's, has been given: sleeps until that is done where waiting would turn
 * round or has a limit, else returns at once. Fails where it takes too long, and then always; nothing may be waited for then. */
weft_status wi_wait_for_queue(wi_device *device, cl_command_queue queue);
/* clWaitForEvents, without turning round. `what` begins the line of an error. */
weft_status wi_wait_for_events(
    const wi_device *device, cl_uint count, const cl_event *events, const char *what);

#endif
