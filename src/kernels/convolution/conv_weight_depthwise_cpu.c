/* The weight's gradient of a convolution with few channels per group on class cpu. See
 * cl_kernels/convolution/conv_weight_depthwise_cpu.cl. */
#include "base/integers.h"
#include "kernels/convolution/conv_product.h"
#include "kernels/convolution/conv_weight.h"
#include "kernels/cost.h"

/* Positions of a row that are computed together. */
enum { TILE };

static const char *const parameters[] = {[TILE] = "WEFT_WEIGHT_DEPTHWISE_TILE", NULL};
static const wi_variant variants[] = {{"f32", {[TILE] = 7}}, {0}};

/* SMALL: convolutions with at most this many multiply-adds are too small to wake another core. SPLITS: work-items per core. */
enum { LANES = 16, SMALL = 1 << 17, SPLITS = 4 };

static bool accepts(const wi_kernel_site *site) {
    const wi_conv conv = wi_conv_weight_of(site);
    double positions = (double)conv.images;
    for (int i = 0; i < 3; i++) positions *= (double)(conv.result[i] + site->values[TILE]);
    return conv.channels == conv.filters && wi_conv_has_few_channels(conv.channels) &&
           positions <= INT32_MAX - 4096 &&
           conv.groups * conv.channels * wi_conv_taps(conv.taps) <= INT32_MAX - 4096;
}

static double cost(const wi_kernel_site *site) {
    const wi_conv conv = wi_conv_weight_of(site);
    const double all = (double)(conv.groups * conv.filters),
                 channels = (double)(wi_divide_up(conv.groups * conv.filters, LANES) * LANES) / all;
    return wi_work_seconds(
        site->device, &(wi_work){.operations = 2.2 * 2.0 * wi_conv_weight_multiplications(&conv) * channels,
                          .bytes = wi_conv_weight_bytes(&conv),
                          .groups = (double)(SPLITS * site->device->units),
                          .launches = 2,
                          .build_seconds = 0.3});
}

static weft_status prepare(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_conv conv = wi_conv_weight_of(site);
    const int64_t blocks = wi_divide_up(conv.groups * conv.filters, LANES), taps = wi_conv_taps(conv.taps);
    const int64_t row_tiles = wi_divide_up(conv.result[2], plan->values[TILE]);
    const int64_t tiles = conv.images * conv.result[0] * conv.result[1] * row_tiles;
    plan->flops = wi_conv_flops(&conv);
    const int64_t wanted = plan->flops / 2 > SMALL ? wi_min64(tiles, SPLITS * site->device->units) : 1;
    const int64_t share = wi_divide_up(tiles, wanted), splits = wi_divide_up(tiles, share);
    plan->scratch_bytes = (size_t)(splits * blocks * LANES * taps * conv.channels) * sizeof(float);
    wi_conv_few_channels_macros(plan, conv.channels, conv.taps[2], conv.stride[2], conv.dilation[2]);
    wi_kernel_launch *launch = wi_kernel_launch_1d(plan, "sums", splits, 1);
    wi_kernel_inputs(launch, 2);
    wi_kernel_scratch(launch, 0);
    wi_kernel_ints(launch, WI_KERNEL_NUMBERS(tiles, share, row_tiles));
    wi_conv_weight_add_sizes(launch, &conv);
    launch = wi_kernel_launch_1d(plan, "combine", blocks, 1);
    wi_kernel_scratch(launch, 0);
    wi_kernel_result(launch);
    wi_kernel_ints(launch, WI_KERNEL_NUMBERS(splits, conv.groups * conv.filters, taps));
    return WEFT_OK;
}

const wi_implementation wi_conv_weight_depthwise_cpu = {.name = "depthwise_cpu_weight",
    .ops = {&wi_op_conv_weight},
    .needs = {.classes = WI_ON_CPU},
    .file = "conv_weight_depthwise_cpu.cl",
    .parameters = parameters,
    .variants = variants,
    .accepts = accepts,
    .cost = cost,
    .prepare = prepare,
    WI_GEMM_FORMATS};
