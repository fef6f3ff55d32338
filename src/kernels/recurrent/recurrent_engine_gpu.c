/* Recurrent scans and their gradients by the matrix engines of GPUs, with two records for each engine. See
 * cl_kernels/recurrent/recurrent_engine_gpu.cl. */
#include "base/integers.h"
#include "kernels/product/engine_gpu.h"
#include "kernels/recurrent/recurrent_gpu.h"

/* The parameters after those of the tile; the tile is a chunk of a product. DEPTH: steps of k of the states that are in local
 * memory at a time. READS_AHEAD: 1 if each block of weights is read while the block before is multiplied. PREPARE: items of a
 * group that packs weights or sets states. */
enum { DEPTH = WI_FRAGMENT_PARAMETERS, READS_AHEAD, PREPARE };
enum { QUAD = 4, HALF_BYTES = 2 };

static const char *const parameters[] = {WI_FRAGMENT_NAMES, [DEPTH] = "WEFT_R_DEPTH",
    [READS_AHEAD] = "WEFT_R_READS_AHEAD", [PREPARE] = "WEFT_R_PREPARE", NULL};

/* Local memory holds a tile of states, with 8 numbers of padding in each row of a panel, the sums, with a quad of padding per
 * row, and the number of the step. */
static wi_limits limits(const int *p) {
    const int64_t panels = p[DEPTH] / p[WI_FRAGMENT_STEPS], pitch = p[WI_FRAGMENT_STEPS] + 8;
    const int64_t sums = (wi_fragments_width(p) + QUAD) * (int64_t)sizeof(float);
    const size_t group = wi_fragments_group(p);
    return (wi_limits){.group = group,
        .items = {group, 1},
        .local_bytes =
            (size_t)(wi_fragments_height(p) * (panels * pitch * HALF_BYTES + sums)) + QUAD * sizeof(float)};
}

static wi_recurrent_groups groups_of(const wi_kernel_site *site) {
    const int *const p = site->values;
    return (wi_recurrent_groups){.items = (int64_t)wi_fragments_group(p),
        .rows = wi_fragments_height(p),
        .quads = wi_fragments_width(p) / QUAD,
        .block = p[WI_FRAGMENT_STEPS],
        .bytes = HALF_BYTES,
        .prepare = p[PREPARE],
        .share = site->device->peak_engine / site->device->peak_f32};
}

static bool accepts(const wi_kernel_site *site) {
    return wi_kernel_op_is_f32(site) && wi_recurrent_groups_fit(site);
}

static weft_status prepare(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_recurrent_groups groups = groups_of(site);
    wi_kernel_macro_text(plan, "WEFT_ENGINE_FORMAT", wi_format_of(site->precision)->name);
    wi_recurrent_groups_prepare(site, &groups, plan);
    return WEFT_OK;
}

static double cost(const wi_kernel_site *site) {
    const wi_recurrent_groups groups = groups_of(site);
    return wi_recurrent_groups_seconds(site, &groups);
}

static const char *const headers[] = {"elementwise.clh", "recurrent.clh", "engines.clh", NULL};

#define RECORD(spelling, op, suffix, engine)                                                                 \
    {                                                                                                        \
        .name = (spelling), .ops = {&(op)}, .file = "recurrent_engine_gpu.cl", .headers = headers,           \
        .parameters = parameters, .variants = suffix##_variants,                                             \
        .needs = {.classes = WI_ON_GPU, .engines = (engine), .limits = limits},                              \
        .formats = wi_fragment_formats, .format_count = WI_FRAGMENT_FORMATS, .accepts = accepts,             \
        .cost = cost, .prepare = prepare                                                                     \
    }
/* Defines the two records of an engine. engine: its WI_ENGINE_ bit; the other arguments: the tile. */
#define ENGINE(suffix, engine, ...)                                                                          \
    static const wi_variant suffix##_variants[] = {                                                          \
        {"256", {__VA_ARGS__, [DEPTH] = 256, [PREPARE] = 64}}, {0}};                                         \
    const wi_implementation wi_recurrent_##suffix =                                                          \
        RECORD("recurrent_forward_gpu_" #suffix, wi_op_recurrent_forward, suffix, engine);                   \
    const wi_implementation wi_recurrent_##suffix##_gradient =                                               \
        RECORD("recurrent_back_gpu_" #suffix, wi_op_recurrent_back, suffix, engine)

/* Tiles have 16 rows, or as many as a fragment has if these are more, and 256 columns; groups have 256 items. Threads of Intel's
 * GPUs have only 128 words of registers per lane, which hold one block of weights. */
ENGINE(mma, WI_ENGINE_MMA, WI_FRAGMENT_TILE(1, 8, 1, 4), WI_MMA, [READS_AHEAD] = 1);
ENGINE(wmma, WI_ENGINE_WMMA, WI_FRAGMENT_TILE(1, 8, 1, 2), WI_WMMA, [READS_AHEAD] = 1);
ENGINE(wmma12, WI_ENGINE_WMMA12, WI_FRAGMENT_TILE(1, 8, 1, 2), WI_WMMA12, [READS_AHEAD] = 1);
ENGINE(mfma, WI_ENGINE_MFMA, WI_FRAGMENT_TILE(1, 4, 1, 2), WI_MFMA, [READS_AHEAD] = 1);
ENGINE(xmx8, WI_ENGINE_XMX8, WI_FRAGMENT_TILE(1, 32, 2, 1), WI_XMX8, [READS_AHEAD] = 0);
ENGINE(xmx16, WI_ENGINE_XMX16, WI_FRAGMENT_TILE(1, 16, 2, 1), WI_XMX16, [READS_AHEAD] = 0);
