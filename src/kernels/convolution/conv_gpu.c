/* Convolution on class gpu: the weight is packed, then tiles are computed in local memory. A second record splits k, for results
 * with fewer tiles than the device has units. See cl_kernels/convolution/conv_gpu.cl. */
#include "base/integers.h"
#include "kernels/convolution/conv_packing_gpu.h"
#include "kernels/product/gemm_shared.h"
#include "kernels/product/gemm_splits.h"
#include "kernels/product/gemm_tile_gpu.h"
#include <math.h>

/* The parameters after those of the tile. PACKED: the work-items of a group that packs weights or copies images. SPLIT: is k
 * split? */
enum { PACKED = WI_TILE_PARAMETERS, SPLIT };

static const char *const parameters[] = {
    WI_TILE_NAMES, [PACKED] = "WEFT_CONV_GPU_PACKED", [SPLIT] = WI_SPLIT_NAME, NULL};

/* Each item copies one quad of a block of rows: ROWS * STEP = 4 * ACROSS. */
static const wi_variant variants[] = {{"large", {16, 16, 8, 8, 8, 0, 0, 64, 0}},
    {"together", {8, 16, 8, 4, 8, 8, 0, 64, 0}}, {"quarter", {16, 8, 4, 8, 8, 0, 0, 64, 0}},
    {"small", {8, 8, 4, 4, 8, 0, 0, 64, 0}}, {0}};
static const wi_variant split_variants[] = {{"large", {16, 16, 8, 8, 8, 0, 0, 64, 1}},
    {"together", {8, 16, 8, 4, 8, 8, 0, 64, 1}}, {"quarter", {16, 8, 4, 8, 8, 0, 0, 64, 1}},
    {"small", {8, 8, 4, 4, 8, 0, 0, 64, 1}}, {0}};

/* This variant has one or two percent more instructions than `large`, but reads two blocks ahead instead of one. */
static const wi_variant tuned_variants[] = {{"async", {16, 16, 8, 8, 8, 0, 3, 64, 0}}, {0}};
static const wi_variant split_tuned_variants[] = {{"async", {16, 16, 8, 8, 8, 0, 3, 64, 1}}, {0}};

static const char *const headers[] = {"conv_taps_gpu.clh", NULL};

static wi_conv_panels panels_of(const wi_kernel_site *site) {
    const int64_t step = site->values[WI_TILE_STEP];
    return (wi_conv_panels){.step = step,
        .past = step / 4 * wi_tile_buffers(site->values),
        .chunk = 4,
        .number_size = sizeof(float),
        .filters = 4,
        .behind = step * (wi_tile_buffers(site->values) - 1),
        .format = site->formats[0]};
}

static wi_conv_packing packing_of(const wi_kernel_site *site) {
    const wi_conv_panels panels = panels_of(site);
    return wi_conv_packing_of(site, &panels);
}

/* For each row of a tile local memory also has two numbers, which say where the row is stored. */
static wi_limits limits(const int *values) {
    wi_limits tile = wi_tile_limits(values);
    tile.items[0] = (size_t)wi_max64(values[PACKED], (int64_t)tile.items[0]);
    tile.local_bytes += (size_t)wi_tile_height(values) * 2 * sizeof(int32_t);
    return tile;
}

static int64_t results_of(const wi_conv_geometry *w) {
    return w->images * w->made[0] * w->made[1] * w->made[2] * w->groups * w->filters;
}

/* The number of blocks of k; for a data gradient with strides, the average over its phases. */
static double blocks_of(const wi_kernel_site *site, const wi_conv_packing *packed) {
    const wi_conv_geometry *const w = site->product->convolution;
    const double steps = wi_conv_steps(w) * (double)packed->read.pitch / (double)w->channels;
    return ceil(steps / site->values[WI_TILE_STEP]);
}

static wi_splitting splitting_of(const wi_kernel_site *site, const wi_conv_packing *packed) {
    const wi_conv_geometry *const w = site->product->convolution;
    const int *const p = site->values;
    const double tiles = (double)(wi_divide_up(wi_conv_phase_positions(w), wi_tile_height(p)) *
                                  wi_divide_up(w->filters, wi_tile_width(p)) * packed->phases * w->groups);
    const double blocks = blocks_of(site, packed), steps = blocks * p[WI_TILE_STEP];
    const double results = (double)(wi_tile_height(p) * wi_tile_width(p));
    return (wi_splitting){
        .whole = {.operations = 2.0 * tiles * results * steps / wi_tile_useful_part(site->device, p),
            .bytes = wi_conv_bytes(w) + 8.0 * (double)wi_conv_quads_floats(&packed->read),
            .groups = tiles,
            .launches = packed->read.staged ? 3 : 2,
            .build_seconds = 0.5},
        .blocks = blocks,
        .results = (double)results_of(w)};
}

static bool accepts(const wi_kernel_site *site) {
    const wi_conv_panels panels = panels_of(site);
    if (!wi_tile_suits(site->device, site->values) || !wi_tile_accepts(site->values, site->formats[0]) ||
        !wi_conv_packing_fits(site, &panels, wi_tile_height(site->values)))
        return false;
    const wi_conv_packing packed = packing_of(site);
    const wi_splitting product = splitting_of(site, &packed);
    return wi_splitting_fits(&product, site->values[SPLIT]);
}

static double margin(const wi_kernel_site *site) {
    return wi_splitting_margin(site->values[SPLIT]);
}

static double cost(const wi_kernel_site *site) {
    const wi_conv_packing packed = packing_of(site);
    const wi_splitting product = splitting_of(site, &packed);
    return wi_splitting_seconds(site->device, &product, site->values[SPLIT]);
}

/* Appends four numbers, in bytes: how far an item's channel moves from one block to the next; where the channels of a pixel end;
 * how far the item's tap moves in the table when they end; and how far the item moves in the panels. A pixel has 4 or 8 channels,
 * or more channels than a block has steps. */
static void add_steps(wi_kernel_launch *launch, const wi_conv_packing *p, int64_t step) {
    const int64_t depth = p->read.pitch, size = p->read.element_size;
    wi_kernel_ints(launch, WI_KERNEL_NUMBERS(wi_min64(step, depth) * size, depth * size,
                               wi_max64(1, step / depth) * 16, step * p->width * 4));
}

/* sums: where the sums of splits begin, in floats of scratch memory. */
static void add_tiles(
    wi_kernel_plan *plan, const wi_conv_geometry *w, const wi_conv_packing *p, int64_t splits, int64_t sums) {
    const int *const values = plan->values;
    const int64_t row_tiles = wi_divide_up(wi_conv_phase_positions(w), wi_tile_height(values));
    const int64_t step = values[WI_TILE_STEP];
    const int64_t across = wi_divide_up(w->filters, wi_tile_width(values));
    size_t local[3];
    wi_tile_group(values, local);
    wi_kernel_launch *const launch = wi_kernel_launch_groups(
        plan, "tiles", (const int64_t[]){across, p->phases * row_tiles, w->groups * splits}, local);
    launch->has_epilogue = splits == 1;
    wi_conv_packing_operands(launch, p);
    add_steps(launch, p, step);
    wi_kernel_ints(launch,
        WI_KERNEL_NUMBERS(p->read.unit, row_tiles, p->rows, w->images, w->filters, p->read.pitch, p->width));
    wi_conv_packing_end(launch, p, w);
    if (splits == 1) return;
    wi_kernel_scratch(launch, sums);
    wi_kernel_ints(launch, WI_KERNEL_NUMBERS(w->groups, splits));
}

static weft_status prepare(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_conv_geometry *const w = site->product->convolution;
    const wi_conv_packing p = packing_of(site);
    const wi_splitting product = splitting_of(site, &p);
    const int64_t splits = wi_splitting_best(site->device, &product, site->values[SPLIT]);
    const int64_t sums = wi_divide_up(p.end, 4) * 4; /* aligned for quads */
    wi_conv_packing_pack(plan, w, &p, plan->values[PACKED]);
    add_tiles(plan, w, &p, splits, sums);
    if (splits > 1)
        wi_splitting_finish(plan, site, &product, splits, sums, w->made[2], w->groups * w->filters);
    plan->scratch_bytes = (size_t)(sums + wi_splitting_floats(&product, splits)) * sizeof(float);
    return WEFT_OK;
}

#define RECORD                                                                                               \
    .ops = {&wi_op_conv, &wi_op_conv_data}, WI_GEMM_FORMATS,                                                 \
    .needs = {.classes = WI_ON_GPU, .limits = limits, .copies = wi_tile_copies}, .quads = true,              \
    .file = "conv_gpu.cl", .headers = headers, .parameters = parameters, .accepts = accepts, .cost = cost,   \
    .prepare = prepare

const wi_implementation wi_conv_gpu = {
    .name = "conv_gpu", RECORD, .variants = variants, .tuned_variants = tuned_variants};

const wi_implementation wi_conv_split_gpu = {.name = "split_gpu",
    RECORD,
    .variants = split_variants,
    .tuned_variants = split_tuned_variants,
    .margin = margin};
