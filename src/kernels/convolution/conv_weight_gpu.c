/* The weight's gradient of a convolution on class gpu: see conv_weight_gpu.cl. */
#include "base/integers.h"
#include "kernels/convolution/conv_stage_gpu.h"
#include "kernels/convolution/conv_weight.h"
#include "kernels/cost.h"
#include "kernels/product/gemm_tile_gpu.h"

/* Beside the tile's: a work-group of COMBINED items adds splits up, and copies images. */
enum { COMBINED = WI_TILE_PARAMETERS };

static const char *const parameters[] = {WI_TILE_NAMES, [COMBINED] = "WEFT_CONV_WEIGHT_COMBINED", NULL};

/* Each item has one quad of a block of rows, and at most one of columns. */
static const wi_variant variants[] = {{"large", {16, 16, 8, 8, 8, 64}}, {"tall", {16, 16, 8, 4, 8, 64}},
    {"medium", {16, 16, 4, 4, 16, 64}}, {"small", {8, 8, 4, 4, 8, 64}}, {0}};

static const char *const headers[] = {"gemm_tile_gpu.clh", "conv_stage_gpu.clh", NULL};

/* How it is cut: both factors' quads, tiles of columns and of filters, positions, of which a split has `length`, and where
 * in scratch memory, in floats, the copies stand after the splits' sums. */
typedef struct cutting {
    wi_conv_quads image, slope;
    int64_t columns, across, down, positions, length, splits;
    int64_t image_at, slope_at, scratch;
} cutting;

static wi_limits limits(const int *values) {
    wi_limits tile = wi_tile_limits(values);
    tile.items[0] = (size_t)wi_max64(values[COMBINED], (int64_t)tile.items[0]);
    return tile;
}

/* Contiguous, whose pixels have so many channels in each group. */
static wi_conv_quads quads_of(
    const wi_kernel_site *site, int input, const wi_conv *conv, int64_t channels, const int64_t size[3]) {
    wi_conv_quads quads = {
        .input = input, .images = conv->images, .groups = conv->groups, .channels = channels};
    int64_t stride = channels * conv->groups;
    for (int i = 2; i >= 0; i--) {
        quads.size[i] = size[i];
        quads.from[i] = stride;
        stride *= size[i];
    }
    quads.from_image = stride;
    wi_conv_quads_find(&quads, site);
    return quads;
}

static cutting cutting_of(const wi_kernel_site *site, const wi_conv *conv) {
    const int *const p = site->values;
    cutting cut = {.image = quads_of(site, 0, conv, conv->channels, conv->image),
        .slope = quads_of(site, 1, conv, conv->filters, conv->result),
        .positions = wi_conv_weight_positions(conv)};
    cut.columns = conv->taps[0] * conv->taps[1] * conv->taps[2] * cut.image.pitch;
    cut.across = wi_divide_up(cut.columns, wi_tile_width(p));
    cut.down = wi_divide_up(conv->filters, wi_tile_height(p));
    /* Two work-groups for every compute unit, but four blocks for each of them. */
    const int64_t step = p[WI_TILE_STEP];
    const int64_t wanted =
        wi_divide_up(2 * (int64_t)site->device->units, cut.across * cut.down * conv->groups);
    cut.length = wi_divide_up(wi_max64(wi_divide_up(cut.positions, wanted), 4 * step), step) * step;
    cut.splits = wi_divide_up(cut.positions, cut.length);
    cut.image_at = cut.splits > 1 ? wi_divide_up(cut.splits * wi_conv_weight_elements(conv), 4) * 4 : 0;
    cut.slope_at = cut.image_at + wi_conv_quads_floats(&cut.image);
    cut.scratch = cut.slope_at + wi_conv_quads_floats(&cut.slope);
    return cut;
}

/* Numbers of elements of the weight, of positions and of pixels are ints. */
static bool accepts(const wi_kernel_site *site) {
    const wi_conv conv = wi_conv_weight_of(site);
    const double most = INT32_MAX - 4096;
    double pixels = (double)conv.images;
    for (int i = 0; i < 3; i++) pixels *= (double)conv.image[i];
    return wi_tile_fits_registers(site->device, site->values) &&
           (double)wi_conv_weight_elements(&conv) * (((double)conv.channels + 3.0) / (double)conv.channels) <=
               most &&
           (double)wi_conv_weight_positions(&conv) <= most && pixels <= most;
}

/* As in conv_gpu.c. */
static double cost(const wi_kernel_site *site) {
    const wi_conv conv = wi_conv_weight_of(site);
    const int *const p = site->values;
    const cutting cut = cutting_of(site, &conv);
    const double tiles = (double)(cut.across * cut.down * conv.groups);
    const double sums = cut.splits > 1 ? (double)cut.splits * (double)wi_conv_weight_elements(&conv) : 0.0;
    const double copies = (double)(wi_conv_quads_floats(&cut.image) + wi_conv_quads_floats(&cut.slope));
    return wi_work_seconds(
        site->device, &(wi_work){.operations = 2.0 * tiles * (double)(wi_tile_height(p) * wi_tile_width(p)) *
                                               (double)cut.positions / wi_tile_useful_part(p),
                          .bytes = wi_conv_weight_bytes(&conv) + 8.0 * (sums + copies),
                          .groups = tiles * (double)cut.splits,
                          .launches = 1 + (cut.splits > 1) + cut.image.staged + cut.slope.staged,
                          .build_seconds = 0.4});
}

/* The digits of a block's positions: images, axes. */
static void add_digits(wi_kernel_launch *launch, const wi_conv *conv, int64_t number) {
    int64_t digits[4];
    for (int i = 2; i >= 0; i--) {
        digits[1 + i] = number % conv->result[i];
        number /= conv->result[i];
    }
    digits[0] = number;
    wi_kernel_ints(launch, digits, 4);
}

static void add_tiles(wi_kernel_plan *plan, const wi_conv *conv, const cutting *cut) {
    const int *const p = plan->values;
    const int64_t taps = conv->taps[0] * conv->taps[1] * conv->taps[2];
    wi_kernel_launch *const launch = wi_kernel_launch_1d(plan, "tiles", 1, 1);
    launch->dimensions = 3;
    launch->local[0] = (size_t)p[WI_TILE_ACROSS];
    launch->local[1] = (size_t)p[WI_TILE_DOWN];
    launch->local[2] = 1;
    launch->global[0] = (size_t)cut->across * launch->local[0];
    launch->global[1] = (size_t)cut->down * launch->local[1];
    launch->global[2] = (size_t)(cut->splits * conv->groups);
    wi_conv_quads_add(launch, &cut->image, cut->image_at);
    wi_conv_quads_add(launch, &cut->slope, cut->slope_at);
    if (cut->splits > 1)
        wi_kernel_scratch(launch, 0);
    else
        wi_kernel_result(launch);
    wi_kernel_ints(launch,
        WI_KERNEL_NUMBERS(cut->image.unit, cut->slope.unit, cut->image.pitch, cut->slope.pitch,
            cut->image.step[2] * cut->image.element_size, cut->slope.step[2] * cut->slope.element_size,
            cut->splits > 1 ? conv->channels : 1, cut->splits > 1 ? 1 : taps));
    add_digits(launch, conv, p[WI_TILE_STEP]);
    wi_kernel_ints(launch, WI_KERNEL_NUMBERS(cut->positions, cut->length));
    wi_conv_weight_add_sizes(launch, conv);
    wi_kernel_bundles_groups(launch, wi_tile_limits(p).local_bytes / (4 * sizeof(float)));
}

static void add_combine(wi_kernel_plan *plan, const wi_conv *conv, const cutting *cut) {
    const int64_t weights = wi_conv_weight_elements(conv);
    wi_kernel_launch *const launch = wi_kernel_launch_1d(plan, "combine", weights, plan->values[COMBINED]);
    wi_kernel_scratch(launch, 0);
    wi_kernel_result(launch);
    wi_kernel_ints(launch, WI_KERNEL_NUMBERS(weights, cut->splits, conv->channels,
                               conv->taps[0] * conv->taps[1] * conv->taps[2]));
    wi_kernel_bundles(launch);
}

static weft_status prepare(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_conv conv = wi_conv_weight_of(site);
    const cutting cut = cutting_of(site, &conv);
    plan->flops = wi_conv_flops(&conv);
    plan->scratch_bytes = (size_t)cut.scratch * sizeof(float);
    wi_conv_quads_stage(plan, "stage", &cut.image, cut.image_at, plan->values[COMBINED]);
    wi_conv_quads_stage(plan, "stage_slope", &cut.slope, cut.slope_at, plan->values[COMBINED]);
    add_tiles(plan, &conv, &cut);
    if (cut.splits > 1) add_combine(plan, &conv, &cut);
    return WEFT_OK;
}

const wi_implementation wi_conv_weight_gpu = {.name = "conv_gpu_weight",
    .ops = {&wi_op_conv_weight},
    .needs = {.classes = WI_ON_GPU, .limits = limits},
    .file = "conv_weight_gpu.cl",
    .headers = headers,
    .parameters = parameters,
    .variants = variants,
    .accepts = accepts,
    .cost = cost,
    .prepare = prepare,
    WI_GEMM_FORMATS};
