/* Matrix products by the matrix engines of GPUs: two templates for all of them, two files of words for each. See
 * cl_kernels/product/gemm_engine_gpu.cl, of 16-bit factors, and gemm_engine_parts_gpu.cl, of f32 factors that are sums of two or
 * three bf16 numbers. */
#include "base/integers.h"
#include "kernels/product/engine_gpu.h"
#include "kernels/product/gemm_list.h"
#include "kernels/product/gemm_splits.h"
#include "ops/op_table.h"

/* Beside the tile's: PARTS of a number; SPLIT: is k split? */
enum { PARTS = WI_FRAGMENT_PARAMETERS, SPLIT };

static const char *const parameters[] = {
    WI_FRAGMENT_NAMES, [PARTS] = "WEFT_ENGINE_PARTS", [SPLIT] = WI_SPLIT_NAME, NULL};

/* With parts there are the ends of ranges in local memory, too. */
static wi_limits limits(const int *p) {
    wi_limits tile = wi_fragments_limits(p, (size_t)p[PARTS]);
    tile.local_bytes += p[PARTS] > 1 ? 32 : 0;
    return tile;
}

/* Of parts; those of the least are left out. */
static double products_of(const int *p) {
    return (double)(p[PARTS] * (p[PARTS] + 1)) / 2.0;
}

/* Bytes of operand 0 or 1 as it lies in memory, and of C. */
static double bytes_of(const wi_kernel_site *site) {
    const wi_gemm_shape *const shape = site->product;
    const double share_a = (double)wi_format_of(site->formats[0])->size / sizeof(float);
    const double share_b = (double)wi_format_of(site->formats[1])->size / sizeof(float);
    return share_a * wi_gemm_bytes(shape, WI_GEMM_A) + share_b * wi_gemm_bytes(shape, WI_GEMM_B) +
           wi_gemm_bytes(shape, WI_GEMM_C);
}

static wi_splitting splitting_of(const wi_kernel_site *site) {
    const wi_gemm_shape *const shape = site->product;
    const int *const p = site->values;
    const int64_t height = wi_fragments_height(p), width = wi_fragments_width(p);
    const double rows = (double)(wi_divide_up(shape->m, height) * height);
    const double columns = (double)(wi_divide_up(shape->n, width) * width);
    const int64_t blocks = wi_max64(1, wi_divide_up(shape->k, p[WI_FRAGMENT_STEPS]));
    const double steps = (double)(blocks * p[WI_FRAGMENT_STEPS]);
    const double operations = products_of(p) * 2.0 * (double)shape->batch * rows * columns * steps;
    return (wi_splitting){.whole = {.operations = operations / wi_fragments_rate(site->device, p),
                              .bytes = bytes_of(site),
                              .groups = (double)shape->batch * rows * columns / (double)(height * width),
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
    const weft_matmul_precision served =
        site->values[PARTS] == 2 ? WEFT_MATMUL_PRECISION_HIGH : WEFT_MATMUL_PRECISION_HIGHEST;
    return site->products == served && site->product->k > 0 && accepts(site);
}

static double margin(const wi_kernel_site *site) {
    const double six = site->values[PARTS] > 2 ? wi_gemm_six_margin : 1.0;
    return six * (site->values[SPLIT] ? wi_splitting_margin(site) : 1.0);
}

/* 1 of what is not split. */
static int64_t splits_of(const wi_kernel_site *site, const wi_splitting *product) {
    return site->values[SPLIT] ? wi_splitting_best(site->device, product) : 1;
}

static double cost(const wi_kernel_site *site) {
    const wi_splitting product = splitting_of(site);
    return wi_splitting_seconds(site->device, &product, splits_of(site, &product));
}

static void launch(const wi_kernel_site *site, const char *suffix, wi_kernel_plan *plan) {
    const wi_gemm_shape *const shape = site->product;
    const int *const p = site->values;
    const wi_splitting product = splitting_of(site);
    const int64_t splits = splits_of(site, &product);
    const size_t global[] = {(size_t)wi_divide_up(shape->n, wi_fragments_width(p)) * wi_fragments_group(p),
        (size_t)wi_divide_up(shape->m, wi_fragments_height(p)), (size_t)shape->batch},
                 local[] = {wi_fragments_group(p), 1, 1};
    wi_kernel_launch *const launch = wi_gemm_launch(plan, suffix, global, local);
    wi_kernel_ints(launch, WI_KERNEL_NUMBERS(shape->m, shape->n, shape->k));
    wi_gemm_add_strides(launch, shape);
    if (splits > 1) wi_splitting_apply(plan, launch, site, &product, splits);
}

static weft_status prepare(const wi_kernel_site *site, wi_kernel_plan *plan) {
    launch(site, "blocks", plan);
    wi_kernel_macro_text(plan, "WEFT_ENGINE_FORMAT", wi_format_of(wi_fragments_format(site))->name);
    return WEFT_OK;
}

static weft_status prepare_parts(const wi_kernel_site *site, wi_kernel_plan *plan) {
    launch(site, "parts", plan);
    return WEFT_OK;
}

static const wi_formats whole[] = {{WEFT_F32, WEFT_F32, WEFT_F32}};

/* What all records have in common. */
#define RECORD(spelling, engine, text, identifier, of_formats)                                               \
    .name = (spelling), .ops = {&wi_op_matmul}, .formats = (of_formats),                                     \
    .format_count = sizeof(of_formats) / sizeof *(of_formats),                                               \
    .needs = {.classes = WI_ON_GPU, .engines = (engine), .limits = limits}, .file = (text),                  \
    .headers = identifier##_headers, .parameters = parameters, .cost = cost, .margin = margin
#define BLOCKS(spelling, engine, identifier)                                                                 \
    RECORD(spelling, engine, "gemm_engine_gpu.cl", identifier, wi_fragment_formats), .accepts = accepts,     \
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
    const wi_implementation identifier##_split = {                                                           \
        BLOCKS(spelling "_split", engine, identifier), .variants = identifier##_split_variants}
/* Those for products from parts beside it. */
#define ENGINE_PARTS(identifier, spelling, engine, TILES)                                                    \
    static const wi_variant identifier##_parts_variants[] = {TILES(0), {0}},                                 \
                            identifier##_parts_split_variants[] = {TILES(1), {0}};                           \
    const wi_implementation identifier##_parts = {                                                           \
        BLOCKS_OF_PARTS(spelling, engine, identifier), .variants = identifier##_parts_variants};             \
    const wi_implementation identifier##_parts_split = {                                                     \
        BLOCKS_OF_PARTS(spelling "_split", engine, identifier),                                              \
        .variants = identifier##_parts_split_variants}
#define VARIANT(name, ...)                                                                                   \
    {                                                                                                        \
        (name), {                                                                                            \
            __VA_ARGS__                                                                                      \
        }                                                                                                    \
    }
#define TILE(down, across, fragments_down, fragments_across, split)                                          \
    WI_FRAGMENT_TILE(down, across, fragments_down, fragments_across), [PARTS] = 1, [SPLIT] = (split)
#define THREE(down, across, fragments_down, fragments_across, split)                                         \
    WI_FRAGMENT_TILE(down, across, fragments_down, fragments_across), [PARTS] = 2, [SPLIT] = (split)
#define SIX(down, across, fragments_down, fragments_across, split)                                           \
    WI_FRAGMENT_TILE(down, across, fragments_down, fragments_across), [PARTS] = 3, [SPLIT] = (split)

#define MMA_TILES(split)                                                                                     \
    VARIANT("large", TILE(2, 4, 4, 4, split), WI_MMA), VARIANT("small", TILE(2, 2, 2, 4, split), WI_MMA)
#define MMA_PARTS(split)                                                                                     \
    VARIANT("large", THREE(2, 4, 4, 4, split), WI_MMA), VARIANT("small", THREE(2, 2, 2, 4, split), WI_MMA),  \
        VARIANT("six", SIX(4, 2, 2, 4, split), WI_MMA), VARIANT("six_small", SIX(2, 2, 2, 4, split), WI_MMA)
ENGINE(wi_gemm_mma, "gpu_mma", WI_ENGINE_MMA, "mma.clh", "mma_instruction.clh", MMA_TILES);
ENGINE_PARTS(wi_gemm_mma, "gpu_mma_parts", WI_ENGINE_MMA, MMA_PARTS);

#define WMMA_TILES(split)                                                                                    \
    VARIANT("large", TILE(2, 4, 4, 2, split), WI_WMMA), VARIANT("small", TILE(2, 2, 2, 2, split), WI_WMMA)
#define WMMA_PARTS(split)                                                                                    \
    VARIANT("large", THREE(4, 4, 2, 2, split), WI_WMMA),                                                     \
        VARIANT("small", THREE(2, 2, 2, 2, split), WI_WMMA),                                                 \
        VARIANT("six", SIX(4, 2, 2, 2, split), WI_WMMA),                                                     \
        VARIANT("six_small", SIX(2, 2, 2, 2, split), WI_WMMA)
ENGINE(wi_gemm_wmma, "gpu_wmma", WI_ENGINE_WMMA, "wmma.clh", "wmma_instruction.clh", WMMA_TILES);
ENGINE_PARTS(wi_gemm_wmma, "gpu_wmma_parts", WI_ENGINE_WMMA, WMMA_PARTS);
ENGINE(wi_gemm_wmma12, "gpu_wmma12", WI_ENGINE_WMMA12, "wmma12.clh", "wmma12_instruction.clh", WMMA_TILES);
ENGINE_PARTS(wi_gemm_wmma12, "gpu_wmma12_parts", WI_ENGINE_WMMA12, WMMA_PARTS);

#define MFMA_TILES(split)                                                                                    \
    VARIANT("large", TILE(2, 2, 2, 2, split), WI_MFMA), VARIANT("small", TILE(2, 2, 1, 1, split), WI_MFMA)
#define MFMA_PARTS(split)                                                                                    \
    VARIANT("large", THREE(2, 4, 2, 1, split), WI_MFMA),                                                     \
        VARIANT("small", THREE(2, 2, 1, 1, split), WI_MFMA),                                                 \
        VARIANT("six", SIX(2, 2, 2, 1, split), WI_MFMA),                                                     \
        VARIANT("six_small", SIX(2, 2, 1, 1, split), WI_MFMA)
ENGINE(wi_gemm_mfma, "gpu_mfma", WI_ENGINE_MFMA, "mfma.clh", "mfma_instruction.clh", MFMA_TILES);
ENGINE_PARTS(wi_gemm_mfma, "gpu_mfma_parts", WI_ENGINE_MFMA, MFMA_PARTS);

/* Registers of a thread are 128 words of a lane: 32 sums, with 32 words of fragments and what is on its way. */
#define XMX8_TILES(split)                                                                                    \
    VARIANT("large", TILE(8, 4, 2, 2, split), WI_XMX8), VARIANT("small", TILE(4, 4, 2, 2, split), WI_XMX8)
#define XMX8_PARTS(split)                                                                                    \
    VARIANT("small", THREE(4, 8, 2, 1, split), WI_XMX8), VARIANT("six", SIX(4, 8, 2, 1, split), WI_XMX8)
ENGINE(wi_gemm_xmx8, "gpu_xmx8", WI_ENGINE_XMX8, "xmx8.clh", "xmx8_instruction.clh", XMX8_TILES);
ENGINE_PARTS(wi_gemm_xmx8, "gpu_xmx8_parts", WI_ENGINE_XMX8, XMX8_PARTS);

#define XMX16_TILES(split)                                                                                   \
    VARIANT("large", TILE(8, 4, 2, 2, split), WI_XMX16), VARIANT("small", TILE(4, 2, 2, 2, split), WI_XMX16)
#define XMX16_PARTS(split)                                                                                   \
    VARIANT("small", THREE(4, 4, 2, 1, split), WI_XMX16), VARIANT("six", SIX(4, 4, 2, 1, split), WI_XMX16)
ENGINE(wi_gemm_xmx16, "gpu_xmx16", WI_ENGINE_XMX16, "xmx16.clh", "xmx16_instruction.clh", XMX16_TILES);
ENGINE_PARTS(wi_gemm_xmx16, "gpu_xmx16_parts", WI_ENGINE_XMX16, XMX16_PARTS);
