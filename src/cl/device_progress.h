/* Progress of long operations on a device, for the callback of the context.
 *
 * A device has one operation at a time. An operation that begins inside another one is a part of it and reports
 * nothing. The first report of an operation has 0 finished items, the last one all items, also after an error. */
#ifndef WI_PROGRESS_H
#define WI_PROGRESS_H

#include "cl/opened_device.h"

/* what: the name of the items, which must stay valid until wi_progress_end. */
void wi_progress_begin(wi_device *device, size_t total, const char *what);
/* `count` more items are finished. */
void wi_progress_add(wi_device *device, size_t count);
void wi_progress_end(wi_device *device);
/* Whether the program has a callback. */
static inline bool wi_progress_is_asked(const wi_device *device) {
    return device->host.progress != NULL;
}

#endif
