/* Copies to a device beside its kernels: a second queue of it, in order as the first, and host memory that stays where it is.
 *
 * Devices with memory of their own have the queue (upload_queue of the profile); the others copy on the queue of their
 * kernels, where a copy is as quick as one of the host's. What orders the two queues is events: a copy waits for a mark on
 * the queue of the kernels, and that queue waits for the copy. A queue that waits for another needs that one flushed, so marks
 * and copies are flushed at once. Nothing here allocates but wi_pinned_create. */
#ifndef WI_UPLOADS_H
#define WI_UPLOADS_H

#include "cl/opened_device.h"

/* Makes the queue, where the profile says so. A driver that has no second queue does without, which the log says. */
void wi_uploads_open(wi_device *device);
void wi_uploads_close(wi_device *device);

/* A mark behind all that the queue of the kernels has now; the caller releases it. */
weft_status wi_uploads_mark(wi_device *device, cl_event *mark);
/* Copies data to the beginning of the memory, on the second queue, behind the mark `after` (NULL: at once). What is enqueued
 * for the kernels from now on waits for the copy. wait: data is copied when this returns; else it must stay valid until
 * wi_uploads_finish. Needs device->uploads. */
weft_status wi_upload(
    wi_device *device, cl_mem memory, const void *data, size_t bytes, cl_event after, bool wait);
/* Waits for all copies, also after an error; fails where one of them has. Without a second queue there are none. */
weft_status wi_uploads_finish(wi_device *device);

/* Host memory from which a device copies by itself: drivers keep it in place, and need no copy of it of their own. */
typedef struct wi_pinned {
    cl_mem memory;
    void *data; /* mapped as long as there is the memory; NULL: there is none */
} wi_pinned;

/* No data where the device has no second queue, or the driver gives none of that size: ordinary memory serves then. */
void wi_pinned_create(wi_pinned *pinned, wi_device *device, size_t bytes);
void wi_pinned_release(wi_pinned *pinned, wi_device *device);

#endif
