/* The progress of what takes long on a device, which the context's callback receives.
 *
 * One operation at a time belongs to a device: what begins inside it is a part of it, and reports nothing. The first report
 * of an operation has 0 finished items and the last one all of them, also after an error. */
#ifndef WI_PROGRESS_H
#define WI_PROGRESS_H

#include "cl/opened_device.h"

/* what: the items' name, which stays where it is until the end. */
void wi_progress_begin(wi_device *device, size_t total, const char *what);
/* So many more items are finished. */
void wi_progress_add(wi_device *device, size_t count);
void wi_progress_end(wi_device *device);
/* Does anybody receive it? */
static inline bool wi_progress_is_asked(const wi_device *device) {
    return device->host.progress != NULL;
}

#endif
