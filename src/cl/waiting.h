/* Waiting for a device. Some drivers, such as NVIDIA's, busy-wait in blocking calls, and so use a whole processor core.
 * With these drivers the thread sleeps until the work is done, and only then makes the blocking call, which returns at
 * once and reports errors. */
#ifndef WI_WAITING_H
#define WI_WAITING_H

#include "cl/opened_device.h"

/* To be called before a blocking call on one of the device's queues. If the driver busy-waits, the function sleeps
 * until the queue has finished its commands, otherwise it returns at once. WEFT_ERROR_STATE if the process has lost the
 * driver (base/process.h). */
weft_status wi_wait_for_queue(const wi_device *device, cl_command_queue queue);
/* clWaitForEvents, without busy-waiting. `what` begins the message of an error. */
weft_status wi_wait_for_events(
    const wi_device *device, cl_uint count, const cl_event *events, const char *what);

#endif
