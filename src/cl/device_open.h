/* Opening and closing devices; only context.c uses this. */
#ifndef WI_DEVICE_OPEN_H
#define WI_DEVICE_OPEN_H

#include "cl/opened_device.h"

/* Opens the device that the options select (options->device) or give (options->cl_device). If several match and none
 * can be opened, the error is that of the best one. host must outlive the device. */
weft_status wi_device_open(
    wi_device **device, const wi_device_host *host, int index, const weft_context_options *options);
void wi_device_close(wi_device *device); /* device may be NULL */
/* From now on plans are chosen and estimated as if the device, without changing its class, had `units` compute units,
 * `flops` f32 operations a second in all and a memory bandwidth of `bandwidth` bytes a second. For predictions: plans
 * compute the same results. */
void wi_device_estimate_as(wi_device *device, int64_t units, double flops, double bandwidth);

#endif
