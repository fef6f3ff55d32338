/* Attention and its gradient by the matrix engines of GPUs: attention_engine_gpu.cl, with the words of an engine that products have
 * (kernels/product/gemm_engine_gpu.c). Two records for each engine. */
#include "base/integers.h"
#include "cl/matrix_engine.h"
#include "cl/quirks.h"
#include "kernels/attention/attention_gpu.h"

/* As in gemm_engine_gpu.c; a tile of scores takes the place of the product's. HEAD: columns that a program is for; HELD: 1: blocks of rows are
 * in registers. */
enum { WARPS_DOWN, WARPS_ACROSS, DOWN, ACROSS, STEP, LANES, ROWS, COLUMNS, HEAD, HELD };

static const char *const parameters[] = {[WARPS_DOWN] = "WEFT_ENGINE_WARPS_DOWN",
    [WARPS_ACROSS] = "WEFT_ENGINE_WARPS_ACROSS",
    [DOWN] = "WEFT_ENGINE_DOWN",
    [ACROSS] = "WEFT_ENGINE_ACROSS",
    [STEP] = "WEFT_ENGINE_STEP",
    [LANES] = "WEFT_ENGINE_LANES",
    [ROWS] = "WEFT_ENGINE_ROWS",
    [COLUMNS] = "WEFT_ENGINE_COLUMNS",
    [HEAD] = "WEFT_ENGINE_HEAD",
    [HELD] = "WEFT_HEAD_HELD",
    NULL};

static int64_t height(const int *p) {
    return (int64_t)p[WARPS_DOWN] * p[DOWN] * p[ROWS];
}

static int64_t width(const int *p) {
    return (int64_t)p[WARPS_ACROSS] * p[ACROSS] * p[COLUMNS];
}

static int64_t group(const int *p) {
    return (int64_t)p[WARPS_DOWN] * p[WARPS_ACROSS] * p[LANES];
}

/* A panel of steps of k, of 16 bits with a chunk more than these, of so many rows. */
static int64_t panel(const int *p, int64_t rows) {
    return (p[STEP] + 8) * 2 * rows;
}

/* `tiles` whole blocks of rows, where these are in local memory. */
static int64_t blocks(const int *p, int64_t tiles) {
    return p[HELD] ? 0 : tiles * p[HEAD] / p[STEP] * panel(p, height(p));
}

static wi_limits limits_of(const int *p, int64_t bytes) {
    return (wi_limits){
        .group = (size_t)group(p), .items = {(size_t)group(p), 1}, .local_bytes = (size_t)bytes};
}

/* The weights, the others and the scores in f32, whose rows are a quad longer and take the place of the others where rows are held; and a
 * number of each item. */
static wi_limits forward_limits(const int *p) {
    const int64_t others = panel(p, p[HEAD]), scores = height(p) * (width(p) + 4) * (int64_t)sizeof(float);
    const int64_t both = p[HELD] ? wi_max64(others, scores) : others + scores;
    return limits_of(p, blocks(p, 1) + panel(p, height(p)) + both + group(p) * (int64_t)sizeof(float));
}

/* The weights, the others, and two numbers of each row and of each of the others. */
static wi_limits gradient_limits(const int *p) {
    return limits_of(p,
        blocks(p, 2) + panel(p, height(p) + p[HEAD]) + (height(p) + width(p)) * 2 * (int64_t)sizeof(float));
}

/* Operands and result in f32, of heads that the variant is for. */
static bool accepts(const wi_kernel_site *site) {
    const wi_attention_sizes s = wi_attention_sizes_of(site);
    return wi_kernel_op_is_f32(site) && wi_attention_gpu_columns(wi_max64(s.d, s.dv)) == site->values[HEAD] &&
           wi_attention_gpu_fits(site);
}

/* Beside the engine's products stand the softmax and barriers, for as long as two products take. */
static wi_attention_groups groups_of(const wi_kernel_site *site) {
    const int *const p = site->values;
    return (wi_attention_groups){.items = group(p),
        .rows = height(p),
        .others = width(p),
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

/* Of both, as products: what f16 cannot hold is an infinity, and the step is skipped (decision 0089). */
static const wi_formats formats[] = {
    {WI_ANY_STORAGE, WEFT_BF16, WEFT_F32}, {WI_ANY_STORAGE, WEFT_F16, WEFT_F32}};

#define RECORD(spelling, op, text, how)                                                                      \
    .name = (spelling), .ops = {&(op)}, .file = (text), .parameters = parameters, .formats = formats,        \
    .format_count = sizeof formats / sizeof *formats, .accepts = accepts, .cost = how##_cost,                \
    .prepare = prepare_##how
#define NEEDS(engine, how)                                                                                   \
    .needs = {.classes = WI_ON_GPU,                                                                          \
        .without = WI_QUIRK_PRIVATE_FRAGMENTS,                                                               \
        .engines = (engine),                                                                                 \
        .limits = how##_limits}
/* The two records of an engine: its bit, the files of its words, and the variants forward and backward. */
#define ENGINE(identifier, spelling, engine, words, forward_variants, gradient_variants)                     \
    static const char *const identifier##_headers[] = {words ".clh", words "_instruction.clh", NULL};        \
    const wi_implementation identifier = {                                                                   \
        RECORD("attention_" spelling, wi_op_attention_forward, "attention_engine_gpu.cl", forward),          \
        NEEDS(engine, forward), .headers = identifier##_headers, .variants = forward_variants};              \
    const wi_implementation identifier##_gradient = {                                                        \
        RECORD("attention_gradient_" spelling, wi_op_attention_gradient, "attention_engine_back_gpu.cl",     \
            gradient),                                                                                       \
        NEEDS(engine, gradient), .headers = identifier##_headers, .variants = gradient_variants}

/* Tiles are of 64 rows and 32 others, and groups of 128 items: a lane has 16 scores. Where heads are wide, and their sums many, groups
 * have 256 items and a lane 8 scores, so that twice as many sub-groups fit. The gradient keeps two blocks of rows in local memory, for
 * MMA of 32 rows where heads are wide, so that they fit into the 48 KiB that NVIDIA's drivers report; AMD's report 64 KiB. One
 * fragment of MFMA has 32 rows. */
#define TILE(down, across, fragments_down, fragments_across)                                                 \
    [WARPS_DOWN] = (down), [WARPS_ACROSS] = (across), [DOWN] = (fragments_down),                             \
    [ACROSS] = (fragments_across), [STEP] = 32
/* Variants, by the columns of a head: how the instruction cuts a product, and tiles of scores. */
#define HEAD_OF(text, columns, shape, ...)                                                                   \
    {                                                                                                        \
        text, {                                                                                              \
            __VA_ARGS__, shape, [HEAD] = (columns)                                                           \
        }                                                                                                    \
    }
#define HEADS(identifier, shape, tile, wide, widest)                                                         \
    static const wi_variant identifier[] = {HEAD_OF("32", 32, shape, tile), HEAD_OF("64", 64, shape, wide),  \
        HEAD_OF("128", 128, shape, widest), {0}}

#define MMA [LANES] = 32, [ROWS] = 16, [COLUMNS] = 8
HEADS(mma_variants, MMA, TILE(2, 2, 2, 2), TILE(2, 2, 2, 2), TILE(4, 2, 1, 2));
HEADS(mma_gradient_variants, MMA, TILE(2, 2, 2, 2), TILE(4, 2, 1, 2), TILE(2, 4, 1, 1));
ENGINE(wi_attention_mma, "gpu_mma", WI_ENGINE_MMA, "mma", mma_variants, mma_gradient_variants);

#define WMMA [LANES] = 32, [ROWS] = 16, [COLUMNS] = 16
HEADS(wmma_variants, WMMA, TILE(2, 2, 2, 1), TILE(2, 2, 2, 1), TILE(4, 2, 1, 1));
ENGINE(wi_attention_wmma, "gpu_wmma", WI_ENGINE_WMMA, "wmma", wmma_variants, wmma_variants);
ENGINE(wi_attention_wmma12, "gpu_wmma12", WI_ENGINE_WMMA12, "wmma12", wmma_variants, wmma_variants);

#define MFMA [LANES] = 64, [ROWS] = 32, [COLUMNS] = 32, [HELD] = 1
HEADS(mfma_variants, MFMA, TILE(2, 1, 1, 1), TILE(4, 1, 1, 1), TILE(4, 1, 1, 1));
ENGINE(wi_attention_mfma, "gpu_mfma", WI_ENGINE_MFMA, "mfma", mfma_variants, mfma_variants);

/* A thread of Intel's has 128 registers, of a number for each of its lanes: heads of more than 32 columns are for groups of 256
 * items, so that a lane has 8 scores; XMX8's gradient of 32 columns is for blocks of 32 rows, for the same reason. */
#define XMX8 [LANES] = 8, [ROWS] = 8, [COLUMNS] = 8
HEADS(xmx8_variants, XMX8, TILE(8, 2, 1, 2), TILE(8, 4, 1, 1), TILE(8, 4, 1, 1));
HEADS(xmx8_gradient_variants, XMX8, TILE(4, 4, 1, 1), TILE(8, 4, 1, 1), TILE(8, 4, 1, 1));
ENGINE(wi_attention_xmx8, "gpu_xmx8", WI_ENGINE_XMX8, "xmx8", xmx8_variants, xmx8_gradient_variants);

#define XMX16 [LANES] = 16, [ROWS] = 8, [COLUMNS] = 16
HEADS(xmx16_variants, XMX16, TILE(4, 2, 2, 1), TILE(8, 2, 1, 1), TILE(8, 2, 1, 1));
ENGINE(wi_attention_xmx16, "gpu_xmx16", WI_ENGINE_XMX16, "xmx16", xmx16_variants, xmx16_variants);
