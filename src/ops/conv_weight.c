/* See conv_weight.h. Class cpu: conv_weight_cpu.cl; class gpu: conv_weight_gpu.cl; what neither takes:
 * conv_weight_naive.cl. */
#include "ops/conv_weight.h"
#include "base/integers.h"
#include "ops/conv.h"

static void add_ints(wi_kernel_launch *launch, const int64_t *numbers, int count) {
    for (int i = 0; i < count; i++) wi_kernel_int(launch, numbers[i]);
}

void wi_conv_weight_add_sizes(wi_kernel_launch *launch, const wi_conv *conv) {
    add_ints(launch, (const int64_t[]){conv->images, conv->channels, conv->filters, conv->groups}, 4);
    add_ints(launch, conv->image, 3);
    add_ints(launch, conv->result, 3);
    add_ints(launch, conv->taps, 3);
    add_ints(launch, conv->stride, 3);
    add_ints(launch, conv->dilation, 3);
    add_ints(launch, conv->before, 3);
}

/* ---- class cpu: as in conv_weight_cpu.cl ---- */

enum { VECTOR = 16, PANELS = 4, POSITIONS = 512, LONGEST = 256, ROOM = 65536, FEW = 12 };

/* Rows of a tile that leave registers for what they meet: two vectors of filters, or one. A pixel that is
 * copied by itself has room for 16. */
enum { ROWS_OF_TWO = 13, ROWS_OF_ONE = 24, ROWS_OF_A_PIXEL = 16 };

/* How class cpu cuts the work. */
typedef struct wi_cut {
    bool joined;               /* a row of taps is one line: few channels that lie side by side */
    int64_t vectors;           /* of 16 filters in a panel */
    int64_t tiles, tile;       /* how many, and of how many channels, or of a line's elements */
    int64_t length;            /* positions of a piece of a row */
    int64_t all, lines, block; /* pieces: all, of a work-item, at once */
    int64_t panels, span, shares;
} wi_cut;

/* Pixels that a line of so many positions looks at, as the kernel copies them. */
static int64_t pixels_of(const wi_conv *conv, int64_t length) {
    return conv->taps[0] * conv->taps[1] *
           ((length - 1) * conv->stride[2] + (conv->taps[2] - 1) * conv->dilation[2] + 1);
}

/* False: not even one position's window fits. */
static bool cut_work(wi_cut *cut, const wi_conv *conv, int64_t units) {
    cut->joined =
        conv->groups == 1 && conv->dilation[2] == 1 && (conv->channels <= FEW || conv->channels == VECTOR);
    const int64_t pitch = cut->joined ? conv->channels : VECTOR;
    const int64_t rows = cut->joined ? conv->taps[2] * conv->channels : conv->channels;
    cut->vectors = conv->filters <= VECTOR ? 1 : 2;
    cut->tiles = wi_divide_up(rows, cut->vectors == 2 ? ROWS_OF_TWO
                                    : cut->joined     ? ROWS_OF_ONE
                                                      : ROWS_OF_A_PIXEL);
    cut->tile = wi_divide_up(rows, cut->tiles);
    int64_t pieces = wi_divide_up(conv->result[2], LONGEST);
    cut->length = wi_divide_up(conv->result[2], pieces);
    while (pixels_of(conv, cut->length) * pitch > ROOM && cut->length > 1)
        cut->length = wi_divide_up(conv->result[2], ++pieces);
    if (pixels_of(conv, cut->length) * pitch > ROOM) return false;
    cut->all = conv->images * conv->result[0] * conv->result[1] * wi_divide_up(conv->result[2], cut->length);
    cut->panels = wi_divide_up(conv->filters, cut->vectors * VECTOR);
    cut->span = wi_divide_up(cut->panels, wi_divide_up(cut->panels, PANELS));
    const int64_t others = wi_divide_up(cut->panels, cut->span) * conv->groups;
    cut->shares = 1;
    while (others * cut->shares % units != 0 && others * cut->shares < 4 * units && cut->shares < cut->all)
        cut->shares++;
    cut->lines = wi_divide_up(cut->all, cut->shares);
    cut->shares = wi_divide_up(cut->all, cut->lines);
    cut->block = wi_min64(POSITIONS / cut->length, ROOM / (pixels_of(conv, cut->length) * pitch));
    return cut->all <= INT32_MAX / 2;
}

static weft_status tiled(const wi_conv *conv, const wi_cut *cut, wi_kernel_plan *plan) {
    const int64_t rows = conv->taps[0] * conv->taps[1];
    const int64_t sums = conv->groups * cut->panels * rows * (cut->joined ? 1 : conv->taps[2]) * cut->tiles *
                         cut->tile * cut->vectors * VECTOR;
    plan->file = "conv_weight_cpu.cl";
    wi_kernel_macro_int(plan, "WEFT_CONV_WEIGHT_TILE", cut->tile);
    wi_kernel_macro_int(plan, "WEFT_CONV_WEIGHT_VECTORS", cut->vectors);
    plan->scratch_bytes = (size_t)(cut->shares * sums) * sizeof(float);
    wi_kernel_launch *launch = wi_kernel_launch_1d(plan, "sums", cut->shares, 1);
    launch->dimensions = 3;
    launch->global[1] = (size_t)wi_divide_up(cut->panels, cut->span);
    launch->global[2] = (size_t)conv->groups;
    wi_kernel_input(launch, 0);
    wi_kernel_input(launch, 1);
    wi_kernel_scratch(launch, 0);
    add_ints(launch,
        (const int64_t[]){cut->all, cut->lines, cut->block, cut->length, cut->span, cut->joined, cut->tiles},
        7);
    wi_conv_weight_add_sizes(launch, conv);
    launch = wi_kernel_launch_1d(plan, "finish", cut->tiles, 1);
    launch->dimensions = 3;
    launch->global[1] = (size_t)cut->panels;
    launch->global[2] = (size_t)conv->groups;
    wi_kernel_scratch(launch, 0);
    wi_kernel_result(launch);
    add_ints(launch,
        (const int64_t[]){cut->shares, cut->joined, conv->channels, conv->filters, rows, conv->taps[2]}, 6);
    return WEFT_OK;
}

/* ---- class gpu: as in conv_weight_gpu.cl ---- */

enum { GROUP = 16, MICRO = 4, STEP = 16, LOCAL_BYTES = 2 * STEP * (GROUP * MICRO + 1) * 4, FINISHED = 64 };

static int64_t weights_of(const wi_conv *conv) {
    return conv->groups * conv->filters * conv->channels * conv->taps[0] * conv->taps[1] * conv->taps[2];
}

static int64_t positions_of(const wi_conv *conv) {
    return conv->images * conv->result[0] * conv->result[1] * conv->result[2];
}

static bool fits_gpu(const wi_kernel_site *site, const wi_conv *conv) {
    return site->device_class == WEFT_CLASS_GPU && site->max_work_group >= GROUP * GROUP &&
           site->local_memory >= LOCAL_BYTES && weights_of(conv) <= INT32_MAX - 4096 &&
           positions_of(conv) <= INT32_MAX - 4096;
}

static weft_status on_gpu(const wi_conv *conv, int64_t units, wi_kernel_plan *plan) {
    const int64_t columns = conv->taps[0] * conv->taps[1] * conv->taps[2] * conv->channels;
    const int64_t weights = weights_of(conv), positions = positions_of(conv);
    const bool large = conv->filters > GROUP && columns > GROUP;
    const int64_t tile = large ? GROUP * MICRO : GROUP;
    const int64_t across = wi_divide_up(columns, tile), down = wi_divide_up(conv->filters, tile);
    /* Enough work-groups for every compute unit, but four steps for each. */
    const int64_t wanted = wi_divide_up(4 * units, across * down * conv->groups);
    const int64_t length = wi_divide_up(wi_max64(wi_divide_up(positions, wanted), 4 * STEP), STEP) * STEP;
    const int64_t shares = wi_divide_up(positions, length);
    plan->file = "conv_weight_gpu.cl";
    wi_kernel_launch *launch = wi_kernel_launch_1d(plan, large ? "tiled" : "small", 1, 1);
    launch->dimensions = 3;
    launch->global[0] = (size_t)(across * GROUP);
    launch->global[1] = (size_t)(down * GROUP);
    launch->global[2] = (size_t)(shares * conv->groups);
    launch->local[0] = launch->local[1] = GROUP;
    launch->local[2] = 1;
    wi_kernel_input(launch, 0);
    wi_kernel_input(launch, 1);
    if (shares > 1)
        wi_kernel_scratch(launch, 0);
    else
        wi_kernel_result(launch);
    add_ints(launch, (const int64_t[]){positions, length}, 2);
    wi_conv_weight_add_sizes(launch, conv);
    if (shares == 1) return WEFT_OK;
    plan->scratch_bytes = (size_t)(shares * weights) * sizeof(float);
    launch = wi_kernel_launch_1d(plan, "finish", weights, FINISHED);
    wi_kernel_scratch(launch, 0);
    wi_kernel_result(launch);
    add_ints(launch, (const int64_t[]){weights, shares}, 2);
    return WEFT_OK;
}

/* ---- all ---- */

static weft_status naive(const wi_kernel_site *site, const wi_conv *conv, wi_kernel_plan *plan) {
    const int64_t group =
        site->device_class == WEFT_CLASS_CPU ? 1 : wi_min64(FINISHED, (int64_t)site->max_work_group);
    plan->file = "conv_weight_naive.cl";
    wi_kernel_launch *const launch = wi_kernel_launch_1d(plan, "naive", weights_of(conv), group);
    wi_kernel_input(launch, 0);
    wi_kernel_input(launch, 1);
    wi_kernel_result(launch);
    wi_conv_weight_add_sizes(launch, conv);
    return WEFT_OK;
}

weft_status wi_conv_weight_kernel(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_conv conv =
        wi_conv_of(&site->node->attributes, &site->inputs[0], &site->inputs[1], &site->node->shape);
    plan->flops = wi_conv_flops(&conv);
    wi_cut cut;
    const int64_t units = site->compute_units > 0 ? site->compute_units : 1;
    if (wi_conv_weight_is_depthwise(&conv)) return wi_conv_weight_depthwise(site, &conv, plan);
    if (wi_conv_weight_is_winograd(site, &conv)) return wi_conv_weight_winograd(&conv, units, plan);
    if (wi_conv_weight_is_pointwise(site, &conv)) return wi_conv_weight_pointwise(&conv, units, plan);
    if (site->device_class == WEFT_CLASS_CPU && cut_work(&cut, &conv, units)) return tiled(&conv, &cut, plan);
    if (fits_gpu(site, &conv)) return on_gpu(&conv, units, plan);
    return naive(site, &conv, plan);
}
