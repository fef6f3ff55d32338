/* The portable weight's gradient of a convolution, which accepts every site on every device. See
 * cl_kernels/convolution/conv_weight_naive.cl. */
#include "base/integers.h"
#include "kernels/convolution/conv_weight.h"
#include "kernels/cost.h"
#include "kernels/index_type.h"

/* For each multiply-add the kernel computes the pixel's index again, which takes several times as long as the multiply-add. */
static double cost(const wi_kernel_site *site) {
    const wi_conv conv = wi_conv_weight_of(site);
    return wi_work_seconds(
        site->device, &(wi_work){.operations = 500.0 * wi_conv_weight_multiplications(&conv),
                          .bytes = wi_conv_weight_bytes(&conv),
                          .groups = (double)wi_conv_weight_elements(&conv) / site->device->group,
                          .launches = 1,
                          .build_seconds = 0.1});
}

static weft_status prepare(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_conv conv = wi_conv_weight_of(site);
    const int64_t group = wi_min64(site->device->group, (int64_t)site->device->max_group);
    plan->flops = wi_conv_flops(&conv);
    wi_kernel_index_type(plan, site, (double)wi_conv_weight_elements(&conv));
    wi_kernel_launch *const launch =
        wi_kernel_launch_1d(plan, "naive", wi_conv_weight_elements(&conv), group);
    wi_kernel_inputs(launch, 2);
    wi_kernel_result(launch);
    wi_conv_weight_add_sizes(launch, &conv);
    return WEFT_OK;
}

const wi_implementation wi_conv_weight_naive = {.name = "conv_naive_weight",
    .ops = {&wi_op_conv_weight},
    .file = "conv_weight_naive.cl",
    .cost = cost,
    .prepare = prepare,
    WI_GEMM_FORMATS};
