/* Matrix products by the matrix engines of GPUs. gemm_engine_gpu.cl multiplies 16-bit factors. gemm_engine_parts_gpu.cl
 * multiplies f32 factors, each as the sum of two or three bf16 numbers, its parts. Both are in cl_kernels/product. */
#include "base/integers.h"
#include "kernels/product/engine_gpu.h"
#include "kernels/product/gemm_shared.h"
#include "kernels/product/gemm_splits.h"
#include "ops/op_table.h"

/* The parameters after those of the tile. PARTS: the parts of a number. SPLIT: is k split? */
enum { PARTS = WI_FRAGMENT_PARAMETERS, SPLIT };

static const char *const parameters[] = {
    WI_FRAGMENT_NAMES, [PARTS] = "WEFT_ENGINE_PARTS", [SPLIT] = WI_SPLIT_NAME, NULL};

/* If numbers have several parts, local memory also has the smallest and the largest magnitudes of the numbers. */
static wi_limits limits(const int *p) {
    wi_limits tile = wi_fragments_limits(p, (size_t)p[PARTS]);
    tile.local_bytes += p[PARTS] > 1 ? 32 : 0;
    return tile;
}

/* The products of parts for one product of numbers: 1, 3 or 6. The smallest products are left out. */
static double products_of(const int *p) {
    return (double)(p[PARTS] * (p[PARTS] + 1)) / 2.0;
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
                              .bytes = wi_gemm_stored_bytes(site),
                              .groups = (double)shape->batch * rows * columns / (double)(height * width),
                              .launches = 1,
                              .build_seconds = 0.5},
        .blocks = (double)blocks,
        .results = (double)shape->batch * (double)shape->m * (double)shape->n};
}

static bool accepts(const wi_kernel_site *site) {
    if (!wi_gemm_fits_int(site->product)) return false;
    const wi_splitting product = splitting_of(site);
    return wi_splitting_fits(&product, site->values[SPLIT]);
}

static bool accepts_parts(const wi_kernel_site *site) {
    const weft_matmul_precision served =
        site->values[PARTS] == 2 ? WEFT_MATMUL_PRECISION_HIGH : WEFT_MATMUL_PRECISION_HIGHEST;
    return site->products == served && site->product->k > 0 && accepts(site);
}

static double margin(const wi_kernel_site *site) {
    const double six = site->values[PARTS] > 2 ? wi_gemm_six_margin : 1.0;
    return six * wi_splitting_margin(site->values[SPLIT]);
}

static double cost(const wi_kernel_site *site) {
    const wi_splitting product = splitting_of(site);
    return wi_splitting_seconds(site->device, &product, site->values[SPLIT]);
}

static void launch(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_gemm_shape *const shape = site->product;
    const int *const p = site->values;
    const wi_splitting product = splitting_of(site);
    const int64_t splits = wi_splitting_best(site->device, &product, p[SPLIT]);
    const size_t global[] = {(size_t)wi_divide_up(shape->n, wi_fragments_width(p)) * wi_fragments_group(p),
        (size_t)wi_divide_up(shape->m, wi_fragments_height(p)), (size_t)shape->batch},
                 local[] = {wi_fragments_group(p), 1, 1};
    wi_kernel_launch *const launch = wi_gemm_launch(plan, "blocks", global, local);
    wi_kernel_ints(launch, WI_KERNEL_NUMBERS(shape->m, shape->n, shape->k));
    wi_gemm_add_strides(launch, shape);
    if (splits > 1) wi_splitting_apply(plan, launch, site, &product, splits);
}

static weft_status prepare(const wi_kernel_site *site, wi_kernel_plan *plan) {
    launch(site, plan);
    wi_kernel_macro_text(plan, "WEFT_ENGINE_FORMAT", wi_format_of(wi_fragments_format(site))->name);
    return WEFT_OK;
}

static weft_status prepare_parts(const wi_kernel_site *site, wi_kernel_plan *plan) {
    launch(site, plan);
    return WEFT_OK;
}

static const char *const headers[] = {"engines.clh", NULL};

static const wi_formats whole[] = {{WEFT_F32, WEFT_F32, WEFT_F32}};

/* The fields that the records for 16-bit factors have in common, and those of the records for numbers of several parts. */
#define BLOCKS                                                                                               \
    .formats = wi_fragment_formats, .format_count = WI_FRAGMENT_FORMATS, .file = "gemm_engine_gpu.cl",       \
    .accepts = accepts, .prepare = prepare
#define BLOCKS_OF_PARTS                                                                                      \
    .formats = whole, .format_count = 1, .file = "gemm_engine_parts_gpu.cl", .accepts = accepts_parts,       \
    .prepare = prepare_parts

#define RECORD(engine, ending, bit, KIND, TILES, split)                                                      \
    static const wi_variant engine##ending##_variants[] = {TILES(split), {0}};                               \
    const wi_implementation wi_gemm_##engine##ending = {.name = "gpu_" #engine #ending,                      \
        .ops = {&wi_op_matmul},                                                                              \
        .needs = {.classes = WI_ON_GPU, .engines = (bit), .limits = limits},                                 \
        .headers = headers,                                                                                  \
        .parameters = parameters,                                                                            \
        .variants = engine##ending##_variants,                                                               \
        .cost = cost,                                                                                        \
        .margin = margin,                                                                                    \
        .quads = true,                                                                                       \
        KIND}
/* The four records of an engine: for 16-bit factors and for parts, without splits and with them. */
#define ENGINE(engine, bit, TILES, TILES_OF_PARTS)                                                           \
    RECORD(engine, , bit, BLOCKS, TILES, 0);                                                                 \
    RECORD(engine, _split, bit, BLOCKS, TILES, 1);                                                           \
    RECORD(engine, _parts, bit, BLOCKS_OF_PARTS, TILES_OF_PARTS, 0);                                         \
    RECORD(engine, _parts_split, bit, BLOCKS_OF_PARTS, TILES_OF_PARTS, 1)

/* A variant. With two parts a product of numbers becomes three products, with three parts six; the latter variants are named
 * "six". */
#define TILE(name, parts, down, across, fragments_down, fragments_across, split, ...)                        \
    {                                                                                                        \
        (name), {                                                                                            \
            WI_FRAGMENT_TILE(down, across, fragments_down, fragments_across),                                \
                __VA_ARGS__, [PARTS] = (parts), [SPLIT] = (split)                                            \
        }                                                                                                    \
    }

#define MMA_TILES(split)                                                                                     \
    TILE("large", 1, 2, 4, 4, 4, split, WI_MMA), TILE("small", 1, 2, 2, 2, 4, split, WI_MMA)
#define MMA_PARTS(split)                                                                                     \
    TILE("large", 2, 2, 4, 4, 4, split, WI_MMA), TILE("small", 2, 2, 2, 2, 4, split, WI_MMA),                \
        TILE("six", 3, 4, 2, 2, 4, split, WI_MMA), TILE("six_small", 3, 2, 2, 2, 4, split, WI_MMA)
ENGINE(mma, WI_ENGINE_MMA, MMA_TILES, MMA_PARTS);

#define WMMA_TILES_OF(shape, split)                                                                          \
    TILE("large", 1, 2, 4, 4, 2, split, shape), TILE("small", 1, 2, 2, 2, 2, split, shape)
#define WMMA_PARTS_OF(shape, split)                                                                          \
    TILE("large", 2, 4, 4, 2, 2, split, shape), TILE("small", 2, 2, 2, 2, 2, split, shape),                  \
        TILE("six", 3, 4, 2, 2, 2, split, shape), TILE("six_small", 3, 2, 2, 2, 2, split, shape)
#define WMMA_TILES(split)   WMMA_TILES_OF(WI_WMMA, split)
#define WMMA_PARTS(split)   WMMA_PARTS_OF(WI_WMMA, split)
#define WMMA12_TILES(split) WMMA_TILES_OF(WI_WMMA12, split)
#define WMMA12_PARTS(split) WMMA_PARTS_OF(WI_WMMA12, split)
ENGINE(wmma, WI_ENGINE_WMMA, WMMA_TILES, WMMA_PARTS);
ENGINE(wmma12, WI_ENGINE_WMMA12, WMMA12_TILES, WMMA12_PARTS);

#define MFMA_TILES(split)                                                                                    \
    TILE("large", 1, 2, 2, 2, 2, split, WI_MFMA), TILE("small", 1, 2, 2, 1, 1, split, WI_MFMA)
#define MFMA_PARTS(split)                                                                                    \
    TILE("large", 2, 2, 4, 2, 1, split, WI_MFMA), TILE("small", 2, 2, 2, 1, 1, split, WI_MFMA),              \
        TILE("six", 3, 2, 2, 2, 1, split, WI_MFMA), TILE("six_small", 3, 2, 2, 1, 1, split, WI_MFMA)
ENGINE(mfma, WI_ENGINE_MFMA, MFMA_TILES, MFMA_PARTS);

/* A lane has 128 words of registers: for 32 sums, for 32 words of fragments, and for data that is being loaded. */
#define XMX8_TILES(split)                                                                                    \
    TILE("large", 1, 8, 4, 2, 2, split, WI_XMX8), TILE("small", 1, 4, 4, 2, 2, split, WI_XMX8)
#define XMX8_PARTS(split)                                                                                    \
    TILE("small", 2, 4, 8, 2, 1, split, WI_XMX8), TILE("six", 3, 4, 8, 2, 1, split, WI_XMX8)
ENGINE(xmx8, WI_ENGINE_XMX8, XMX8_TILES, XMX8_PARTS);

#define XMX16_TILES(split)                                                                                   \
    TILE("large", 1, 8, 4, 2, 2, split, WI_XMX16), TILE("small", 1, 4, 2, 2, 2, split, WI_XMX16)
#define XMX16_PARTS(split)                                                                                   \
    TILE("small", 2, 4, 4, 2, 1, split, WI_XMX16), TILE("six", 3, 4, 4, 2, 1, split, WI_XMX16)
ENGINE(xmx16, WI_ENGINE_XMX16, XMX16_TILES, XMX16_PARTS);
