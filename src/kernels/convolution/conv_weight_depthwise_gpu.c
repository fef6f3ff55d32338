/* The weight's gradient of a convolution with one channel per group on class gpu: each split of the positions has its own sums,
 * which are then added up. See cl_kernels/convolution/conv_weight_depthwise_gpu.cl. */
#include "base/integers.h"
#include "kernels/convolution/conv_depthwise_gpu.h"
#include "kernels/convolution/conv_weight.h"
#include "kernels/cost.h"

/* GROUP: work-items of a group. LANES: channels of an item. LONG: do offsets have 64 bits? */
enum { GROUP, LANES, LONG };

static const char *const parameters[] = {
    [GROUP] = "WEFT_DEPTHWISE_GROUP", [LANES] = "WEFT_DEPTHWISE_LANES", [LONG] = "WEFT_DEPTHWISE_LONG", NULL};
static const wi_variant variants[] = {
    {"f32", {64, 4, 0}}, {"long", {64, 4, 1}}, {"each", {64, 1, 0}}, {"each_long", {64, 1, 1}}, {0}};

/* BLOCK: the most sums of a channel that an item has in registers. GROUPS: work-groups per unit. LEAST, MOST: the fewest and the
 * most tiles of an item. Sums over more tiles would have larger rounding errors, since splits are added up separately. */
enum { BLOCK = 12, GROUPS = 8, LEAST = 4, MOST = 1024 };

/* How the work is divided. A tile is `places` positions along a row of the result. An item computes the sums of `lines` rows of
 * `taps` taps, whose stride and dilation in pixels are `stride` and `dilation`. `wide`: items of a group along channels.
 * `across`: groups along channels. `chunks`: blocks of taps along a row. A row of the result has `blocks` blocks of `strips`
 * tiles. `share`: tiles of a split. */
typedef struct cut {
    int64_t places, taps, lines, stride, dilation;
    int64_t wide, across, chunks, blocks_of_taps;
    int64_t strips, blocks, tiles, share, splits;
} cut;

static wi_limits limits(const int *p) {
    return (wi_limits){.group = (size_t)p[GROUP],
        .items = {(size_t)p[GROUP]},
        .local_bytes = (size_t)(BLOCK * p[GROUP] * p[LANES]) * sizeof(float)};
}

/* A window whose pixels are far apart is computed position by position and tap by tap. */
static void cut_taps(cut *c, const wi_conv *conv) {
    const int64_t rows = conv->taps[0] * conv->taps[1];
    *c = (cut){.places = WI_DEPTHWISE_PLACES,
        .taps = wi_depthwise_taps(conv->taps[2]),
        .stride = conv->stride[2],
        .dilation = conv->dilation[2]};
    if ((c->places - 1) * c->stride + (c->taps - 1) * c->dilation >= WI_DEPTHWISE_PIXELS)
        c->places = c->taps = c->stride = c->dilation = 1;
    const int64_t blocks = wi_divide_up(rows, wi_min64(rows, BLOCK / c->taps));
    c->lines = wi_divide_up(rows, blocks);
    c->chunks = conv->taps[2] / c->taps;
    c->blocks_of_taps = blocks * c->chunks;
}

static cut cut_of(const wi_kernel_site *site, const wi_conv *conv) {
    const int *const p = site->values;
    const int64_t items = wi_divide_up(conv->groups, p[LANES]);
    cut c;
    cut_taps(&c, conv);
    c.wide = wi_depthwise_wide(items, p[GROUP], p[LANES]);
    c.across = wi_divide_up(items, c.wide);
    const int64_t walkers = p[GROUP] / c.wide, row = wi_divide_up(conv->result[2], c.places);
    c.blocks = wi_divide_up(row, walkers);
    c.strips = wi_divide_up(row, c.blocks);
    c.tiles = conv->images * conv->result[0] * conv->result[1] * c.blocks * c.strips;
    const int64_t wanted = wi_divide_up(GROUPS * site->device->units, c.across * c.blocks_of_taps);
    c.share = wi_min64(wi_max64(wi_divide_up(c.tiles, wanted), LEAST * walkers), MOST * walkers);
    c.splits = wi_divide_up(c.tiles, c.share);
    return c;
}

/* Do offsets of both images, in bytes, fit in 32 bits? */
static bool is_short(const wi_kernel_site *site, const wi_conv *conv) {
    double image = (double)(conv->images * conv->groups), result = image;
    for (int i = 0; i < 3; i++) {
        image *= (double)conv->image[i];
        result *= (double)conv->result[i];
    }
    return image * (double)weft_dtype_size(site->formats[0]) <= WI_DEPTHWISE_SHORT &&
           result * (double)weft_dtype_size(site->formats[1]) <= WI_DEPTHWISE_SHORT;
}

static bool accepts(const wi_kernel_site *site) {
    const wi_conv conv = wi_conv_weight_of(site);
    const int *const p = site->values;
    const double most = INT32_MAX - 4096;
    const int64_t bits = conv.groups | site->layouts[0].offset.actual | site->layouts[1].offset.actual;
    double positions = (double)conv.images;
    for (int i = 0; i < 3; i++) positions *= (double)(conv.result[i] + p[GROUP]);
    return conv.channels == 1 && conv.filters == 1 && positions <= most && bits % p[LANES] == 0 &&
           (double)wi_conv_weight_elements(&conv) <= most && (p[LONG] || is_short(site, &conv));
}

/* In the estimate, `each` is the number of instructions per multiply-add. */
static double cost(const wi_kernel_site *site) {
    const wi_conv conv = wi_conv_weight_of(site);
    const cut c = cut_of(site, &conv);
    const double each =
        (site->values[LANES] == 1 ? 6.0 : 3.0) + site->values[LONG] + (c.places == 1 ? 3.0 : 0.0);
    return wi_work_seconds(site->device,
        &(wi_work){.operations = each * 2.0 * wi_conv_weight_multiplications(&conv),
            .bytes =
                wi_conv_weight_bytes(&conv) + 8.0 * (double)c.splits * (double)wi_conv_weight_elements(&conv),
            .groups = (double)c.across * (double)c.blocks_of_taps * (double)c.splits,
            .launches = 2,
            .build_seconds = 0.3});
}

static void add_macros(wi_kernel_plan *plan, const cut *c) {
    wi_kernel_macro_int(plan, "WEFT_DEPTHWISE_PLACES", c->places);
    wi_kernel_macro_int(plan, "WEFT_DEPTHWISE_TAPS", c->taps);
    wi_kernel_macro_int(plan, "WEFT_DEPTHWISE_LINES", c->lines);
    wi_kernel_macro_int(plan, "WEFT_DEPTHWISE_STRIDE", c->stride);
    wi_kernel_macro_int(plan, "WEFT_DEPTHWISE_DILATION", c->dilation);
    wi_kernel_macro_int(plan, "WEFT_DEPTHWISE_WIDE", c->wide);
}

static weft_status prepare(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_conv conv = wi_conv_weight_of(site);
    const cut c = cut_of(site, &conv);
    const int64_t group = site->values[GROUP];
    plan->flops = wi_conv_flops(&conv);
    plan->scratch_bytes = (size_t)(c.splits * wi_conv_weight_elements(&conv)) * sizeof(float);
    add_macros(plan, &c);
    wi_kernel_launch *const launch =
        wi_kernel_launch_3d(plan, "sums", c.across * group, c.blocks_of_taps, c.splits);
    launch->local[0] = (size_t)group;
    wi_kernel_inputs(launch, 2);
    wi_kernel_scratch(launch, 0);
    wi_kernel_ints(launch, WI_KERNEL_NUMBERS(c.tiles, c.share, c.strips, c.blocks, c.chunks));
    wi_conv_weight_add_sizes(launch, &conv);
    wi_conv_weight_combine(plan, &conv, c.splits, group);
    return WEFT_OK;
}

const wi_implementation wi_conv_weight_depthwise_gpu = {.name = "depthwise_gpu_weight",
    .ops = {&wi_op_conv_weight},
    .needs = {.classes = WI_ON_GPU, .limits = limits},
    .file = "conv_weight_depthwise_gpu.cl",
    .parameters = parameters,
    .variants = variants,
    .accepts = accepts,
    .cost = cost,
    .prepare = prepare,
    WI_GEMM_FORMATS};
