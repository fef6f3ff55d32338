/* Matrix products by the matrix engines of GPUs: two templates for all of them, two files of words for each. See
 * cl_kernels/product/gemm_engine_gpu.cl, of 16-bit factors, and gemm_engine_parts_gpu.cl, of f32 factors that are sums of two bf16
 * numbers. */
#include "base/integers.h"
#include "cl/matrix_engine.h"
#include "kernels/cost.h"
#include "kernels/product/gemm_list.h"
#include "ops/op_table.h"

/* Sub-groups of a work-group down and across its tile; fragments of a sub-group, down and across; steps of k that are in
 * local memory at once. What an engine's instruction takes stands in its first file, too, which the compiler compares:
 * lanes of a sub-group, rows and columns of a fragment. PARTS: of a number. */
enum { WARPS_DOWN, WARPS_ACROSS, DOWN, ACROSS, STEP, LANES, ROWS, COLUMNS, PARTS };

static const char *const parameters[] = {[WARPS_DOWN] = "WEFT_ENGINE_WARPS_DOWN",
    [WARPS_ACROSS] = "WEFT_ENGINE_WARPS_ACROSS",
    [DOWN] = "WEFT_ENGINE_DOWN",
    [ACROSS] = "WEFT_ENGINE_ACROSS",
    [STEP] = "WEFT_ENGINE_STEP",
    [LANES] = "WEFT_ENGINE_LANES",
    [ROWS] = "WEFT_ENGINE_ROWS",
    [COLUMNS] = "WEFT_ENGINE_COLUMNS",
    [PARTS] = "WEFT_ENGINE_PARTS",
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

static bool accepts(const wi_kernel_site *site) {
    return wi_gemm_fits_int(site->product);
}

static bool accepts_parts(const wi_kernel_site *site) {
    return site->products == WEFT_MATMUL_PRECISION_HIGH && wi_gemm_fits_int(site->product) &&
           site->product->k > 0;
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
static double cost(const wi_kernel_site *site) {
    const wi_gemm_shape *const shape = site->product;
    const int *const p = site->values;
    const double rows = (double)(wi_divide_up(shape->m, height(p)) * height(p));
    const double columns = (double)(wi_divide_up(shape->n, width(p)) * width(p));
    const double waits = 1.0 + 32.0 / (double)height(p) + 32.0 / (double)width(p);
    const double slower = site->device->peak_f32 / site->device->peak_engine;
    const double operations = products_of(p) * 2.0 * (double)shape->batch * rows * columns * (double)shape->k;
    return wi_work_seconds(
        site->device, &(wi_work){.operations = operations * waits * slower,
                          .bytes = bytes_of(site),
                          .groups = (double)shape->batch * rows * columns / (double)(height(p) * width(p)),
                          .launches = 1,
                          .build_seconds = 0.5});
}

/* The format of the factors: that of both operands, or what they may be rounded to. */
static const char *format_of(const wi_kernel_site *site) {
    const bool both = site->formats[0] == WEFT_F16 && site->formats[1] == WEFT_F16;
    return wi_format_of(both || site->precision == WEFT_F16 ? WEFT_F16 : WEFT_BF16)->name;
}

static void launch(const wi_kernel_site *site, const char *suffix, wi_kernel_plan *plan) {
    const wi_gemm_shape *const shape = site->product;
    const int *const p = site->values;
    const size_t global[] = {(size_t)wi_divide_up(shape->n, width(p)) * group(p),
        (size_t)wi_divide_up(shape->m, height(p)), (size_t)shape->batch},
                 local[] = {group(p), 1, 1};
    wi_kernel_launch *const launch = wi_gemm_launch(plan, suffix, global, local);
    wi_kernel_ints(launch, WI_KERNEL_NUMBERS(shape->m, shape->n, shape->k));
    wi_gemm_add_strides(launch, shape);
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

/* A record for an engine: its bit, the files of its words, and how its instruction cuts a product. */
#define ENGINE(identifier, spelling, engine, layout, words, ...)                                             \
    static const char *const identifier##_headers[] = {layout, words, NULL};                                 \
    static const wi_variant identifier##_variants[] = {__VA_ARGS__, {0}};                                    \
    const wi_implementation identifier = {                                                                   \
        RECORD(spelling, engine, "gemm_engine_gpu.cl", identifier, formats),                                 \
        .variants = identifier##_variants, .accepts = accepts, .prepare = prepare}
/* The one for products from parts beside it. */
#define ENGINE_PARTS(identifier, spelling, engine, ...)                                                      \
    static const wi_variant identifier##_parts_variants[] = {__VA_ARGS__, {0}};                              \
    const wi_implementation identifier##_parts = {                                                           \
        RECORD(spelling, engine, "gemm_engine_parts_gpu.cl", identifier, whole),                             \
        .variants = identifier##_parts_variants, .accepts = accepts_parts, .prepare = prepare_parts}
#define TILE(down, across, fragments_down, fragments_across, step)                                           \
    [WARPS_DOWN] = (down), [WARPS_ACROSS] = (across), [DOWN] = (fragments_down),                             \
    [ACROSS] = (fragments_across), [STEP] = (step), [PARTS] = 1
#define PARTS_TILE(down, across, fragments_down, fragments_across, step)                                     \
    [WARPS_DOWN] = (down), [WARPS_ACROSS] = (across), [DOWN] = (fragments_down),                             \
    [ACROSS] = (fragments_across), [STEP] = (step), [PARTS] = 2

#define MMA [LANES] = 32, [ROWS] = 16, [COLUMNS] = 8
ENGINE(wi_gemm_mma, "gpu_mma", WI_ENGINE_MMA, "mma.clh", "mma_instruction.clh",
    {"large", {TILE(2, 4, 4, 4, 32), MMA}}, {"small", {TILE(2, 2, 2, 4, 32), MMA}});
ENGINE_PARTS(wi_gemm_mma, "gpu_mma_parts", WI_ENGINE_MMA, {"large", {PARTS_TILE(2, 4, 4, 4, 32), MMA}},
    {"small", {PARTS_TILE(2, 2, 2, 4, 32), MMA}});

#define WMMA [LANES] = 32, [ROWS] = 16, [COLUMNS] = 16
ENGINE(wi_gemm_wmma, "gpu_wmma", WI_ENGINE_WMMA, "wmma.clh", "wmma_instruction.clh",
    {"large", {TILE(2, 4, 4, 2, 32), WMMA}}, {"small", {TILE(2, 2, 2, 2, 32), WMMA}});
ENGINE_PARTS(wi_gemm_wmma, "gpu_wmma_parts", WI_ENGINE_WMMA, {"large", {PARTS_TILE(4, 4, 2, 2, 32), WMMA}},
    {"small", {PARTS_TILE(2, 2, 2, 2, 32), WMMA}});
ENGINE(wi_gemm_wmma12, "gpu_wmma12", WI_ENGINE_WMMA12, "wmma12.clh", "wmma12_instruction.clh",
    {"large", {TILE(2, 4, 4, 2, 32), WMMA}}, {"small", {TILE(2, 2, 2, 2, 32), WMMA}});
ENGINE_PARTS(wi_gemm_wmma12, "gpu_wmma12_parts", WI_ENGINE_WMMA12,
    {"large", {PARTS_TILE(4, 4, 2, 2, 32), WMMA}}, {"small", {PARTS_TILE(2, 2, 2, 2, 32), WMMA}});

#define MFMA [LANES] = 64, [ROWS] = 32, [COLUMNS] = 32
ENGINE(wi_gemm_mfma, "gpu_mfma", WI_ENGINE_MFMA, "mfma.clh", "mfma_instruction.clh",
    {"large", {TILE(2, 2, 2, 2, 32), MFMA}}, {"small", {TILE(2, 2, 1, 1, 32), MFMA}});
ENGINE_PARTS(wi_gemm_mfma, "gpu_mfma_parts", WI_ENGINE_MFMA, {"large", {PARTS_TILE(2, 4, 2, 1, 32), MFMA}},
    {"small", {PARTS_TILE(2, 2, 1, 1, 32), MFMA}});

/* Registers of a thread are 128 words of a lane: 32 sums, with 32 words of fragments and what is on its way. */
#define XMX8 [LANES] = 8, [ROWS] = 8, [COLUMNS] = 8
ENGINE(wi_gemm_xmx8, "gpu_xmx8", WI_ENGINE_XMX8, "xmx8.clh", "xmx8_instruction.clh",
    {"large", {TILE(8, 4, 2, 2, 32), XMX8}}, {"small", {TILE(4, 4, 2, 2, 32), XMX8}});
ENGINE_PARTS(wi_gemm_xmx8, "gpu_xmx8_parts", WI_ENGINE_XMX8, {"small", {PARTS_TILE(4, 8, 2, 1, 32), XMX8}});

#define XMX16 [LANES] = 16, [ROWS] = 8, [COLUMNS] = 16
ENGINE(wi_gemm_xmx16, "gpu_xmx16", WI_ENGINE_XMX16, "xmx16.clh", "xmx16_instruction.clh",
    {"large", {TILE(8, 4, 2, 2, 32), XMX16}}, {"small", {TILE(4, 2, 2, 2, 32), XMX16}});
ENGINE_PARTS(
    wi_gemm_xmx16, "gpu_xmx16_parts", WI_ENGINE_XMX16, {"small", {PARTS_TILE(4, 4, 2, 1, 32), XMX16}});
