/* Attention and its gradient by the matrix engines of GPUs, with two records for each engine. See
 * cl_kernels/attention/attention_engine_gpu.cl. */
#include "base/integers.h"
#include "cl/quirks.h"
#include "kernels/attention/attention_gpu.h"
#include "kernels/product/engine_gpu.h"

/* The parameters after those of the tile, which is a tile of scores. HEAD: the columns of a head for which the program is
 * compiled. HELD: 1 if blocks of rows are in registers, 0 if they are in local memory. "Rows" and "others" are those of
 * attention_gpu.h. */
enum { HEAD = WI_FRAGMENT_PARAMETERS, HELD };

static const char *const parameters[] = {
    WI_FRAGMENT_NAMES, [HEAD] = "WEFT_ENGINE_HEAD", [HELD] = "WEFT_HEAD_HELD", NULL};

/* Bytes of `rows` rows of a panel. A row has WI_FRAGMENT_STEPS steps of k and 8 numbers of padding, all of 16 bits. */
static int64_t panel(const int *p, int64_t rows) {
    return (p[WI_FRAGMENT_STEPS] + 8) * 2 * rows;
}

/* Bytes of `tiles` blocks of rows in local memory. */
static int64_t blocks(const int *p, int64_t tiles) {
    return p[HELD] ? 0 : tiles * p[HEAD] / p[WI_FRAGMENT_STEPS] * panel(p, wi_fragments_height(p));
}

static wi_limits limits_of(const int *p, int64_t bytes) {
    const size_t group = wi_fragments_group(p);
    return (wi_limits){.group = group, .items = {group, 1}, .local_bytes = (size_t)bytes};
}

/* Local memory holds the weights, the others, the scores in f32 with a quad of padding per row (in place of the others if rows
 * are held), and a number per item. */
static wi_limits forward_limits(const int *p) {
    const int64_t height = wi_fragments_height(p), numbers = (int64_t)sizeof(float);
    const int64_t others = panel(p, p[HEAD]), scores = height * (wi_fragments_width(p) + 4) * numbers;
    const int64_t both = p[HELD] ? wi_max64(others, scores) : others + scores;
    return limits_of(p, blocks(p, 1) + panel(p, height) + both + (int64_t)wi_fragments_group(p) * numbers);
}

/* Local memory holds the weights, the tile of others, and two numbers for each row and for each of the others. */
static wi_limits gradient_limits(const int *p) {
    const int64_t height = wi_fragments_height(p), width = wi_fragments_width(p);
    return limits_of(
        p, blocks(p, 2) + panel(p, height + p[HEAD]) + (height + width) * 2 * (int64_t)sizeof(float));
}

static bool accepts(const wi_kernel_site *site) {
    const wi_attention_sizes s = wi_attention_sizes_of(site);
    return wi_kernel_op_is_f32(site) && wi_attention_gpu_columns(wi_max64(s.d, s.dv)) == site->values[HEAD] &&
           wi_attention_gpu_fits(site);
}

/* Softmax and barriers take about twice as long as the products, so the share of the engine's peak is a third. */
static wi_attention_groups groups_of(const wi_kernel_site *site) {
    const int *const p = site->values;
    return (wi_attention_groups){.items = (int64_t)wi_fragments_group(p),
        .rows = wi_fragments_height(p),
        .others = wi_fragments_width(p),
        .d = p[HEAD],
        .dv = p[HEAD],
        .share = site->device->peak_engine / site->device->peak_f32 / 3.0};
}

static void macros(const wi_kernel_site *site, wi_kernel_plan *plan) {
    wi_attention_dropout_macro(plan, site);
    wi_kernel_macro_text(plan, "WEFT_ENGINE_FORMAT", wi_format_of(site->precision)->name);
}

static weft_status prepare_forward(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_attention_groups groups = groups_of(site);
    macros(site, plan);
    wi_attention_groups_forward(site, plan, &groups);
    return WEFT_OK;
}

static weft_status prepare_gradient(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_attention_groups groups = groups_of(site);
    macros(site, plan);
    wi_attention_groups_gradient(site, plan, &groups);
    return WEFT_OK;
}

static double forward_cost(const wi_kernel_site *site) {
    const wi_attention_groups groups = groups_of(site);
    return wi_attention_groups_forward_seconds(site, &groups);
}

static double gradient_cost(const wi_kernel_site *site) {
    const wi_attention_groups groups = groups_of(site);
    return wi_attention_groups_gradient_seconds(site, &groups);
}

#define RECORD(spelling, op, text, way)                                                                      \
    .name = (spelling), .ops = {&(op)}, .file = (text), .parameters = parameters,                            \
    .formats = wi_fragment_formats, .format_count = WI_FRAGMENT_FORMATS, .accepts = accepts,                 \
    .cost = way##_cost, .prepare = prepare_##way
#define NEEDS(engine, way)                                                                                   \
    .needs = {.classes = WI_ON_GPU,                                                                          \
        .without = WI_QUIRK_PRIVATE_FRAGMENTS,                                                               \
        .engines = (engine),                                                                                 \
        .limits = way##_limits}
static const char *const headers[] = {"engines.clh", NULL};

/* Defines the two records of an engine. engine: its WI_ENGINE_ bit; the other parameters: the variants of both passes. */
#define ENGINE(suffix, engine, forward_variants, gradient_variants)                                          \
    const wi_implementation wi_attention_##suffix = {                                                        \
        RECORD("attention_gpu_" #suffix, wi_op_attention_forward, "attention_engine_gpu.cl", forward),       \
        NEEDS(engine, forward), .headers = headers, .variants = forward_variants};                           \
    const wi_implementation wi_attention_##suffix##_gradient = {                                             \
        RECORD("attention_gradient_gpu_" #suffix, wi_op_attention_gradient, "attention_engine_back_gpu.cl",  \
            gradient),                                                                                       \
        NEEDS(engine, gradient), .headers = headers, .variants = gradient_variants}

/* Tiles have 64 rows and 32 others, and groups have 128 items, so that a lane has 16 scores. For wide heads, which need many
 * sums, groups have 256 items and a lane has 8 scores. The gradient keeps two blocks of rows in local memory. For wide heads a
 * block of MMA has 32 rows, so that both fit in the 48 KiB that NVIDIA's drivers report; AMD's drivers report 64 KiB. A fragment
 * of MFMA has 32 rows. */
#define TILE WI_FRAGMENT_TILE
/* The variants for heads of 32, 64 and 128 columns. */
#define HEADS(identifier, engine, tile, wide, widest)                                                        \
    static const wi_variant identifier[] = {{"32", {tile, engine, [HEAD] = 32}},                             \
        {"64", {wide, engine, [HEAD] = 64}}, {"128", {widest, engine, [HEAD] = 128}}, {0}}

HEADS(mma_variants, WI_MMA, TILE(2, 2, 2, 2), TILE(2, 2, 2, 2), TILE(4, 2, 1, 2));
HEADS(mma_gradient_variants, WI_MMA, TILE(2, 2, 2, 2), TILE(4, 2, 1, 2), TILE(2, 4, 1, 1));
ENGINE(mma, WI_ENGINE_MMA, mma_variants, mma_gradient_variants);

HEADS(wmma_variants, WI_WMMA, TILE(2, 2, 2, 1), TILE(2, 2, 2, 1), TILE(4, 2, 1, 1));
ENGINE(wmma, WI_ENGINE_WMMA, wmma_variants, wmma_variants);
HEADS(wmma12_variants, WI_WMMA12, TILE(2, 2, 2, 1), TILE(2, 2, 2, 1), TILE(4, 2, 1, 1));
ENGINE(wmma12, WI_ENGINE_WMMA12, wmma12_variants, wmma12_variants);

#define MFMA WI_MFMA, [HELD] = 1
HEADS(mfma_variants, MFMA, TILE(2, 1, 1, 1), TILE(4, 1, 1, 1), TILE(4, 1, 1, 1));
ENGINE(mfma, WI_ENGINE_MFMA, mfma_variants, mfma_variants);

/* Intel's threads have 128 registers with one number for each lane. Heads of more than 32 columns therefore have groups of 256
 * items, so that a lane has 8 scores; for the same reason XMX8's gradient for 32 columns has blocks of 32 rows. */
HEADS(xmx8_variants, WI_XMX8, TILE(8, 2, 1, 2), TILE(8, 4, 1, 1), TILE(8, 4, 1, 1));
HEADS(xmx8_gradient_variants, WI_XMX8, TILE(4, 4, 1, 1), TILE(8, 4, 1, 1), TILE(8, 4, 1, 1));
ENGINE(xmx8, WI_ENGINE_XMX8, xmx8_variants, xmx8_gradient_variants);

HEADS(xmx16_variants, WI_XMX16, TILE(4, 2, 2, 1), TILE(8, 2, 1, 1), TILE(8, 2, 1, 1));
ENGINE(xmx16, WI_ENGINE_XMX16, xmx16_variants, xmx16_variants);
