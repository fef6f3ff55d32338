/* Recurrent scans and their gradients by the matrix engines of GPUs: recurrent_engine_gpu.cl, with the words of an engine that products
 * have (kernels/product/gemm_engine_gpu.c). Two records for each engine. */
#include "base/integers.h"
#include "kernels/product/engine_gpu.h"
#include "kernels/recurrent/recurrent_gpu.h"

/* Beside the tile's, which is a chunk of a product: DEPTH steps of k of the states are in local memory; READS_AHEAD: are weights
 * read a block before they are multiplied? PREPARE items prepare. */
enum { DEPTH = WI_FRAGMENT_PARAMETERS, READS_AHEAD, PREPARE };
enum { QUAD = 4, HALF_BYTES = 2 };

static const char *const parameters[] = {WI_FRAGMENT_NAMES, [DEPTH] = "WEFT_R_DEPTH",
    [READS_AHEAD] = "WEFT_R_READS_AHEAD", [PREPARE] = "WEFT_R_PREPARE", NULL};

/* Local memory has a tile of states, whose rows have a chunk of 8 numbers more in each panel; the sums, whose rows have a quad more; and the
 * number of the step. */
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

static weft_status prepare(const wi_kernel_site *site, bool back, wi_kernel_plan *plan) {
    const wi_recurrent_groups groups = groups_of(site);
    wi_kernel_macro_text(plan, "WEFT_ENGINE_FORMAT", wi_format_of(site->precision)->name);
    wi_recurrent_groups_prepare(site, back, &groups, plan);
    return WEFT_OK;
}

static double cost(const wi_kernel_site *site, bool back) {
    const wi_recurrent_groups groups = groups_of(site);
    return wi_recurrent_groups_seconds(site, back, &groups);
}

#define WAY(way, back)                                                                                       \
    static bool accepts_##way(const wi_kernel_site *site) {                                                  \
        return wi_kernel_op_is_f32(site) && wi_recurrent_groups_fit(site, back);                             \
    }                                                                                                        \
    static weft_status prepare_##way(const wi_kernel_site *site, wi_kernel_plan *plan) {                     \
        return prepare(site, back, plan);                                                                    \
    }                                                                                                        \
    static double way##_cost(const wi_kernel_site *site) {                                                   \
        return cost(site, back);                                                                             \
    }
WAY(forward, false)
WAY(gradient, true)

#define RECORD(spelling, op, way)                                                                            \
    .name = (spelling), .ops = {&(op)}, .file = "recurrent_engine_gpu.cl", .parameters = parameters,         \
    .formats = wi_fragment_formats, .format_count = WI_FRAGMENT_FORMATS, .accepts = accepts_##way,           \
    .cost = way##_cost, .prepare = prepare_##way
/* The two records of an engine: its bit, the files of its words, and the tile. */
#define ENGINE(identifier, spelling, engine, words, ...)                                                     \
    static const char *const identifier##_headers[] = {                                                      \
        "elementwise.clh", "recurrent.clh", words ".clh", words "_instruction.clh", NULL};                   \
    static const wi_variant identifier##_variants[] = {                                                      \
        {"256", {__VA_ARGS__, [DEPTH] = 256, [PREPARE] = 64}}, {0}};                                         \
    const wi_implementation identifier = {                                                                   \
        RECORD("recurrent_forward_" spelling, wi_op_recurrent_forward, forward),                             \
        .needs = {.classes = WI_ON_GPU, .engines = (engine), .limits = limits},                              \
        .headers = identifier##_headers, .variants = identifier##_variants};                                 \
    const wi_implementation identifier##_gradient = {                                                        \
        RECORD("recurrent_back_" spelling, wi_op_recurrent_back, gradient),                                  \
        .needs = {.classes = WI_ON_GPU, .engines = (engine), .limits = limits},                              \
        .headers = identifier##_headers, .variants = identifier##_variants}

/* 16 rows, those of a fragment where it has more, and 256 columns, of 256 items. Registers of Intel's threads, 128 words of a lane, hold
 * one block of weights. */
#define MMA   WI_FRAGMENT_TILE(1, 8, 1, 4), WI_MMA, [READS_AHEAD] = 1
#define WMMA  WI_FRAGMENT_TILE(1, 8, 1, 2), WI_WMMA, [READS_AHEAD] = 1
#define MFMA  WI_FRAGMENT_TILE(1, 4, 1, 2), WI_MFMA, [READS_AHEAD] = 1
#define XMX8  WI_FRAGMENT_TILE(1, 32, 2, 1), WI_XMX8, [READS_AHEAD] = 0
#define XMX16 WI_FRAGMENT_TILE(1, 16, 2, 1), WI_XMX16, [READS_AHEAD] = 0
ENGINE(wi_recurrent_mma, "gpu_mma", WI_ENGINE_MMA, "mma", MMA);
ENGINE(wi_recurrent_wmma, "gpu_wmma", WI_ENGINE_WMMA, "wmma", WMMA);
ENGINE(wi_recurrent_wmma12, "gpu_wmma12", WI_ENGINE_WMMA12, "wmma12", WMMA);
ENGINE(wi_recurrent_mfma, "gpu_mfma", WI_ENGINE_MFMA, "mfma", MFMA);
ENGINE(wi_recurrent_xmx8, "gpu_xmx8", WI_ENGINE_XMX8, "xmx8", XMX8);
ENGINE(wi_recurrent_xmx16, "gpu_xmx16", WI_ENGINE_XMX16, "xmx16", XMX16);
