/* Attention and its gradient by the matrix engines of GPUs: attention_engine_gpu.cl, with the words of an engine that products have
 * (kernels/product/gemm_engine.c). Two records for each engine. */
#include "base/integers.h"
#include "cl/matrix_engine.h"
#include "cl/quirks.h"
#include "kernels/attention/attention_gpu.h"

/* As in gemm_engine.c; a tile of scores takes the place of the product's. HEAD: columns that a program is for. */
enum { WARPS_DOWN, WARPS_ACROSS, DOWN, ACROSS, STEP, LANES, ROWS, COLUMNS, HEAD };

static const char *const parameters[] = {[WARPS_DOWN] = "WEFT_ENGINE_WARPS_DOWN",
    [WARPS_ACROSS] = "WEFT_ENGINE_WARPS_ACROSS",
    [DOWN] = "WEFT_ENGINE_DOWN",
    [ACROSS] = "WEFT_ENGINE_ACROSS",
    [STEP] = "WEFT_ENGINE_STEP",
    [LANES] = "WEFT_ENGINE_LANES",
    [ROWS] = "WEFT_ENGINE_ROWS",
    [COLUMNS] = "WEFT_ENGINE_COLUMNS",
    [HEAD] = "WEFT_ENGINE_HEAD",
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

/* Panels of steps of k, of 16 bits with a chunk more than these: of `tiles` whole blocks of rows, of the weights, and of the
 * others. */
static int64_t panels(const int *p, int64_t tiles) {
    const int64_t row = (p[STEP] + 8) * 2;
    return row * (height(p) * (tiles * p[HEAD] / p[STEP] + 1) + p[HEAD]);
}

static wi_limits limits_of(const int *p, int64_t bytes) {
    return (wi_limits){
        .group = (size_t)group(p), .items = {(size_t)group(p), 1}, .local_bytes = (size_t)bytes};
}

/* The scores in f32, whose rows are a quad longer, and a number of each item. */
static wi_limits forward_limits(const int *p) {
    return limits_of(p, panels(p, 1) + (height(p) * (width(p) + 4) + group(p)) * (int64_t)sizeof(float));
}

/* Two numbers of each row and of each of the others. */
static wi_limits gradient_limits(const int *p) {
    return limits_of(p, panels(p, 2) + (height(p) + width(p)) * 2 * (int64_t)sizeof(float));
}

/* Operands and result in f32, of heads that the variant is for. */
static bool accepts(const wi_kernel_site *site) {
    const wi_attention_sizes s = wi_attention_sizes_of(site);
    bool plain = site->result_format == WEFT_F32;
    for (int i = 0; i < site->node->input_count; i++) plain = plain && !wi_dtype_rounds(site->formats[i]);
    return plain && wi_attention_gpu_columns(wi_max64(s.d, s.dv)) == site->values[HEAD] &&
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
    wi_kernel_macro_int(plan, "WEFT_DROP", site->node->attributes->attention.dropout > 0);
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
        .without = WI_QUIRK_WORK_ITEM_LOOPS,                                                                 \
        .engines = (engine),                                                                                 \
        .limits = how##_limits}
/* The two records of an engine: its bit, the files of its words, how its instruction cuts a product, the tile of scores, and that
 * of the gradient of wide heads. */
#define ENGINE(identifier, spelling, engine, words, shape, tile, narrow)                                     \
    static const char *const identifier##_headers[] = {words ".clh", words "_instruction.clh", NULL};        \
    static const wi_variant identifier##_variants[] = {{"32", {tile, shape, [HEAD] = 32}},                   \
        {"64", {tile, shape, [HEAD] = 64}}, {"128", {tile, shape, [HEAD] = 128}}, {0}};                      \
    static const wi_variant identifier##_gradient_variants[] = {{"32", {tile, shape, [HEAD] = 32}},          \
        {"64", {tile, shape, [HEAD] = 64}}, {"128", {narrow, shape, [HEAD] = 128}}, {0}};                    \
    const wi_implementation identifier = {                                                                   \
        RECORD("attention_" spelling, wi_op_attention_forward, "attention_engine_gpu.cl", forward),          \
        NEEDS(engine, forward), .headers = identifier##_headers, .variants = identifier##_variants};         \
    const wi_implementation identifier##_gradient = {                                                        \
        RECORD("attention_gradient_" spelling, wi_op_attention_gradient, "attention_engine_back_gpu.cl",     \
            gradient),                                                                                       \
        NEEDS(engine, gradient), .headers = identifier##_headers,                                            \
        .variants = identifier##_gradient_variants}

/* Tiles are of 64 rows and 32 others, and groups of 128 items: a lane has 16 scores. The gradient keeps two blocks of rows in
 * local memory, which are of 32 rows where heads are wide, so that they fit into the 48 KiB that NVIDIA's drivers report. One
 * fragment of MFMA has 32 rows, and AMD's drivers report 64 KiB. */
#define TILE(down, across, fragments_down, fragments_across)                                                 \
    [WARPS_DOWN] = (down), [WARPS_ACROSS] = (across), [DOWN] = (fragments_down),                             \
    [ACROSS] = (fragments_across), [STEP] = 32

#define MMA [LANES] = 32, [ROWS] = 16, [COLUMNS] = 8
ENGINE(wi_attention_mma, "gpu_mma", WI_ENGINE_MMA, "mma", MMA, TILE(2, 2, 2, 2), TILE(2, 2, 1, 2));

#define WMMA [LANES] = 32, [ROWS] = 16, [COLUMNS] = 16
ENGINE(wi_attention_wmma, "gpu_wmma", WI_ENGINE_WMMA, "wmma", WMMA, TILE(2, 2, 2, 1), TILE(2, 2, 1, 1));
ENGINE(
    wi_attention_wmma12, "gpu_wmma12", WI_ENGINE_WMMA12, "wmma12", WMMA, TILE(2, 2, 2, 1), TILE(2, 2, 1, 1));

#define MFMA [LANES] = 64, [ROWS] = 32, [COLUMNS] = 32
ENGINE(wi_attention_mfma, "gpu_mfma", WI_ENGINE_MFMA, "mfma", MFMA, TILE(2, 1, 1, 1), TILE(2, 1, 1, 1));
