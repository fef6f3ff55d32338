/* Opening and closing devices; only context.c and device_sequence.c use these functions. */
#ifndef WI_DEVICE_OPEN_H
#define WI_DEVICE_OPEN_H

#include "cl/opened_device.h"

/* Where a device is opened: its number in the context, and what a list of devices says about it. */
typedef struct wi_device_place {
    int index;
    wi_device *const
        *taken; /* devices that the selector does not match, unless it is a position such as "0:1" */
    int taken_count;
    unsigned part,
        parts; /* the sub-device `part` of `parts` equal ones is opened; 0 parts: the whole device */
} wi_device_place;

/* Opens the device that the options select (options->device) or give (options->cl_device). If several match and none
 * can be opened, the error is that of the best one. host must outlive the device. */
weft_status wi_device_open(wi_device **device, const wi_device_host *host, const wi_device_place *place,
    const weft_context_options *options);
void wi_device_close(wi_device *device); /* device may be NULL */
/* For predictions: the planner's choices and estimates for later plans assume that the device has `units` compute units, `flops` f32
 * operations a second in all, and a memory bandwidth of `bandwidth` bytes a second. The class of the device, and the results of
 * plans, do not change. */
void wi_device_estimate_as(wi_device *device, int64_t units, double flops, double bandwidth);

#endif
