/* The weight's gradient of a convolution by the matrix engines of GPUs. See cl_kernels/convolution/conv_weight_engine_gpu.cl. */
#include "kernels/convolution/conv_engines_gpu.h"
#include "kernels/convolution/conv_weight_cut_gpu.h"
#include "kernels/cost.h"

/* The parameter after those of the tile. COMBINED: the work-items of a group that adds up splits or copies images. */
enum { COMBINED = WI_FRAGMENT_PARAMETERS };

static const char *const parameters[] = {WI_FRAGMENT_NAMES, [COMBINED] = "WEFT_CONV_WEIGHT_COMBINED", NULL};

enum { CHUNK = 8 };

/* For each quad of columns of a tile local memory also has two numbers: where the quad is stored, and how many columns it has. */
static wi_limits limits(const int *values) {
    wi_limits tile = wi_fragments_limits(values, 1);
    tile.local_bytes += (size_t)wi_fragments_width(values) / 4 * 2 * sizeof(int32_t);
    tile.items[0] = tile.items[0] > (size_t)values[COMBINED] ? tile.items[0] : (size_t)values[COMBINED];
    return tile;
}

static wi_conv_weight_cut cut_of(const wi_kernel_site *site, const wi_conv *conv) {
    const int *const p = site->values;
    const weft_dtype format = wi_fragments_format(site);
    return wi_conv_weight_cut_of(site, conv,
        &(wi_conv_weight_tile){.height = wi_fragments_height(p),
            .width = wi_fragments_width(p),
            .step = p[WI_FRAGMENT_STEPS],
            .chunk = CHUNK,
            .formats = {format, format}});
}

static bool accepts(const wi_kernel_site *site) {
    const wi_conv conv = wi_conv_weight_of(site);
    if (site->result_format != WEFT_F32 || !wi_conv_weight_fits(&conv, CHUNK)) return false;
    const wi_conv_weight_cut cut = cut_of(site, &conv);
    return wi_conv_quads_fit(&cut.image, false) && wi_conv_quads_fit(&cut.slope, false);
}

/* wi_conv_weight_bytes counts f32 factors. Here the factors have 16 bits, so half of these bytes are read. */
static double cost(const wi_kernel_site *site) {
    const wi_conv conv = wi_conv_weight_of(site);
    const int *const p = site->values;
    const wi_conv_weight_cut cut = cut_of(site, &conv);
    const double tiles = wi_conv_weight_tiles(&conv, &cut);
    const double operations =
        2.0 * tiles * (double)(wi_fragments_height(p) * wi_fragments_width(p)) * (double)cut.positions;
    return wi_work_seconds(site->device,
        &(wi_work){.operations = operations / wi_fragments_rate(site->device, p),
            .bytes = wi_conv_weight_bytes(&conv) / 2.0 + 8.0 * wi_conv_weight_floats(&conv, &cut),
            .groups = tiles * (double)cut.splits,
            .launches = wi_conv_weight_launches(&cut),
            .build_seconds = 0.5});
}

static weft_status prepare(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_conv conv = wi_conv_weight_of(site);
    const int *const p = site->values;
    const wi_conv_weight_cut cut = cut_of(site, &conv);
    wi_kernel_macro_text(plan, "WEFT_ENGINE_FORMAT", wi_format_of(wi_fragments_format(site))->name);
    wi_conv_weight_add_launches(
        plan, &conv, &cut, p[WI_FRAGMENT_STEPS], (const size_t[]){wi_fragments_group(p), 1, 1}, p[COMBINED]);
    return WEFT_OK;
}

static const char *const headers[] = {"conv_weight_walk_gpu.clh", "engines.clh", NULL};

/* Defines the record of one engine. conv_engines_gpu.h, which lists the engines, uses this macro. */
#define ENGINE(suffix, engine, ...)                                                                          \
    static const wi_variant suffix##_variants[] = {__VA_ARGS__, {0}};                                        \
    const wi_implementation wi_conv_weight_##suffix = {.name = "conv_" #suffix "_weight",                    \
        .ops = {&wi_op_conv_weight},                                                                         \
        .formats = wi_fragment_formats,                                                                      \
        .format_count = WI_FRAGMENT_FORMATS,                                                                 \
        .needs = {.classes = WI_ON_GPU, .engines = (engine), .limits = limits},                              \
        .file = "conv_weight_engine_gpu.cl",                                                                 \
        .headers = headers,                                                                                  \
        .parameters = parameters,                                                                            \
        .variants = suffix##_variants,                                                                       \
        .accepts = accepts,                                                                                  \
        .cost = cost,                                                                                        \
        .prepare = prepare}
#define TILE(...) WI_FRAGMENT_TILE(__VA_ARGS__), [COMBINED] = 64

WI_CONV_ENGINES;
