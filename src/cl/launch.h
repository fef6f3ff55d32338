/* A prepared launch: a kernel of its own with its arguments set, and its sizes. A step walks over these. */
#ifndef WI_LAUNCH_H
#define WI_LAUNCH_H

#include "cl/opened_device.h"

typedef struct wi_launch {
    cl_kernel kernel;   /* owned */
    cl_uint dimensions; /* 1 to 3 */
    size_t global[3];   /* a multiple of local */
    size_t local[3];    /* local[0] == 0: the driver chooses */
    const char *name;   /* for errors and descriptions; borrowed */
} wi_launch;

/* Enqueues without waiting. */
weft_status wi_launch_run(const wi_launch *launch, wi_device *device);
/* The same; event NULL: none is made. */
weft_status wi_launch_run_event(const wi_launch *launch, wi_device *device, cl_event *event);
void wi_launch_clear(wi_launch *launch);
/* Waits for all that the device was given, copies on its second queue (uploads.h) included, after an error too. */
weft_status wi_queue_finish(wi_device *device);
weft_status wi_queue_flush(wi_device *device);

#endif
