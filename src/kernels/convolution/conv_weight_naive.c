/* The portable weight's gradient of a convolution: accepts everything. See conv_weight_naive.cl. */
#include "base/integers.h"
#include "kernels/convolution/conv_weight.h"

static weft_status prepare(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_conv conv = wi_conv_weight_of(site);
    const int64_t group = wi_min64(site->device->group, (int64_t)site->device->max_group);
    plan->flops = wi_conv_flops(&conv);
    wi_kernel_launch *const launch =
        wi_kernel_launch_1d(plan, "naive", wi_conv_weight_elements(&conv), group);
    wi_kernel_input(launch, 0);
    wi_kernel_input(launch, 1);
    wi_kernel_result(launch);
    wi_conv_weight_add_sizes(launch, &conv);
    return WEFT_OK;
}

const wi_implementation wi_conv_weight_naive = {.name = "conv_naive_weight",
    .ops = {&wi_op_conv_weight},
    .file = "conv_weight_naive.cl",
    .prepare = prepare};
