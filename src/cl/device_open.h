/* The life of an opened device, for the context only. */
#ifndef WI_DEVICE_OPEN_H
#define WI_DEVICE_OPEN_H

#include "cl/opened_device.h"

/* The device that the options select or give; when none opens, the best one's error is the answer. host outlives
 * the device. */
weft_status wi_device_open(
    wi_device **device, const wi_device_host *host, int index, const weft_context_options *options);
void wi_device_close(wi_device *device); /* NULL is fine */
/* Plans that are made from now on are chosen and estimated as for a device of the same class with so many compute units,
 * f32 operations a second and bytes a second of its memory. For predictions: what the plans compute is the same. */
void wi_device_estimate_as(wi_device *device, int64_t units, double flops, double bandwidth);

#endif
