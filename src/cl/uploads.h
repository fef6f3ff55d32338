/* Copying data to a device while its kernels run: a second in-order queue of the device, and pinned host memory.
 *
 * Devices with their own memory have the queue (upload_queue of the profile). Others copy on the queue of the kernels,
 * where a copy is as fast as one by the host. Events order the two queues: a copy waits for a marker on the queue of
 * the kernels, and this queue waits for the copy. A queue can wait for another one only if that one is flushed, so that
 * markers and copies are flushed at once. Only wi_uploads_open and wi_pinned_create allocate memory. */
#ifndef WI_UPLOADS_H
#define WI_UPLOADS_H

#include "cl/opened_device.h"

/* Creates the queue if the profile wants one. If the driver cannot, the log says so, and the device has no second
 * queue. */
void wi_uploads_open(wi_device *device);
void wi_uploads_close(wi_device *device);

/* *mark: a marker behind all commands that are in the queue of the kernels; the caller releases it. */
weft_status wi_uploads_mark(wi_device *device, cl_event *mark);
/* Copies `bytes` bytes of data to the beginning of the memory on the second queue, after the marker `after` (NULL: at
 * once). Commands that are enqueued for the kernels later wait for the copy. wait: returns when data is copied;
 * otherwise data must stay valid until wi_uploads_finish. device->uploads must not be NULL. */
weft_status wi_upload(
    wi_device *device, cl_mem memory, const void *data, size_t bytes, cl_event after, bool wait);
/* Waits until all copies have ended; returns the error of one that failed. No effect without a second queue. */
weft_status wi_uploads_finish(wi_device *device);

/* Pinned host memory, from which a device copies directly, without the driver's own copy. */
typedef struct wi_pinned {
    cl_mem memory;
    void *data; /* mapped until wi_pinned_release; NULL: there is no pinned memory */
} wi_pinned;

/* pinned->data is NULL if the device has no second queue or the driver has no such memory; the caller then uses other
 * memory. */
void wi_pinned_create(wi_pinned *pinned, wi_device *device, size_t bytes);
void wi_pinned_release(wi_pinned *pinned, wi_device *device);

#endif
