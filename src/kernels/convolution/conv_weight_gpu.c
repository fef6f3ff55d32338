/* The weight's gradient of a convolution on class gpu. See cl_kernels/convolution/conv_weight_gpu.cl. */
#include "base/integers.h"
#include "kernels/convolution/conv_weight_cut_gpu.h"
#include "kernels/cost.h"
#include "kernels/product/gemm_tile_gpu.h"

/* The parameter after those of the tile. COMBINED: the work-items of a group that adds up splits or copies images. */
enum { COMBINED = WI_TILE_PARAMETERS };

static const char *const parameters[] = {WI_TILE_NAMES, [COMBINED] = "WEFT_CONV_WEIGHT_COMBINED", NULL};

/* Each item copies one quad of a block of rows, and at most one of columns. */
static const wi_variant variants[] = {{"large", {16, 16, 8, 8, 8, 0, 0, 64}},
    {"together", {8, 16, 8, 4, 8, 8, 0, 64}}, {"quarter", {16, 8, 4, 8, 8, 0, 0, 64}},
    {"small", {8, 8, 4, 4, 8, 0, 0, 64}}, {0}};

/* Compiled code of this variant is as fast as that of `large`, so only a measurement can prefer it. */
static const wi_variant tuned_variants[] = {{"async", {16, 16, 8, 8, 8, 0, 3, 64}}, {0}};

static const char *const headers[] = {"conv_weight_walk_gpu.clh", NULL};

static wi_limits limits(const int *values) {
    wi_limits tile = wi_tile_limits(values);
    tile.items[0] = (size_t)wi_max64(values[COMBINED], (int64_t)tile.items[0]);
    return tile;
}

static wi_conv_weight_cut cut_of(const wi_kernel_site *site, const wi_conv *conv) {
    const int *const p = site->values;
    return wi_conv_weight_cut_of(site, conv,
        &(wi_conv_weight_tile){.height = wi_tile_height(p),
            .width = wi_tile_width(p),
            .step = p[WI_TILE_STEP],
            .chunk = 4,
            .formats = {site->formats[0], site->formats[1]}});
}

static bool accepts(const wi_kernel_site *site) {
    const wi_conv conv = wi_conv_weight_of(site);
    if (!wi_tile_suits(site->device, site->values) || !wi_conv_weight_fits(&conv, 4)) return false;
    if (!wi_tile_accepts(site->values, site->formats[0]) || !wi_tile_accepts(site->values, site->formats[1]))
        return false;
    const wi_conv_weight_cut cut = cut_of(site, &conv);
    return wi_conv_quads_fit(&cut.image, true) && wi_conv_quads_fit(&cut.slope, true);
}

static double cost(const wi_kernel_site *site) {
    const wi_conv conv = wi_conv_weight_of(site);
    const int *const p = site->values;
    const wi_conv_weight_cut cut = cut_of(site, &conv);
    const double tiles = wi_conv_weight_tiles(&conv, &cut);
    return wi_work_seconds(
        site->device, &(wi_work){.operations = 2.0 * tiles * (double)(wi_tile_height(p) * wi_tile_width(p)) *
                                               (double)cut.positions / wi_tile_useful_part(site->device, p),
                          .bytes = wi_conv_weight_bytes(&conv) + 8.0 * wi_conv_weight_floats(&conv, &cut),
                          .groups = tiles * (double)cut.splits,
                          .launches = wi_conv_weight_launches(&cut),
                          .build_seconds = 0.4});
}

static weft_status prepare(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_conv conv = wi_conv_weight_of(site);
    const int *const p = site->values;
    const wi_conv_weight_cut cut = cut_of(site, &conv);
    size_t local[3];
    wi_tile_group(p, local);
    wi_conv_weight_add_launches(plan, &conv, &cut, p[WI_TILE_STEP], local, p[COMBINED]);
    return WEFT_OK;
}

const wi_implementation wi_conv_weight_gpu = {.name = "conv_gpu_weight",
    .ops = {&wi_op_conv_weight},
    .needs = {.classes = WI_ON_GPU, .limits = limits, .copies = wi_tile_copies},
    .file = "conv_weight_gpu.cl",
    .headers = headers,
    .parameters = parameters,
    .variants = variants,
    .tuned_variants = tuned_variants,
    .accepts = accepts,
    .cost = cost,
    .prepare = prepare,
    WI_GEMM_FORMATS};
