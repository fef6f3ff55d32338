/* Convolution by the matrix engines of GPUs: the weight is packed, then the engine's instruction computes tiles. See
 * cl_kernels/convolution/conv_engine_gpu.cl. */
#include "base/integers.h"
#include "kernels/convolution/conv_engines_gpu.h"
#include "kernels/convolution/conv_packing_gpu.h"
#include "kernels/cost.h"

/* The parameter after those of the tile. PACKED: the work-items of a group that packs weights or copies images. */
enum { PACKED = WI_FRAGMENT_PARAMETERS };

static const char *const parameters[] = {WI_FRAGMENT_NAMES, [PACKED] = "WEFT_CONV_GPU_PACKED", NULL};

static wi_conv_panels panels_of(const wi_kernel_site *site) {
    const int64_t step = site->values[WI_FRAGMENT_STEPS];
    return (wi_conv_panels){.step = step,
        .past = step / 8,
        .chunk = 8,
        .number_size = sizeof(uint16_t),
        .filters = 1,
        .format = wi_fragments_format(site)};
}

/* For each row of a tile local memory also has two numbers, which say where the row is stored. */
static wi_limits limits(const int *values) {
    wi_limits tile = wi_fragments_limits(values, 1);
    tile.local_bytes += (size_t)wi_fragments_height(values) * 2 * sizeof(int32_t);
    tile.items[0] = (size_t)wi_max64(values[PACKED], (int64_t)tile.items[0]);
    return tile;
}

static bool accepts(const wi_kernel_site *site) {
    const wi_conv_panels panels = panels_of(site);
    return wi_conv_packing_fits(site, &panels, wi_fragments_height(site->values));
}

/* Bytes of memory traffic. The image and the result are counted in 16 bits, as the factors. */
static double bytes_of(const wi_conv_geometry *w, const wi_conv_packing *packed) {
    const double copy = (double)wi_conv_quads_floats(&packed->read) * sizeof(float);
    return wi_conv_bytes(w) / 2.0 + 2.0 * copy;
}

static double cost(const wi_kernel_site *site) {
    const wi_conv_geometry *const w = site->product->convolution;
    const int *const p = site->values;
    const wi_conv_panels panels = panels_of(site);
    const wi_conv_packing packed = wi_conv_packing_of(site, &panels);
    const int64_t height = wi_fragments_height(p), width = wi_fragments_width(p);
    const double tiles = (double)(wi_divide_up(wi_conv_phase_positions(w), height) *
                                  wi_divide_up(w->filters, width) * packed.phases * w->groups);
    const double steps =
        wi_conv_steps(w) * (double)packed.read.pitch / (double)w->channels + (double)packed.spare / 2.0;
    const double operations = 2.0 * tiles * (double)(height * width) * steps;
    return wi_work_seconds(
        site->device, &(wi_work){.operations = operations / wi_fragments_rate(site->device, p),
                          .bytes = bytes_of(w, &packed),
                          .groups = tiles,
                          .launches = packed.read.staged ? 3 : 2,
                          .build_seconds = 0.5});
}

static void add_tiles(wi_kernel_plan *plan, const wi_conv_geometry *w, const wi_conv_packing *p) {
    const int *const values = plan->values;
    const int64_t row_tiles = wi_divide_up(wi_conv_phase_positions(w), wi_fragments_height(values));
    const int64_t across = wi_divide_up(w->filters, wi_fragments_width(values));
    wi_kernel_launch *const launch =
        wi_kernel_launch_groups(plan, "tiles", (const int64_t[]){across, p->phases * row_tiles, w->groups},
            (const size_t[]){wi_fragments_group(values), 1, 1});
    launch->has_epilogue = true;
    wi_conv_packing_begin(launch, p, values[WI_FRAGMENT_STEPS]);
    wi_kernel_ints(
        launch, WI_KERNEL_NUMBERS(p->read.unit, row_tiles, p->rows, w->images, w->filters, p->read.pitch));
    wi_conv_packing_end(launch, p, w);
}

static weft_status prepare(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_conv_geometry *const w = site->product->convolution;
    const wi_conv_panels panels = panels_of(site);
    const wi_conv_packing p = wi_conv_packing_of(site, &panels);
    wi_kernel_macro_text(plan, "WEFT_ENGINE_FORMAT", wi_format_of(panels.format)->name);
    wi_conv_packing_pack(plan, w, &p, plan->values[PACKED]);
    add_tiles(plan, w, &p);
    plan->scratch_bytes = (size_t)p.end * sizeof(float);
    return WEFT_OK;
}

static const char *const headers[] = {"conv_taps_gpu.clh", "engines.clh", NULL};

/* Defines the record of one engine. conv_engines_gpu.h, which lists the engines, uses this macro. */
#define ENGINE(suffix, engine, ...)                                                                          \
    static const wi_variant suffix##_variants[] = {__VA_ARGS__, {0}};                                        \
    const wi_implementation wi_conv_##suffix = {.name = "conv_" #suffix,                                     \
        .ops = {&wi_op_conv, &wi_op_conv_data},                                                              \
        .formats = wi_fragment_formats,                                                                      \
        .format_count = WI_FRAGMENT_FORMATS,                                                                 \
        .needs = {.classes = WI_ON_GPU, .engines = (engine), .limits = limits},                              \
        .quads = true,                                                                                       \
        .file = "conv_engine_gpu.cl",                                                                        \
        .headers = headers,                                                                                  \
        .parameters = parameters,                                                                            \
        .variants = suffix##_variants,                                                                       \
        .accepts = accepts,                                                                                  \
        .cost = cost,                                                                                        \
        .prepare = prepare}
#define TILE(...) WI_FRAGMENT_TILE(__VA_ARGS__), [PACKED] = 64

WI_CONV_ENGINES;
