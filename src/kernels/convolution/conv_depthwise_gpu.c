/* Convolution with one channel a group on gpu-class devices. See cl_kernels/conv_depthwise_gpu.cl. */
#include "kernels/convolution/conv_product.h"
#include "kernels/cost.h"
#include "kernels/product/gemm_list.h"
#include <math.h>

enum { GROUP }; /* work-items of a group */

static const char *const parameters[] = {[GROUP] = "WEFT_DEPTHWISE_GROUP", NULL};
static const wi_variant variants[] = {{"f32", {[GROUP] = 64}}, {0}};

static wi_limits limits(const int *p) {
    return (wi_limits){.group = (size_t)p[GROUP], .items = {(size_t)p[GROUP]}};
}

static double elements_of(const wi_conv_geometry *w) {
    return (double)w->images * (double)w->made[0] * (double)w->made[1] * (double)w->made[2] *
           (double)w->groups;
}

static bool accepts(const wi_kernel_site *site) {
    const wi_gemm_shape *const shape = site->product;
    const wi_conv_geometry *const w = shape->convolution;
    return w->channels == 1 && w->filters == 1 && elements_of(w) <= INT32_MAX - 4096;
}

/* stride / gcd(stride, dilation) */
static int64_t taps_between(int64_t stride, int64_t dilation) {
    int64_t divisor = stride, rest = dilation;
    while (rest != 0) {
        const int64_t next = divisor % rest;
        divisor = rest;
        rest = next;
    }
    return stride / divisor;
}

/* An item reads two words of memory for each multiplication. */
static double cost(const wi_kernel_site *site) {
    const wi_conv_geometry *const w = site->product->convolution;
    return wi_work_seconds(
        site->device, &(wi_work){.operations = 10.0 * 2.0 * elements_of(w) * wi_conv_steps(w),
                          .bytes = wi_conv_bytes(w),
                          .groups = ceil(elements_of(w) / site->values[GROUP]),
                          .launches = 1,
                          .build_seconds = 0.2});
}

static weft_status prepare(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_gemm_shape *const shape = site->product;
    const wi_conv_geometry *const w = shape->convolution;
    const int64_t elements = (int64_t)elements_of(w);
    wi_kernel_launch *const launch = wi_kernel_launch_1d(plan, "depthwise", elements, site->values[GROUP]);
    launch->has_epilogue = true;
    wi_kernel_input(launch, 0);
    wi_kernel_input(launch, 1);
    wi_kernel_int(launch, elements);
    wi_kernel_int(launch, w->groups);
    for (int i = 0; i < 3; i++) wi_kernel_int(launch, taps_between(w->stride[i], w->dilation[i]));
    wi_conv_add_geometry(launch, w);
    wi_kernel_long(launch, w->w_group);
    for (int i = 0; i < 3; i++) wi_kernel_long(launch, w->w_tap[i]);
    return WEFT_OK;
}

const wi_implementation wi_conv_depthwise_gpu = {.name = "depthwise_gpu",
    .ops = {&wi_op_conv, &wi_op_conv_data},
    .needs = {.classes = WI_ON_GPU, .limits = limits},
    .file = "conv_depthwise_gpu.cl",
    .parameters = parameters,
    .variants = variants,
    .accepts = accepts,
    .cost = cost,
    .prepare = prepare,
    WI_GEMM_FORMATS};
