/* A prepared launch: a kernel of its own with its arguments set, and its sizes. A step walks over these.
 *
 * A device that shows a display, too, does not answer it while a launch runs, and systems reset one that takes seconds for
 * a launch. So what is expected to take long is cut into portions, each of some work-groups along one dimension, by the offset
 * of its work-items: kernels see the same numbers of items and of groups (WEFT_CUT in common.clh), and compute the same
 * bits. Sizes that a kernel asks for (get_global_size) are those of the portion. Portions are handed over one by one, since
 * drivers may give the device what they have gathered as one piece of work. */
#ifndef WI_LAUNCH_H
#define WI_LAUNCH_H

#include "cl/opened_device.h"

typedef struct wi_launch {
    cl_kernel kernel;   /* owned */
    cl_uint dimensions; /* 1 to 3 */
    size_t global[3];   /* a multiple of local */
    size_t local[3];    /* local[0] == 0: the driver chooses */
    const char *name;   /* for errors and descriptions; borrowed */
    int portions;       /* 0: as 1 */
    int along;          /* the dimension that is cut, */
    size_t portion;     /* into so many work-items, the last portion less */
} wi_launch;

/* Cuts a launch of expected seconds, none of its portions longer than `longest` (0: it stays whole) as far as it has work-groups.
 * whole: dimensions, a bit each, that are not cut. */
void wi_launch_cut(wi_launch *launch, double seconds, double longest, unsigned whole);
static inline int wi_launch_portions(const wi_launch *launch) {
    return launch->portions > 1 ? launch->portions : 1;
}

/* Enqueues all portions without waiting. */
weft_status wi_launch_run(const wi_launch *launch, wi_device *device);
/* One portion; event NULL: none is made. */
weft_status wi_launch_run_portion(const wi_launch *launch, int portion, wi_device *device, cl_event *event);
void wi_launch_clear(wi_launch *launch);
/* Waits for all that the device was given, copies on its second queue (uploads.h) included, after an error too. */
weft_status wi_queue_finish(wi_device *device);
weft_status wi_queue_flush(wi_device *device);

#endif
