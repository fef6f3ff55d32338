/* A launch: a kernel object with its arguments set, and its sizes. A step of a plan enqueues its launches in order.
 *
 * A device that also shows a display does not update it while a launch runs, and operating systems reset a device whose
 * launch takes seconds. A launch that is expected to take long is therefore enqueued as several *portions*: ranges of
 * its work-groups along one dimension, by a global offset. Work-items keep their global ids and groups their numbers
 * (WEFT_CUT in common.clh), so that results have the same bits; get_global_size is that of the portion. Each portion is
 * flushed, because drivers may merge enqueued launches into one submission. */
#ifndef WI_LAUNCH_H
#define WI_LAUNCH_H

#include "base/status.h"
#include <CL/cl.h>

typedef struct wi_device wi_device; /* opened_device.h */

typedef struct wi_launch {
    cl_kernel kernel;   /* owned by the launch */
    cl_uint dimensions; /* 1 to 3 */
    size_t global[3];   /* work-items; a multiple of local */
    size_t local[3];    /* local[0] == 0: the driver chooses the group */
    const char *name;   /* for messages and descriptions; not owned */
    int portions;       /* number of portions; 0: one */
    int along;          /* the dimension that is divided into portions */
    size_t portion;     /* work-items of a portion along this dimension; the last has fewer */
} wi_launch;

/* Divides a launch that is expected to take `seconds` into portions of at most `longest` seconds (0: no limit), as far
 * as it has work-groups. whole: one bit for each dimension that must not be divided. */
void wi_launch_cut(wi_launch *launch, double seconds, double longest, unsigned whole);
static inline int wi_launch_portions(const wi_launch *launch) {
    return launch->portions > 1 ? launch->portions : 1;
}

/* Enqueues all portions, without waiting. Errors: those of wi_cl_check. */
weft_status wi_launch_run(const wi_launch *launch, wi_device *device);
/* Enqueues one portion. *event, which the caller releases, is that of the portion; event may be NULL. */
weft_status wi_launch_run_portion(const wi_launch *launch, int portion, wi_device *device, cl_event *event);
/* Releases the kernel. */
void wi_launch_clear(wi_launch *launch);
/* Waits until all commands of the device have finished, also copies on its second queue (uploads.h), and also after an
 * error. */
weft_status wi_queue_finish(wi_device *device);
/* Submits the enqueued commands to the device. */
weft_status wi_queue_flush(wi_device *device);

#endif
