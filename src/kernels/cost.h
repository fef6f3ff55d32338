/* Estimates of time: what implementations have in common when they say what a site costs them.
 *
 * An estimate is in seconds and comes from the constants of the device's profile. It is meant to be within a factor
 * of about two for large work, and much closer in comparison with the estimates of others at the same site. */
#ifndef WI_COST_H
#define WI_COST_H

#include "cl/device_profile.h"

struct wi_kernel_site;

typedef struct wi_work {
    double operations; /* of the arithmetic units, at their peak: what a kernel wastes is counted with it */
    double bytes;      /* read from memory and written to it */
    double groups;     /* equal parts that units take one after the other; 1 or less: one unit does all */
    int launches;
    double build_seconds; /* of compiling the kernels */
} wi_work;

/* Arithmetic and memory overlap. */
double wi_work_seconds(const wi_device_profile *device, const wi_work *work);

/* One f32 multiply-add of a whole vector; processors do two in a cycle. */
double wi_vector_seconds(const wi_device_profile *device);

/* Time that the device's memory needs for so many bytes, together with `others` that are used at the same time; less
 * where the units' own caches hold them all. */
double wi_traffic_seconds(const wi_device_profile *device, double bytes, double others);

/* The margin (kernels/registry.h) of portable kernels that serve only where no other can: they are small, and so compiled faster than any other,
 * which is no reason to take them. */
double wi_last_resort_margin(const struct wi_kernel_site *site);

/* The fraction of the time of compiling that one run pays. */
double wi_build_fraction(const wi_device_profile *device, double build_seconds);

#endif
