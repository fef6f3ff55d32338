/* Estimates of time, in seconds, from the constants of the device's profile.
 *
 * For large work an estimate should be within a factor of two of the real time. The estimates of different implementations for
 * the same site are compared with each other, so the ratio between them should be much closer. */
#ifndef WI_COST_H
#define WI_COST_H

#include "cl/device_profile.h"

struct wi_kernel_site;

typedef struct wi_work {
    double operations; /* at the peak of the arithmetic units; wasted time is counted as operations */
    double bytes;      /* read from memory and written to it */
    double groups;     /* equal parts, which are divided among the units; 1 or less: one unit works */
    int launches;
    double build_seconds; /* of compiling the kernels */
} wi_work;

/* The estimated seconds of the work. Arithmetic and memory traffic overlap. */
double wi_work_seconds(const wi_device_profile *device, const wi_work *work);

/* The seconds of one f32 multiply-add of a whole vector. Processors do two such operations in a cycle. */
double wi_vector_seconds(const wi_device_profile *device);

/* The time to move this many bytes between memory and units. It is less if they and `others`, bytes that are used at the same
 * time, fit together in the units' caches. */
double wi_traffic_seconds(const wi_device_profile *device, double bytes, double others);

/* The margin of portable kernels, which are chosen only where no other kernel can be used. By their estimates alone they could be
 * chosen elsewhere, because these small kernels are compiled quickly. */
double wi_last_resort_margin(const struct wi_kernel_site *site);

/* The part of the compile time that an estimate adds to the time of one run. */
double wi_build_fraction(const wi_device_profile *device, double build_seconds);

#endif
