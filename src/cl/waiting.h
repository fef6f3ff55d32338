/* Waiting for the device. Some drivers turn round until it has ended (NVIDIA's), which takes a whole core that the program, or
 * another one, could use. There the thread sleeps until all is done, before the call that waits: that one then has nothing
 * to wait for, and says what went wrong. */
#ifndef WI_WAITING_H
#define WI_WAITING_H

#include "cl/opened_device.h"

/* Before a call that blocks on what the queue, one of the device's, has been given: sleeps until that is done where waiting would turn
 * round, else returns at once. Fails in a process that has lost the driver (base/process.h). */
weft_status wi_wait_for_queue(const wi_device *device, cl_command_queue queue);
/* clWaitForEvents, without turning round. `what` begins the line of an error. */
weft_status wi_wait_for_events(
    const wi_device *device, cl_uint count, const cl_event *events, const char *what);

#endif
