/* Progress of long operations on a device (contract in device_progress.h). */
#include "cl/device_progress.h"

static void report(const wi_device *device) {
    const wi_device_progress *const now = &device->progress;
    if (device->host.progress)
        device->host.progress(device->host.progress_user, now->done, now->total, now->what);
}

void wi_progress_begin(wi_device *device, size_t total, const char *what) {
    if (device->progress.depth++ > 0) return;
    device->progress.done = 0;
    device->progress.total = total;
    device->progress.what = what;
    report(device);
}

void wi_progress_add(wi_device *device, size_t count) {
    wi_device_progress *const now = &device->progress;
    if (now->depth != 1) return;
    const size_t left = now->total - now->done;
    now->done += count < left ? count : left;
    if (now->done < now->total) report(device); /* wi_progress_end makes the last report */
}

void wi_progress_end(wi_device *device) {
    if (--device->progress.depth > 0) return;
    device->progress.done = device->progress.total;
    report(device);
}
