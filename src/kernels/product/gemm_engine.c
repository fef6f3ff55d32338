/* Matrix products by the matrix engines of GPUs: two templates for all of them, two files of words for each. See
 * cl_kernels/product/gemm_engine_gpu.cl, of 16-bit factors, and gemm_engine_parts_gpu.cl, of f32 factors that are sums of two bf16
 * numbers. */
#include "base/integers.h"
#include "cl/matrix_engine.h"
#include "kernels/product/gemm_list.h"
#include "kernels/product/gemm_splits.h"
#include "ops/op_table.h"

/* Sub-groups of a work-group down and across its tile; fragments of a sub-group, down and across; steps of k that are in
 * local memory at once. What an engine's instruction takes stands in its first file, too, which the compiler compares:
 * lanes of a sub-group, rows and columns of a fragment. PARTS: of a number. SPLIT: is k split? */
enum { WARPS_DOWN, WARPS_ACROSS, DOWN, ACROSS, STEP, LANES, ROWS, COLUMNS, PARTS, SPLIT };

static const char *const parameters[] = {[WARPS_DOWN] = "WEFT_ENGINE_WARPS_DOWN",
    [WARPS_ACROSS] = "WEFT_ENGINE_WARPS_ACROSS",
    [DOWN] = "WEFT_ENGINE_DOWN",
    [ACROSS] = "WEFT_ENGINE_ACROSS",
    [STEP] = "WEFT_ENGINE_STEP",
    [LANES] = "WEFT_ENGINE_LANES",
    [ROWS] = "WEFT_ENGINE_ROWS",
    [COLUMNS] = "WEFT_ENGINE_COLUMNS",
    [PARTS] = "WEFT_ENGINE_PARTS",
    [SPLIT] = WI_SPLIT_NAME,
    NULL};

static int64_t height(const int *p) {
    return (int64_t)p[WARPS_DOWN] * p[DOWN] * p[ROWS];
}

static int64_t width(const int *p) {
    return (int64_t)p[WARPS_ACROSS] * p[ACROSS] * p[COLUMNS];
}

static size_t group(const int *p) {
    return (size_t)(p[WARPS_DOWN] * p[WARPS_ACROSS] * p[LANES]);
}

/* A row of a tile in local memory has 8 numbers more than steps, of 16 bits. With parts there are the ends of ranges, too. */
static wi_limits limits(const int *p) {
    const size_t row = (size_t)((p[STEP] + 8) * p[PARTS]) * 2, ranges = p[PARTS] == 2 ? 32 : 0;
    return (wi_limits){.group = group(p),
        .items = {group(p), 1},
        .local_bytes = (size_t)(height(p) + width(p)) * row + ranges};
}

static double products_of(const int *p) {
    return p[PARTS] == 2 ? 3.0 : 1.0;
}

/* Bytes of operand 0 or 1 as it lies in memory, and of C. */
static double bytes_of(const wi_kernel_site *site) {
    const wi_gemm_shape *const shape = site->product;
    const double share_a = (double)wi_format_of(site->formats[0])->size / sizeof(float);
    const double share_b = (double)wi_format_of(site->formats[1])->size / sizeof(float);
    return share_a * wi_gemm_bytes(shape, WI_GEMM_A) + share_b * wi_gemm_bytes(shape, WI_GEMM_B) +
           wi_gemm_bytes(shape, WI_GEMM_C);
}

/* A tile of `height` rows and `width` columns takes height + width numbers from memory for each step of k: where it is
 * small, that is what it waits for. */
static wi_splitting splitting_of(const wi_kernel_site *site) {
    const wi_gemm_shape *const shape = site->product;
    const int *const p = site->values;
    const double rows = (double)(wi_divide_up(shape->m, height(p)) * height(p));
    const double columns = (double)(wi_divide_up(shape->n, width(p)) * width(p));
    const double waits = 1.0 + 32.0 / (double)height(p) + 32.0 / (double)width(p);
    const double slower = site->device->peak_f32 / site->device->peak_engine;
    const int64_t blocks = wi_max64(1, wi_divide_up(shape->k, p[STEP]));
    const double operations =
        products_of(p) * 2.0 * (double)shape->batch * rows * columns * (double)(blocks * p[STEP]);
    return (wi_splitting){
        .whole = {.operations = operations * waits * slower,
            .bytes = bytes_of(site),
            .groups = (double)shape->batch * rows * columns / (double)(height(p) * width(p)),
            .launches = 1,
            .build_seconds = 0.5},
        .blocks = (double)blocks,
        .results = (double)shape->batch * (double)shape->m * (double)shape->n};
}

static bool accepts(const wi_kernel_site *site) {
    if (!wi_gemm_fits_int(site->product)) return false;
    const wi_splitting product = splitting_of(site);
    return !site->values[SPLIT] || wi_splitting_fits(&product);
}

static bool accepts_parts(const wi_kernel_site *site) {
    return site->products == WEFT_MATMUL_PRECISION_HIGH && site->product->k > 0 && accepts(site);
}

/* 1 of what is not split. */
static int64_t splits_of(const wi_kernel_site *site, const wi_splitting *product) {
    return site->values[SPLIT] ? wi_splitting_best(site->device, product) : 1;
}

static double cost(const wi_kernel_site *site) {
    const wi_splitting product = splitting_of(site);
    return wi_splitting_seconds(site->device, &product, splits_of(site, &product));
}

/* The format of the factors: that of both operands, or what they may be rounded to. */
static const char *format_of(const wi_kernel_site *site) {
    const bool both = site->formats[0] == WEFT_F16 && site->formats[1] == WEFT_F16;
    return wi_format_of(both || site->precision == WEFT_F16 ? WEFT_F16 : WEFT_BF16)->name;
}

static void launch(const wi_kernel_site *site, const char *suffix, wi_kernel_plan *plan) {
    const wi_gemm_shape *const shape = site->product;
    const int *const p = site->values;
    const wi_splitting product = splitting_of(site);
    const int64_t splits = splits_of(site, &product);
    const size_t global[] = {(size_t)wi_divide_up(shape->n, width(p)) * group(p),
        (size_t)wi_divide_up(shape->m, height(p)), (size_t)shape->batch},
                 local[] = {group(p), 1, 1};
    wi_kernel_launch *const launch = wi_gemm_launch(plan, suffix, global, local);
    wi_kernel_ints(launch, WI_KERNEL_NUMBERS(shape->m, shape->n, shape->k));
    wi_gemm_add_strides(launch, shape);
    if (splits > 1) wi_splitting_apply(plan, launch, site, &product, splits);
}

static weft_status prepare(const wi_kernel_site *site, wi_kernel_plan *plan) {
    launch(site, "blocks", plan);
    wi_kernel_macro_text(plan, "WEFT_ENGINE_FORMAT", format_of(site));
    return WEFT_OK;
}

static weft_status prepare_parts(const wi_kernel_site *site, wi_kernel_plan *plan) {
    launch(site, "parts", plan);
    return WEFT_OK;
}

static const wi_formats formats[] = {
    {WI_ANY_STORAGE, WEFT_BF16, WEFT_F32}, {WI_ANY_STORAGE, WEFT_F16, WEFT_F32}};
static const wi_formats whole[] = {{WEFT_F32, WEFT_F32, WEFT_F32}};

/* What all records have in common. */
#define RECORD(spelling, engine, text, identifier, of_formats)                                               \
    .name = (spelling), .ops = {&wi_op_matmul}, .formats = (of_formats),                                     \
    .format_count = sizeof(of_formats) / sizeof *(of_formats),                                               \
    .needs = {.classes = WI_ON_GPU, .engines = (engine), .limits = limits}, .file = (text),                  \
    .headers = identifier##_headers, .parameters = parameters, .cost = cost
#define BLOCKS(spelling, engine, identifier)                                                                 \
    RECORD(spelling, engine, "gemm_engine_gpu.cl", identifier, formats), .accepts = accepts,                 \
                                                                         .prepare = prepare
#define BLOCKS_OF_PARTS(spelling, engine, identifier)                                                        \
    RECORD(spelling, engine, "gemm_engine_parts_gpu.cl", identifier, whole), .accepts = accepts_parts,       \
                                                                             .prepare = prepare_parts

/* Two records for an engine, the second splits k: its bit, the files of its words, and the tiles, a macro of whether they are split. */
#define ENGINE(identifier, spelling, engine, layout, words, TILES)                                           \
    static const char *const identifier##_headers[] = {layout, words, NULL};                                 \
    static const wi_variant identifier##_variants[] = {TILES(0), {0}},                                       \
                            identifier##_split_variants[] = {TILES(1), {0}};                                 \
    const wi_implementation identifier = {                                                                   \
        BLOCKS(spelling, engine, identifier), .variants = identifier##_variants};                            \
    const wi_implementation identifier##_split = {BLOCKS(spelling "_split", engine, identifier),             \
        .variants = identifier##_split_variants, .margin = wi_splitting_margin}
/* Those for products from parts beside it. */
#define ENGINE_PARTS(identifier, spelling, engine, TILES)                                                    \
    static const wi_variant identifier##_parts_variants[] = {TILES(0), {0}},                                 \
                            identifier##_parts_split_variants[] = {TILES(1), {0}};                           \
    const wi_implementation identifier##_parts = {                                                           \
        BLOCKS_OF_PARTS(spelling, engine, identifier), .variants = identifier##_parts_variants};             \
    const wi_implementation identifier##_parts_split = {                                                     \
        BLOCKS_OF_PARTS(spelling "_split", engine, identifier),                                              \
        .variants = identifier##_parts_split_variants, .margin = wi_splitting_margin}
#define VARIANT(name, ...)                                                                                   \
    {                                                                                                        \
        (name), {                                                                                            \
            __VA_ARGS__                                                                                      \
        }                                                                                                    \
    }
#define TILE(down, across, fragments_down, fragments_across, split)                                          \
    [WARPS_DOWN] = (down), [WARPS_ACROSS] = (across), [DOWN] = (fragments_down),                             \
    [ACROSS] = (fragments_across), [STEP] = 32, [PARTS] = 1, [SPLIT] = (split)
#define PARTS_TILE(down, across, fragments_down, fragments_across, split)                                    \
    [WARPS_DOWN] = (down), [WARPS_ACROSS] = (across), [DOWN] = (fragments_down),                             \
    [ACROSS] = (fragments_across), [STEP] = 32, [PARTS] = 2, [SPLIT] = (split)

#define MMA [LANES] = 32, [ROWS] = 16, [COLUMNS] = 8
#define MMA_TILES(split)                                                                                     \
    VARIANT("large", TILE(2, 4, 4, 4, split), MMA), VARIANT("small", TILE(2, 2, 2, 4, split), MMA)
#define MMA_PARTS(split)                                                                                     \
    VARIANT("large", PARTS_TILE(2, 4, 4, 4, split), MMA), VARIANT("small", PARTS_TILE(2, 2, 2, 4, split), MMA)
ENGINE(wi_gemm_mma, "gpu_mma", WI_ENGINE_MMA, "mma.clh", "mma_instruction.clh", MMA_TILES);
ENGINE_PARTS(wi_gemm_mma, "gpu_mma_parts", WI_ENGINE_MMA, MMA_PARTS);

#define WMMA [LANES] = 32, [ROWS] = 16, [COLUMNS] = 16
#define WMMA_TILES(split)                                                                                    \
    VARIANT("large", TILE(2, 4, 4, 2, split), WMMA), VARIANT("small", TILE(2, 2, 2, 2, split), WMMA)
#define WMMA_PARTS(split)                                                                                    \
    VARIANT("large", PARTS_TILE(4, 4, 2, 2, split), WMMA),                                                   \
        VARIANT("small", PARTS_TILE(2, 2, 2, 2, split), WMMA)
ENGINE(wi_gemm_wmma, "gpu_wmma", WI_ENGINE_WMMA, "wmma.clh", "wmma_instruction.clh", WMMA_TILES);
ENGINE_PARTS(wi_gemm_wmma, "gpu_wmma_parts", WI_ENGINE_WMMA, WMMA_PARTS);
ENGINE(wi_gemm_wmma12, "gpu_wmma12", WI_ENGINE_WMMA12, "wmma12.clh", "wmma12_instruction.clh", WMMA_TILES);
ENGINE_PARTS(wi_gemm_wmma12, "gpu_wmma12_parts", WI_ENGINE_WMMA12, WMMA_PARTS);

#define MFMA [LANES] = 64, [ROWS] = 32, [COLUMNS] = 32
#define MFMA_TILES(split)                                                                                    \
    VARIANT("large", TILE(2, 2, 2, 2, split), MFMA), VARIANT("small", TILE(2, 2, 1, 1, split), MFMA)
#define MFMA_PARTS(split)                                                                                    \
    VARIANT("large", PARTS_TILE(2, 4, 2, 1, split), MFMA),                                                   \
        VARIANT("small", PARTS_TILE(2, 2, 1, 1, split), MFMA)
ENGINE(wi_gemm_mfma, "gpu_mfma", WI_ENGINE_MFMA, "mfma.clh", "mfma_instruction.clh", MFMA_TILES);
ENGINE_PARTS(wi_gemm_mfma, "gpu_mfma_parts", WI_ENGINE_MFMA, MFMA_PARTS);

/* Registers of a thread are 128 words of a lane: 32 sums, with 32 words of fragments and what is on its way. */
#define XMX8 [LANES] = 8, [ROWS] = 8, [COLUMNS] = 8
#define XMX8_TILES(split)                                                                                    \
    VARIANT("large", TILE(8, 4, 2, 2, split), XMX8), VARIANT("small", TILE(4, 4, 2, 2, split), XMX8)
#define XMX8_PARTS(split) VARIANT("small", PARTS_TILE(4, 8, 2, 1, split), XMX8)
ENGINE(wi_gemm_xmx8, "gpu_xmx8", WI_ENGINE_XMX8, "xmx8.clh", "xmx8_instruction.clh", XMX8_TILES);
ENGINE_PARTS(wi_gemm_xmx8, "gpu_xmx8_parts", WI_ENGINE_XMX8, XMX8_PARTS);

#define XMX16 [LANES] = 16, [ROWS] = 8, [COLUMNS] = 16
#define XMX16_TILES(split)                                                                                   \
    VARIANT("large", TILE(8, 4, 2, 2, split), XMX16), VARIANT("small", TILE(4, 2, 2, 2, split), XMX16)
#define XMX16_PARTS(split) VARIANT("small", PARTS_TILE(4, 4, 2, 1, split), XMX16)
ENGINE(wi_gemm_xmx16, "gpu_xmx16", WI_ENGINE_XMX16, "xmx16.clh", "xmx16_instruction.clh", XMX16_TILES);
ENGINE_PARTS(wi_gemm_xmx16, "gpu_xmx16_parts", WI_ENGINE_XMX16, XMX16_PARTS);
