/* Resampling and its gradient. See cl_kernels/pooling/resample.cl. */
#include "base/integers.h"
#include "kernels/index_type.h"
#include "ops/pooling/pool.h"

enum { WORTH = 4096 }; /* elements for which one more item is started on devices with item_walks */

static weft_status prepare(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const bool gradient = site->node->op == &wi_op_resample_gradient;
    const wi_device_profile *const device = site->device;
    const bool walks = device->item_walks; /* each item walks along the channels of a pixel */
    const wi_extent *x = gradient ? &site->result : &site->inputs[0];
    const wi_extent *y = gradient ? &site->inputs[0] : &site->result;
    const int64_t count = wi_extent_count(&site->result).actual, larger = wi_extent_count(y).actual;
    const int64_t channels = x->dims[x->rank - 1].actual, pixels = count / channels;
    const int64_t worth = wi_max64(count, larger) / WORTH + 1, most = device->units * device->items_a_unit;
    const int64_t share = walks ? wi_divide_up(pixels, wi_min64(wi_min64(worth, most), pixels)) : 1;
    plan->flops = (double)wi_max64(count, larger) *
                  (site->node->attributes->resample.mode == WI_RESAMPLE_NEAREST ? 1 : 8);
    wi_kernel_index_type(plan, site, (double)wi_max64(wi_extent_count(x).actual, larger));
    wi_kernel_macro_int(plan, "WEFT_PASS", gradient);
    wi_kernel_launch *launch = wi_kernel_launch_1d(
        plan, gradient ? "gather" : "mix", walks ? wi_divide_up(pixels, share) : count, device->group);
    wi_kernel_input(launch, 0);
    wi_kernel_result(launch);
    wi_kernel_indices(plan, launch, WI_KERNEL_NUMBERS(pixels));
    wi_kernel_ints(launch, WI_KERNEL_NUMBERS(channels, share, site->node->attributes->resample.mode));
    for (int i = 0; i < 3; i++) {
        const int axis = i + x->rank - 4;
        wi_kernel_int(launch, axis < 1 ? 1 : x->dims[axis].actual);
        wi_kernel_int(launch, axis < 1 ? 1 : y->dims[axis].actual);
        wi_kernel_float(launch, (double)site->node->attributes->resample.scale[i]);
    }
    return WEFT_OK;
}

const wi_implementation wi_resample_kernel = {
    .name = "resample", .file = "resample.cl", .ops = {&wi_op_resample}, .prepare = prepare};
const wi_implementation wi_resample_gradient_kernel = {.name = "resample_gradient",
    .file = "resample.cl",
    .ops = {&wi_op_resample_gradient},
    .prepare = prepare};
