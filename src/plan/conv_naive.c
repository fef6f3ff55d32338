/* The portable convolution: accepts everything, needs nothing of the device. See cl_kernels/conv_naive.cl. */
#include "plan/conv_product.h"
#include "plan/gemm_list.h"

static bool accepts(const weft_context *context, const wi_gemm_shape *shape) {
    (void)context;
    (void)shape;
    return true;
}

static weft_status prepare(const weft_context *context, const wi_gemm_shape *shape, wi_kernel_plan *plan) {
    const wi_windows *const w = shape->windows;
    const bool is_cpu = context->caps.device_class == WEFT_CLASS_CPU;
    const size_t lanes = is_cpu ? 16 : 1, local = is_cpu ? 1 : 0;
    const double rows = (double)w->images * (double)w->made[0] * (double)w->made[1] * (double)w->made[2];
    if (rows > INT32_MAX - 16 || w->filters * w->groups > INT32_MAX - 16)
        WI_FAIL(WEFT_ERROR_UNSUPPORTED, "a convolution with %.0f elements a channel is too large", rows);
    const size_t global[] = {((size_t)w->filters + lanes - 1) / lanes, (size_t)rows, (size_t)w->groups},
                 locals[] = {local, local, local};
    wi_kernel_launch *const launch = wi_gemm_launch(plan, "naive", global, locals);
    wi_conv_add_windows(launch, w);
    wi_kernel_long(launch, w->w_group);
    wi_kernel_long(launch, w->w_filter);
    wi_kernel_long(launch, w->w_channel);
    for (int i = 0; i < 3; i++) wi_kernel_long(launch, w->w_tap[i]);
    return WEFT_OK;
}

const wi_gemm_implementation wi_conv_naive = {
    .name = "conv_naive", .file = "conv_naive.cl", .accepts = accepts, .prepare = prepare};
