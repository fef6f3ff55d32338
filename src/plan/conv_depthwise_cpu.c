/* Convolution with one channel a group on cpu-class devices: the weight packed, then one launch over strips
 * of the result. See cl_kernels/conv_depthwise_cpu.cl. */
#include "base/integers.h"
#include "cl/quirks.h"
#include "plan/conv_product.h"
#include "plan/gemm_list.h"

/* TILE as in the kernel file. SMALL: multiply-adds that are not worth waking another core. */
enum { TILE = 7, LANES = 16, SMALL = 1 << 17, STRIPS = 4 };

static bool accepts(const weft_context *context, const wi_gemm_shape *shape) {
    const wi_windows *const w = shape->windows;
    const double positions = (double)w->images * (double)w->made[0] * (double)w->made[1] *
                             (double)(w->made[2] + w->stride[2] * TILE);
    return context->caps.device_class == WEFT_CLASS_CPU &&
           !(context->caps.quirks & WI_QUIRK_SCALAR_COMPILER) && w->channels == 1 && w->filters == 1 &&
           positions <= INT32_MAX - 4096 && (double)w->groups <= INT32_MAX - 4096;
}

/* Elements from the first of the image read to its last, both included. */
static int64_t read_elements(const wi_windows *w) {
    int64_t last = (w->images - 1) * w->image + w->groups - 1;
    for (int i = 0; i < 3; i++) last += (w->read[i] - 1) * w->step[i];
    return last + 1;
}

static void add_pack(wi_kernel_plan *plan, const wi_windows *w, int64_t panels) {
    wi_kernel_launch *const launch = wi_kernel_launch_1d(plan, "pack", panels, 1);
    wi_kernel_input(launch, 1);
    wi_kernel_scratch(launch, 0);
    wi_kernel_int(launch, w->groups);
    for (int i = 0; i < 3; i++) wi_kernel_int(launch, w->taps[i]);
    wi_kernel_long(launch, w->w_group);
    for (int i = 0; i < 3; i++) wi_kernel_long(launch, w->w_tap[i]);
}

static weft_status prepare(const weft_context *context, const wi_gemm_shape *shape, wi_kernel_plan *plan) {
    const wi_windows *const w = shape->windows;
    const int64_t units = context->caps.compute_units > 0 ? (int64_t)context->caps.compute_units : 1;
    const int64_t phases = w->transposed ? w->stride[2] : 1, panels = wi_divide_up(w->groups, LANES);
    const int64_t pieces = wi_divide_up(wi_divide_up(w->made[2], phases), TILE);
    const int64_t tiles = w->images * w->made[0] * w->made[1] * phases * pieces;
    const int64_t strips = w->flops / 2 > SMALL ? wi_min64(tiles, STRIPS * units) : 1;
    const int64_t strip = wi_divide_up(tiles, strips);
    plan->scratch_bytes = (size_t)(panels * LANES * w->taps[0] * w->taps[1] * w->taps[2]) * sizeof(float);
    add_pack(plan, w, panels);
    wi_kernel_launch *const launch = wi_kernel_launch_1d(plan, "rows", wi_divide_up(tiles, strip), 1);
    launch->has_epilogue = true;
    wi_kernel_input(launch, 0);
    wi_kernel_scratch(launch, 0);
    wi_kernel_long(launch, read_elements(w));
    wi_kernel_int(launch, tiles);
    wi_kernel_int(launch, strip);
    wi_kernel_int(launch, pieces);
    wi_kernel_int(launch, w->groups);
    wi_conv_add_windows(launch, w);
    return WEFT_OK;
}

const wi_gemm_implementation wi_conv_depthwise_cpu = {
    .name = "depthwise_cpu", .file = "conv_depthwise_cpu.cl", .accepts = accepts, .prepare = prepare};
