/* 3 x 3 convolutions of stride 1 on class gpu by Winograd's F(4 x 4, 3 x 3) or F(2 x 2, 3 x 3): the weight is transformed, then
 * pixels, products and results are computed, one block of tiles after the other. See cl_kernels/convolution/conv_winograd_gpu.cl. */
#include "base/integers.h"
#include "kernels/convolution/conv_winograd.h"
#include "kernels/cost.h"
#include "kernels/product/gemm_shared.h"
#include "kernels/product/gemm_tile_gpu.h"
#include <stdlib.h>

/* The parameters after those of the product's tile. ITEMS: the work-items of a group that transforms. STEP: the results of a tile
 * of the image along an axis. */
enum { ITEMS = WI_TILE_PARAMETERS, STEP };

static const char *const parameters[] = {
    WI_TILE_NAMES, [ITEMS] = "WEFT_WINOGRAD_ITEMS", [STEP] = "WEFT_WINOGRAD_STEP", NULL};

/* Tiles of 2 x 2 results have the rounding errors of a direct convolution, and waste less in images of 1, 2, 5, 6, 9 or 10
 * pixels. */
static const wi_variant variants[] = {{"large", {16, 16, 8, 8, 8, 0, 0, 64, 4}},
    {"tall", {16, 16, 8, 4, 8, 0, 0, 64, 4}}, {"together", {8, 16, 8, 4, 8, 8, 0, 64, 4}},
    {"medium", {16, 16, 4, 4, 16, 0, 0, 64, 4}}, {"small", {8, 8, 4, 4, 8, 0, 0, 64, 4}},
    {"large_2", {16, 16, 8, 8, 8, 0, 0, 64, 2}}, {"medium_2", {16, 16, 4, 4, 16, 0, 0, 64, 2}},
    {"small_2", {8, 8, 4, 4, 8, 0, 0, 64, 2}}, {0}};

static const char *const headers[] = {"winograd.clh", NULL};

/* LEAST: with fewer channels in the image or the result, the transforms cost more than the products save. MOST: floats of pixels
 * and products in a block, which takes three launches. LARGE: floats of transformed weights, as in conv_winograd_cpu.c. */
enum { LEAST = 8, MOST = 1 << 24, LARGE = 1 << 20 };

/* How the work is divided: a block of tiles of the image has as many rows of the product as keep the device busy. */
typedef struct cutting {
    int64_t points, depth, width; /* depth, width: channels of the image and of the result, rounded up */
    int64_t tiles1, tiles2, tiles, block, blocks;
    int64_t weights, pixels, sums; /* floats; pixels and sums of a block */
    double groups;                 /* work-groups of the products of all blocks */
} cutting;

/* Points of a tile of the image along an axis. */
static int side_of(const int *values) {
    return values[STEP] + 2;
}

enum { SHARERS = 2 }; /* work-items that together transform the products of a quad of columns */

static int64_t quads_of_group(const int *values) {
    return values[ITEMS] / SHARERS;
}

/* The largest of the limits of groups that multiply and of groups that transform. */
static wi_limits limits(const int *values) {
    const int64_t room = quads_of_group(values) * values[STEP] * side_of(values) * 4 * (int64_t)sizeof(float);
    wi_limits limits = wi_tile_limits(values);
    limits.group = (size_t)wi_max64(values[ITEMS], (int64_t)limits.group);
    limits.items[0] = (size_t)wi_max64(values[ITEMS], (int64_t)limits.items[0]);
    limits.items[1] = (size_t)wi_max64(SHARERS, (int64_t)limits.items[1]);
    limits.local_bytes = (size_t)wi_max64(room, (int64_t)limits.local_bytes);
    return limits;
}

/* The number of rows of the product in a block. */
static int64_t block_of(const wi_kernel_site *site, const cutting *cut, int64_t planes) {
    const int64_t height = wi_tile_height(site->values);
    const int64_t across = wi_divide_up(cut->width, wi_tile_width(site->values));
    const int64_t wanted = 2 * site->device->units * site->device->hiding_groups;
    const int64_t busy = wi_divide_up(wanted, planes * across);
    const int64_t most = MOST / (planes * (cut->depth + cut->width) * height);
    return wi_min64(wi_max64(wi_max64(busy, most), 1) * height, cut->tiles);
}

static cutting cutting_of(const wi_kernel_site *site) {
    const wi_conv_geometry *const w = site->product->convolution;
    const int *const p = site->values;
    cutting cut = {.points = (int64_t)side_of(p) * side_of(p),
        .depth = wi_divide_up(w->channels, p[WI_TILE_STEP]) * p[WI_TILE_STEP],
        .width = wi_divide_up(w->filters, 4) * 4,
        .tiles1 = wi_divide_up(w->made[1], p[STEP]),
        .tiles2 = wi_divide_up(w->made[2], p[STEP])};
    const int64_t planes = cut.points * w->groups;
    cut.tiles = w->images * cut.tiles1 * cut.tiles2;
    cut.block = block_of(site, &cut, planes);
    cut.blocks = wi_divide_up(cut.tiles, cut.block);
    cut.weights = planes * cut.depth * cut.width;
    cut.pixels = planes * cut.block * cut.depth;
    cut.sums = planes * cut.block * cut.width;
    cut.groups = (double)planes * (double)wi_divide_up(cut.tiles, wi_tile_height(p)) *
                 (double)wi_divide_up(cut.width, wi_tile_width(p));
    return cut;
}

/* Do the numbers of elements, and the offsets within an image, fit in ints? */
static bool fits_int(const wi_kernel_site *site) {
    const wi_conv_geometry *const w = site->product->convolution;
    const double most = INT32_MAX - 4096, step = site->values[STEP];
    double reach = (double)w->groups * (double)w->channels, positions = (double)w->images;
    double weights = (double)w->groups * ((double)w->filters + 3.0) * ((double)w->channels + 15.0);
    for (int i = 1; i < 3; i++) {
        reach += (double)w->read[i] * (double)llabs(w->step[i]);
        positions *= (double)w->made[i] + step;
    }
    if (reach > most || positions > most || weights > most) return false;
    const cutting cut = cutting_of(site);
    return cut.pixels <= (int64_t)most && cut.sums <= (int64_t)most &&
           cut.depth * cut.width <= INT32_MAX / 4 / site->values[WI_TILE_STEP];
}

static bool accepts(const wi_kernel_site *site) {
    const wi_conv_geometry *const w = site->product->convolution;
    return wi_conv_is_square_of_three(w) && wi_conv_meets_image(w, 1) && wi_conv_meets_image(w, 2) &&
           w->channels >= LEAST && w->filters >= LEAST && wi_tile_suits(site->device, site->values) &&
           fits_int(site);
}

/* The seconds of the products of all blocks, one block after the other, and of the memory traffic of the transforms. */
static double cost(const wi_kernel_site *site) {
    const wi_conv_geometry *const w = site->product->convolution;
    const int *const p = site->values;
    const cutting cut = cutting_of(site);
    const bool fixed = site->fixed & WI_CONV_WEIGHT;
    const double blocks = (double)cut.blocks, rounded = (double)weft_dtype_size(site->formats[0]) / 4.0;
    const double read = (double)(w->images * w->read[1] * w->read[2]) * (double)(w->groups * w->channels);
    const double made = wi_conv_positions(w) * (double)(w->groups * w->filters);
    const double part = (double)cut.tiles / (double)cut.block;
    const double pixels = part * (double)cut.pixels, sums = part * (double)cut.sums,
                 weights = (double)cut.weights;
    const double multiplications =
        cut.groups * (double)(wi_tile_height(p) * wi_tile_width(p)) * (double)cut.depth;
    const wi_work products = {
        .operations = 2.0 * multiplications / wi_tile_useful_part(site->device, p) / blocks,
        .bytes = sizeof(float) * ((pixels + sums) / blocks + weights),
        .groups = cut.groups / blocks,
        .launches = 1};
    const double moved = read * rounded + pixels + sums + made + (fixed ? 0.0 : 2.0 * weights);
    const wi_work transforms = {.bytes = sizeof(float) * moved,
        .groups = cut.groups,
        .launches = (fixed ? 0 : 1) + 2 * (int)wi_min64(cut.blocks, INT32_MAX / 4),
        .build_seconds = 0.6};
    return blocks * wi_work_seconds(site->device, &products) + wi_work_seconds(site->device, &transforms);
}

/* As in conv_winograd_cpu.c; tiles of 2 x 2 results have the rounding errors of a direct convolution. */
static double margin(const wi_kernel_site *site) {
    if (wi_dtype_rounds(site->precision) || site->values[STEP] == 2) return 1.0;
    return cutting_of(site).weights > LARGE ? 1.25 : 1.5;
}

static void add_weights(wi_kernel_plan *plan, const wi_conv_geometry *w, const cutting *cut) {
    const int64_t elements = w->groups * cut->depth * cut->width;
    wi_kernel_launch *const launch = wi_kernel_launch_1d(plan, "weights", elements, plan->values[ITEMS]);
    wi_kernel_input(launch, 1);
    wi_kernel_scratch(launch, 0);
    wi_kernel_ints(
        launch, WI_KERNEL_NUMBERS(elements, w->channels, w->filters, cut->depth, cut->width, w->transposed));
    wi_kernel_longs(
        launch, WI_KERNEL_NUMBERS(w->w_group, w->w_filter, w->w_channel, w->w_tap[1], w->w_tap[2]));
}

static void add_tiles(wi_kernel_launch *launch, const cutting *cut) {
    wi_kernel_ints(launch, WI_KERNEL_NUMBERS(cut->tiles1, cut->tiles2, cut->block, cut->tiles));
}

static void add_pixels(wi_kernel_plan *plan, const wi_conv_geometry *w, const cutting *cut) {
    const int64_t elements = w->groups * cut->block * cut->depth;
    wi_kernel_launch *const launch = wi_kernel_launch_1d(plan, "pixels", elements, plan->values[ITEMS]);
    wi_kernel_input(launch, 0);
    wi_kernel_scratch(launch, cut->weights);
    wi_kernel_int(launch, elements);
    add_tiles(launch, cut);
    wi_kernel_ints(launch, WI_KERNEL_NUMBERS(w->channels, cut->depth, w->read[1], w->read[2],
                               wi_conv_before(w, 1), wi_conv_before(w, 2)));
    wi_kernel_long(launch, w->image);
    wi_kernel_ints(launch, w->step + 1, 2);
    wi_kernel_iteration(launch);
}

static void add_products(wi_kernel_plan *plan, const wi_conv_geometry *w, const cutting *cut) {
    const int *const p = plan->values;
    size_t local[3];
    wi_tile_group(p, local);
    wi_kernel_launch *const launch = wi_kernel_launch_groups(plan, "products",
        (const int64_t[]){wi_divide_up(cut->width, wi_tile_width(p)),
            wi_divide_up(cut->block, wi_tile_height(p)), w->groups * cut->points},
        local);
    wi_kernel_scratch(launch, cut->weights);
    wi_kernel_scratch(launch, 0);
    wi_kernel_scratch(launch, cut->weights + cut->pixels);
    wi_kernel_ints(launch, WI_KERNEL_NUMBERS(cut->block, cut->tiles, cut->depth, cut->width));
    wi_kernel_iteration(launch);
}

static void add_results(wi_kernel_plan *plan, const wi_conv_geometry *w, const cutting *cut) {
    const int64_t quads = w->groups * cut->block * cut->width / 4;
    wi_kernel_launch *const launch =
        wi_kernel_launch_1d(plan, "results", quads, quads_of_group(plan->values));
    launch->dimensions = 2;
    launch->local[1] = launch->global[1] = SHARERS;
    launch->has_epilogue = true;
    wi_kernel_scratch(launch, cut->weights + cut->pixels);
    wi_kernel_int(launch, quads);
    add_tiles(launch, cut);
    wi_kernel_ints(launch, WI_KERNEL_NUMBERS(w->filters, cut->width, w->made[1], w->made[2]));
    wi_kernel_iteration(launch);
}

static weft_status prepare(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_conv_geometry *const w = site->product->convolution;
    const cutting cut = cutting_of(site);
    add_weights(plan, w, &cut);
    wi_kernel_packs(plan, WI_CONV_WEIGHT, (size_t)cut.weights * sizeof(float));
    const int first = plan->count;
    add_pixels(plan, w, &cut);
    add_products(plan, w, &cut);
    add_results(plan, w, &cut);
    wi_kernel_repeat(plan, first, cut.blocks);
    plan->scratch_bytes = (size_t)(cut.weights + cut.pixels + cut.sums) * sizeof(float);
    return WEFT_OK;
}

const wi_implementation wi_conv_winograd_gpu = {.name = "winograd_gpu",
    .ops = {&wi_op_conv, &wi_op_conv_data},
    .needs = {.classes = WI_ON_GPU, .limits = limits},
    .quads = true,
    .file = "conv_winograd_gpu.cl",
    .headers = headers,
    .parameters = parameters,
    .variants = variants,
    .accepts = accepts,
    .cost = cost,
    .margin = margin,
    .prepare = prepare,
    WI_GEMM_FORMATS};
