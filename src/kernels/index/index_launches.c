/* Sizes and launches of kernels that pick and add up by index (contract in index_launches.h). */
#include "kernels/index/index_launches.h"

wi_around wi_around_axis(const wi_kernel_site *site, const wi_extent *extent) {
    const int axis = site->node->attributes->index.axis;
    wi_around a = {1, extent->dims[axis].actual, 1};
    for (int i = 0; i < extent->rank; i++) {
        if (i < axis) a.outer *= extent->dims[i].actual;
        if (i > axis) a.inner *= extent->dims[i].actual;
    }
    return a;
}

wi_kernel_launch *wi_launch_rows(
    const wi_kernel_site *site, wi_kernel_plan *plan, const char *suffix, int64_t rows, int64_t inner) {
    const size_t group = (size_t)site->device->group;
    size_t lanes = 1;
    while ((int64_t)lanes < inner && lanes < group) lanes *= 2;
    wi_kernel_launch *launch = wi_kernel_launch_1d(plan, suffix, (int64_t)lanes, (int64_t)lanes);
    const size_t beside = group / lanes;
    launch->dimensions = 2;
    launch->local[1] = beside;
    launch->global[1] = ((size_t)rows + beside - 1) / beside * beside;
    return launch;
}
