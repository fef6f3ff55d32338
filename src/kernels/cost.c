/* Estimates of time (contract in cost.h). */
#include "kernels/cost.h"
#include <math.h>

double wi_vector_seconds(const wi_device_profile *device) {
    return 2.0 * device->lanes / device->peak_f32;
}

double wi_traffic_seconds(const wi_device_profile *device, double bytes, double others) {
    const double units = (double)device->units;
    const bool near = bytes + others <= units * (double)device->near_cache;
    return bytes / (near ? units * device->near_bandwidth : device->bandwidth);
}

double wi_last_resort_margin(const struct wi_kernel_site *site) {
    (void)site;
    return 1000.0;
}

double wi_build_fraction(const wi_device_profile *device, double build_seconds) {
    return build_seconds / device->runs;
}

/* Each unit takes one group after the other. With few groups per unit, no other group works while one waits for memory. */
static double arithmetic(const wi_device_profile *device, const wi_work *work) {
    const double units = (double)device->units, groups = fmax(1.0, work->groups);
    const double share = groups < device->hiding_groups * units ? device->exposed : 1.0;
    return ceil(groups / units) / groups * work->operations / (device->peak_f32 * share);
}

/* Few groups leave the memory idle: one group alone does not request enough to use its unit's share of the bandwidth. */
static double traffic(const wi_device_profile *device, const wi_work *work) {
    const double all = wi_traffic_seconds(device, work->bytes, 0.0), groups = fmax(1.0, work->groups);
    return all * fmax(1.0, device->drawing_groups * (double)device->units / groups);
}

double wi_work_seconds(const wi_device_profile *device, const wi_work *work) {
    const double wake = work->groups > 1.0 ? device->wake_seconds : 0.0;
    return work->launches * device->launch_seconds + wake + wi_build_fraction(device, work->build_seconds) +
           fmax(arithmetic(device, work), traffic(device, work));
}
