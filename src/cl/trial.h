/* Trials of kernels that may not end, beside a program that works.
 *
 * What is enqueued in a trial goes to a queue of its own, and waiting for it ends after a limit with an error. What hangs then stays
 * behind in that queue: nothing of it is waited for any more, and memory that is released until the trial's end goes back to the
 * driver, which keeps it for as long as the kernel runs, and not into the pool. The usual queue is as it was. Whether the device computes
 * anything besides is tried at the end: a kernel that occupies all of it makes each later wait and copy an error, where it would be for ever. */
#ifndef WI_TRIAL_H
#define WI_TRIAL_H

#include "cl/opened_device.h"

/* Nothing may be under way on the usual queue. seconds: the limit of each wait. */
weft_status wi_trial_begin(wi_device *device, double seconds);
/* What runs from now on has ended before: waiting is that of the driver, without a limit, so that it can be timed. */
void wi_trial_believe(wi_device *device);
/* true: something did not end. seconds: what the device has then to compute something small. */
bool wi_trial_end(wi_device *device, double seconds);

#endif
