/* Convolution with few channels per group on class cpu: the weight is packed, then one launch computes strips of the result. See
 * cl_kernels/convolution/conv_depthwise_cpu.cl. */
#include "base/integers.h"
#include "cl/quirks.h"
#include "kernels/convolution/conv_product.h"
#include "kernels/cost.h"
#include "kernels/product/gemm_shared.h"

/* Positions of a row that are computed together. 7 divides the sizes of images in common networks: 7, 14, 28, 56, 112. */
enum { TILE };

static const char *const parameters[] = {[TILE] = "WEFT_DEPTHWISE_TILE", NULL};
static const wi_variant variants[] = {{"f32", {[TILE] = 7}}, {0}};

/* SMALL: convolutions with at most this many multiply-adds are too small to wake another core. STRIPS: work-items per core. */
enum { LANES = 16, SMALL = 1 << 17, STRIPS = 4 };

static bool accepts(const wi_kernel_site *site) {
    const wi_conv_geometry *const w = site->product->convolution;
    const double positions = (double)w->images * (double)w->made[0] * (double)w->made[1] *
                             (double)(w->made[2] + w->stride[2] * site->values[TILE]);
    return w->channels == w->filters && wi_conv_has_few_channels(w->channels) &&
           positions <= INT32_MAX - 4096 && (double)w->groups * (double)w->channels <= INT32_MAX - 4096;
}

static void add_pack(wi_kernel_plan *plan, const wi_conv_geometry *w, int64_t first, int64_t panels) {
    wi_kernel_launch *const launch = wi_kernel_launch_1d(plan, "pack", panels, 1);
    wi_kernel_input(launch, 1);
    wi_kernel_scratch(launch, 0);
    wi_kernel_long(launch, first);
    wi_kernel_int(launch, w->groups * w->channels);
    wi_kernel_ints(launch, w->taps, 3);
    wi_conv_add_weight_strides(launch, w);
}

static double cost(const wi_kernel_site *site) {
    const wi_conv_geometry *const w = site->product->convolution;
    const double channels = (double)(wi_divide_up(w->groups * w->channels, LANES) * LANES);
    const double multiplications = wi_conv_positions(w) * channels * wi_conv_steps(w);
    const bool large = multiplications > SMALL;
    return wi_work_seconds(site->device, &(wi_work){.operations = 3.0 * 2.0 * multiplications,
                                             .bytes = wi_conv_bytes(w),
                                             .groups = large ? (double)(STRIPS * site->device->units) : 1.0,
                                             .launches = 2,
                                             .build_seconds = 0.4});
}

static weft_status prepare(const wi_kernel_site *site, wi_kernel_plan *plan) {
    int64_t first;
    const wi_conv_geometry w = wi_conv_straightened(site->product->convolution, &first);
    const int64_t units = site->device->units;
    const int64_t phases = w.transposed ? w.stride[2] : 1,
                  panels = wi_divide_up(w.groups * w.channels, LANES);
    const int64_t row_tiles = wi_divide_up(wi_divide_up(w.made[2], phases), site->values[TILE]);
    const int64_t tiles = w.images * w.made[0] * w.made[1] * phases * row_tiles;
    const int64_t strips = w.flops / 2 > SMALL ? wi_min64(tiles, STRIPS * units) : 1;
    const int64_t strip = wi_divide_up(tiles, strips);
    plan->scratch_bytes = (size_t)(panels * LANES * wi_conv_taps(w.taps) * w.channels) * sizeof(float);
    /* A phase of a data gradient may have fewer taps than the window, and these may be apart from each other. */
    wi_conv_few_channels_macros(plan, w.channels, w.transposed ? 1 : w.taps[2], w.stride[2], w.dilation[2]);
    add_pack(plan, &w, first, panels);
    wi_kernel_launch *const launch = wi_kernel_launch_1d(plan, "rows", wi_divide_up(tiles, strip), 1);
    launch->has_epilogue = true;
    wi_kernel_input(launch, 0);
    wi_kernel_scratch(launch, 0);
    wi_kernel_long(launch, wi_conv_read_elements(&w));
    wi_kernel_ints(launch, WI_KERNEL_NUMBERS(tiles, strip, row_tiles, w.groups * w.channels));
    wi_conv_add_geometry(launch, &w);
    return WEFT_OK;
}

const wi_implementation wi_conv_depthwise_cpu = {.name = "depthwise_cpu",
    .ops = {&wi_op_conv, &wi_op_conv_data},
    .needs = {.classes = WI_ON_CPU, .without = WI_QUIRK_SCALAR_COMPILER},
    .file = "conv_depthwise_cpu.cl",
    .parameters = parameters,
    .variants = variants,
    .accepts = accepts,
    .cost = cost,
    .prepare = prepare,
    WI_GEMM_FORMATS};
