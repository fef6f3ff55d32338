/* The portable convolution, which accepts every site on every device. See cl_kernels/convolution/conv_naive.cl. */
#include "base/integers.h"
#include "kernels/convolution/conv_product.h"
#include "kernels/cost.h"
#include "kernels/index_type.h"
#include "kernels/product/gemm_shared.h"

/* The kernel computes the position of each tap again for every multiplication, and reads the pixel from memory. */
static double cost(const wi_kernel_site *site) {
    const wi_conv_geometry *const w = site->product->convolution;
    const int64_t lanes = site->device->lanes;
    const double channels = (double)w->groups * (double)(wi_divide_up(w->filters, lanes) * lanes);
    return wi_work_seconds(site->device,
        &(wi_work){.operations = 150.0 * 2.0 * wi_conv_positions(w) * channels * (double)wi_conv_terms(w),
            .bytes = wi_conv_bytes(w),
            .groups = wi_conv_positions(w) * channels / (double)(lanes * site->device->group),
            .launches = 1,
            .build_seconds = 0.1});
}

static weft_status prepare(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_conv_geometry *const w = site->product->convolution;
    const double rows = wi_conv_positions(w);
    if (rows > INT32_MAX - 16 || w->filters * w->groups > INT32_MAX - 16)
        WI_FAIL(WEFT_ERROR_UNSUPPORTED,
            "conv: a convolution with %.0f elements per channel is too large for a kernel", rows);
    const int64_t items = (int64_t)rows * w->groups * wi_divide_up(w->filters, site->device->lanes);
    const int64_t group = wi_min64(site->device->group, (int64_t)site->device->max_group);
    wi_kernel_index_type(plan, site, (double)items);
    wi_kernel_launch *const launch = wi_kernel_launch_1d(plan, "naive", items, group);
    launch->has_epilogue = true;
    wi_kernel_inputs(launch, 2);
    wi_kernel_int(launch, w->groups);
    wi_conv_add_geometry(launch, w);
    wi_conv_add_weight_strides(launch, w);
    return WEFT_OK;
}

const wi_implementation wi_conv_naive = {.name = "conv_naive",
    .ops = {&wi_op_conv, &wi_op_conv_data},
    .file = "conv_naive.cl",
    .cost = cost,
    .prepare = prepare,
    WI_GEMM_FORMATS};
