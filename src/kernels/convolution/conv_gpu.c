/* Convolution on gpu-class devices: the weight packed, then tiles in local memory. A second record splits k, for results
 * that have fewer tiles than the device has units. See cl_kernels/conv_gpu.cl.
 */
#include "base/integers.h"
#include "kernels/convolution/conv_packing_gpu.h"
#include "kernels/cost.h"
#include "kernels/product/gemm_list.h"
#include "kernels/product/gemm_tile_gpu.h"
#include <math.h>

/* Beside the tile's: a work-group of PACKED items packs weights, copies images and adds splits up; is k split? */
enum { PACKED = WI_TILE_PARAMETERS, SPLIT };

static const char *const parameters[] = {
    WI_TILE_NAMES, [PACKED] = "WEFT_CONV_GPU_PACKED", [SPLIT] = "WEFT_CONV_GPU_SPLIT", NULL};

/* Each item has one quad of a block of rows: ROWS * STEP = 16 * ACROSS. */
static const wi_variant variants[] = {{"large", {16, 16, 8, 8, 8, 64, 0}}, {"tall", {16, 16, 8, 4, 8, 64, 0}},
    {"medium", {16, 16, 4, 4, 16, 64, 0}}, {"small", {8, 8, 4, 4, 8, 64, 0}}, {0}};
static const wi_variant split_variants[] = {{"large", {16, 16, 8, 8, 8, 64, 1}},
    {"tall", {16, 16, 8, 4, 8, 64, 1}}, {"small", {8, 8, 4, 4, 8, 64, 1}}, {0}};

/* Splits at most; blocks of k that one has at least, where there are enough for two; floats of all splits' sums. */
enum { MOST_SPLITS = 32, LEAST_BLOCKS = 8, MOST_SUMS = 1 << 24 };

static const char *const headers[] = {
    "gemm_tile_gpu.clh", "sums_gpu.clh", "conv_stage_gpu.clh", "conv_taps_gpu.clh", NULL};

static wi_conv_panels panels_of(const wi_kernel_site *site) {
    const int64_t step = site->values[WI_TILE_STEP];
    return (wi_conv_panels){.step = step,
        .past = step / 2,
        .chunk = 4,
        .number_size = sizeof(float),
        .filters = 4,
        .format = site->formats[0]};
}

static wi_conv_packing packing_of(const wi_kernel_site *site) {
    const wi_conv_panels panels = panels_of(site);
    return wi_conv_packing_of(site, &panels);
}

static wi_limits limits(const int *values) {
    wi_limits tile = wi_tile_limits(values);
    tile.items[0] = (size_t)wi_max64(values[PACKED], (int64_t)tile.items[0]);
    return tile;
}

static bool accepts(const wi_kernel_site *site) {
    const wi_conv_panels panels = panels_of(site);
    return wi_tile_fits_registers(site->device, site->values) &&
           wi_conv_packing_fits(site, &panels, wi_tile_height(site->values));
}

/* Of all groups and images; blocks of k, of a data gradient with strides those of a phase on average. */
static int64_t results_of(const wi_conv_geometry *w) {
    return w->images * w->made[0] * w->made[1] * w->made[2] * w->groups * w->filters;
}

static double blocks_of(const wi_kernel_site *site, const wi_conv_packing *packed) {
    const wi_conv_geometry *const w = site->product->convolution;
    const double steps = wi_conv_steps(w) * (double)packed->read.pitch / (double)w->channels;
    return ceil(steps / site->values[WI_TILE_STEP]);
}

/* Multiplications of a padded product, and the traffic of a copy of the image; then that of the splits' sums. */
static double seconds_of(const wi_kernel_site *site, const wi_conv_packing *packed, double splits) {
    const wi_conv_geometry *const w = site->product->convolution;
    const int *const p = site->values;
    const double tiles = (double)(wi_divide_up(wi_conv_phase_positions(w), wi_tile_height(p)) *
                                  wi_divide_up(w->filters, wi_tile_width(p)) * packed->phases * w->groups);
    const double steps = splits * ceil(blocks_of(site, packed) / splits) * p[WI_TILE_STEP];
    const double sums = splits > 1.0 ? splits * sizeof(float) * (double)results_of(w) : 0.0;
    const wi_work products = {.operations = 2.0 * tiles * (double)(wi_tile_height(p) * wi_tile_width(p)) *
                                            steps / wi_tile_useful_part(p),
        .bytes = wi_conv_bytes(w) + 8.0 * (double)wi_conv_quads_floats(&packed->read) + sums,
        .groups = tiles * splits,
        .launches = packed->read.staged ? 3 : 2,
        .build_seconds = 0.5};
    const wi_work finish = {.bytes = sums, .groups = ceil((double)results_of(w) / p[PACKED]), .launches = 1};
    return wi_work_seconds(site->device, &products) +
           (splits > 1.0 ? wi_work_seconds(site->device, &finish) : 0.0);
}

/* As many splits as are expected to be fastest, two or more; 1 of what is not split. */
static int64_t splits_of(const wi_kernel_site *site, const wi_conv_packing *packed) {
    if (!site->values[SPLIT]) return 1;
    const double blocks = blocks_of(site, packed);
    const double sums = (double)(MOST_SUMS / wi_max64(results_of(site->product->convolution), 1));
    const int64_t most = (int64_t)fmin(fmin(blocks / LEAST_BLOCKS, sums), MOST_SPLITS);
    int64_t best = 2;
    for (int64_t splits = 3; splits <= most; splits++)
        if (seconds_of(site, packed, (double)splits) < seconds_of(site, packed, (double)best)) best = splits;
    return best;
}

/* Numbers of results are ints, and there are two blocks to split. */
static bool accepts_split(const wi_kernel_site *site) {
    if (!accepts(site)) return false;
    const wi_conv_packing packed = packing_of(site);
    return 2 * results_of(site->product->convolution) <= MOST_SUMS && blocks_of(site, &packed) >= 2.0;
}

static double cost(const wi_kernel_site *site) {
    const wi_conv_packing packed = packing_of(site);
    return seconds_of(site, &packed, (double)splits_of(site, &packed));
}

/* An estimate takes units to end their groups together; what a split gains by evening that out alone is not worth a launch. */
static double split_margin(const wi_kernel_site *site) {
    (void)site;
    return 1.25;
}

/* sums: where those of splits begin, in floats of scratch memory. */
static void add_tiles(
    wi_kernel_plan *plan, const wi_conv_geometry *w, const wi_conv_packing *p, int64_t splits, int64_t sums) {
    const int *const values = plan->values;
    const int64_t row_tiles = wi_divide_up(wi_conv_phase_positions(w), wi_tile_height(values));
    const int64_t step = values[WI_TILE_STEP];
    wi_kernel_launch *const launch = wi_kernel_launch_1d(plan, "tiles", 1, 1);
    launch->dimensions = 3;
    wi_tile_group(values, launch->local);
    launch->global[0] = (size_t)wi_divide_up(w->filters, wi_tile_width(values)) * launch->local[0];
    launch->global[1] = (size_t)(p->phases * row_tiles) * launch->local[1];
    launch->global[2] = (size_t)(w->groups * splits);
    launch->has_epilogue = splits == 1;
    if (splits == 1) plan->sum_splits = (int)(p->phases * row_tiles);
    wi_conv_packing_begin(launch, p, step);
    wi_kernel_int(launch, step * p->width * 4);
    wi_kernel_ints(launch,
        WI_KERNEL_NUMBERS(p->read.unit, row_tiles, p->rows, w->images, w->filters, p->read.pitch, p->width));
    wi_conv_packing_end(launch, p, w);
    if (splits == 1) return;
    wi_kernel_scratch(launch, sums);
    wi_kernel_ints(launch, WI_KERNEL_NUMBERS(w->groups, splits));
}

/* Positions of an item: with sums as few as give all units items, and no more than are added up without compensation. */
static int64_t share_of(const wi_kernel_site *site, int64_t results) {
    enum { FEWEST = 8, MOST = 64, ITEMS_A_UNIT = 512 };
    if (site->sums == 0) return 1;
    return wi_max64(FEWEST, wi_min64(MOST, results / (site->device->units * ITEMS_A_UNIT)));
}

static void add_finish(wi_kernel_plan *plan, const wi_kernel_site *site, int64_t splits, int64_t sums) {
    const wi_conv_geometry *const w = site->product->convolution;
    const int64_t results = results_of(w), columns = w->groups * w->filters, share = share_of(site, results);
    plan->sum_splits = (int)wi_divide_up(results / columns, share);
    wi_kernel_launch *const launch =
        wi_kernel_launch_1d(plan, "finish", plan->sum_splits * columns, plan->values[PACKED]);
    launch->has_epilogue = true;
    wi_kernel_scratch(launch, sums);
    wi_kernel_ints(launch, WI_KERNEL_NUMBERS(results, splits, columns, w->made[2], share));
}

static weft_status prepare(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_conv_geometry *const w = site->product->convolution;
    const wi_conv_packing p = packing_of(site);
    const int64_t splits = splits_of(site, &p), sums = p.end;
    wi_conv_packing_pack(plan, w, &p, plan->values[PACKED]);
    add_tiles(plan, w, &p, splits, sums);
    if (splits > 1) add_finish(plan, site, splits, sums);
    plan->scratch_bytes = (size_t)(sums + (splits > 1 ? splits * results_of(w) : 0)) * sizeof(float);
    return WEFT_OK;
}

const wi_implementation wi_conv_gpu = {.name = "conv_gpu",
    .ops = {&wi_op_conv, &wi_op_conv_data},
    .needs = {.classes = WI_ON_GPU, .limits = limits},
    .sums = true,
    .file = "conv_gpu.cl",
    .headers = headers,
    .parameters = parameters,
    .variants = variants,
    .accepts = accepts,
    .cost = cost,
    .prepare = prepare,
    WI_GEMM_FORMATS};

const wi_implementation wi_conv_split_gpu = {.name = "split_gpu",
    .ops = {&wi_op_conv, &wi_op_conv_data},
    .needs = {.classes = WI_ON_GPU, .limits = limits},
    .sums = true,
    .file = "conv_gpu.cl",
    .headers = headers,
    .parameters = parameters,
    .variants = split_variants,
    .accepts = accepts_split,
    .cost = cost,
    .margin = split_margin,
    .prepare = prepare,
    WI_GEMM_FORMATS};
