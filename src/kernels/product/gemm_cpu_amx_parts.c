/* The matrix product in f32 by the matrix engine AMX: each number is the sum of two or three bf16 numbers, its parts. B is
 * packed, then one launch computes blocks of C. See cl_kernels/product/gemm_cpu_amx_parts.cl. */
#include "base/integers.h"
#include "cl/matrix_engine.h"
#include "kernels/cost.h"
#include "kernels/product/gemm_shared.h"
#include "ops/op_table.h"

/* PARTS: the parts of a number. DEPTH: after this many steps of k the sums are stored in private memory, so that the parts of 32
 * rows of A (32 KB) stay in the first-level cache. STRIP, SPAN: the most rows and columns of a work-item, so that its part of B
 * (512 KB) and its sums (512 KB) stay in the second-level cache. */
enum { PARTS, DEPTH, STRIP, SPAN };

static const char *const parameters[] = {[PARTS] = "WEFT_PARTS",
    [DEPTH] = "WEFT_PARTS_DEPTH",
    [STRIP] = "WEFT_PARTS_STRIP",
    [SPAN] = "WEFT_PARTS_SPAN",
    NULL};

static const wi_variant variants[] = {{"three", {[PARTS] = 2, [DEPTH] = 256, [STRIP] = 256, [SPAN] = 512}},
    {"six", {[PARTS] = 3, [DEPTH] = 160, [STRIP] = 256, [SPAN] = 512}}, {0}};

/* Rows, columns or steps of k of a block. */
enum { BLOCK = 32 };

/* Seconds of splitting the numbers of a block into parts: with contiguous rows, with contiguous columns, and with neither. */
static const double split_seconds[] = {120e-9, 200e-9, 6e-6};
static const double item_seconds = 1.5e-6, build_seconds = 1.2;

static int products_of(const int *p) {
    return p[PARTS] == 2 ? 3 : 6;
}

/* With AVX-512 BF16 instead of AMX, three products of parts take longer than f32 multiply-adds, and six are less exact. */
static bool accepts(const wi_kernel_site *site) {
    if (site->device->engines & WI_ENGINE_AVX512_BF16) return false;
    const weft_matmul_precision asked =
        site->values[PARTS] == 2 ? WEFT_MATMUL_PRECISION_HIGH : WEFT_MATMUL_PRECISION_HIGHEST;
    return site->products == asked && wi_gemm_fits_int(site->product) && site->product->k > 0;
}

static double splitting(int64_t near, int64_t other) {
    return split_seconds[near == 1 ? 0 : other == 1 ? 1 : 2];
}

typedef struct wi_cut {
    int64_t strip, strips, span, spans; /* in blocks */
} wi_cut;

/* Divides C into strips and spans of equal sizes that keep the units about equally busy. */
static wi_cut cut_of(const wi_gemm_shape *s, const int *p, const wi_device_profile *device) {
    const int64_t rows = wi_divide_up(s->m, BLOCK), panels = wi_divide_up(s->n, BLOCK);
    int64_t strips = wi_divide_up(s->m, p[STRIP]), spans = wi_divide_up(s->n, p[SPAN]);
    while (strips * spans * s->batch % device->units != 0 && strips < rows) strips++;
    const int64_t strip = wi_divide_up(rows, strips), span = wi_divide_up(panels, spans);
    return (wi_cut){strip, wi_divide_up(rows, strip), span, wi_divide_up(panels, span)};
}

static double cost(const wi_kernel_site *site) {
    const wi_gemm_shape *const s = site->product;
    const wi_device_profile *const device = site->device;
    const wi_cut cut = cut_of(s, site->values, device);
    const double multiply = products_of(site->values) * 2.0 * BLOCK * BLOCK * BLOCK / device->peak_engine;
    const double blocks = (double)wi_divide_up(s->k, BLOCK), units = (double)device->units;
    const double rounds = (double)wi_divide_up(cut.strips * cut.spans * s->batch, device->units);
    const double item = item_seconds + blocks * (double)cut.strip *
                                           ((double)cut.span * multiply + splitting(s->a_column, s->a_row));
    const double packing =
        blocks * (double)(wi_divide_up(s->n, BLOCK) * s->batch) * splitting(s->b_column, s->b_row) / units;
    const double b = wi_gemm_bytes(s, WI_GEMM_B);
    return 2.0 * (device->launch_seconds + device->wake_seconds) + wi_build_fraction(device, build_seconds) +
           packing + rounds * item +
           wi_traffic_seconds(
               device, (1.0 + site->values[PARTS]) * b, wi_gemm_bytes(s, WI_GEMM_A | WI_GEMM_C));
}

static double margin(const wi_kernel_site *site) {
    return site->values[PARTS] > 2 ? wi_gemm_six_margin : 1.0;
}

static void pack(const wi_gemm_shape *s, const int *p, wi_kernel_plan *plan) {
    const int64_t panels = wi_divide_up(s->n, BLOCK), blocks = wi_divide_up(s->k, BLOCK);
    const int64_t stretches = wi_divide_up(s->k, p[DEPTH]);
    const size_t words = (size_t)(blocks * p[PARTS] * BLOCK * BLOCK) * sizeof(uint16_t);
    plan->scratch_bytes = (size_t)(s->batch * panels) * (words + (size_t)stretches * 2 * sizeof(float));
    wi_kernel_launch *const launch = wi_kernel_launch_3d(plan, "pack", panels, stretches, s->batch);
    wi_kernel_input(launch, 1);
    wi_kernel_scratch(launch, 0);
    wi_kernel_ints(launch, WI_KERNEL_NUMBERS(s->n, s->k));
    wi_kernel_longs(launch, WI_KERNEL_NUMBERS(s->b_batch, s->b_row, s->b_column));
}

static weft_status prepare(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_gemm_shape *const s = site->product;
    const wi_cut cut = cut_of(s, site->values, site->device);
    pack(s, site->values, plan);
    wi_kernel_launch *const launch = wi_gemm_launch_items(plan, "tiles", cut.strips, cut.spans, s->batch);
    wi_kernel_scratch(launch, 0);
    wi_kernel_ints(launch, WI_KERNEL_NUMBERS(s->m, s->n, s->k, cut.strip * BLOCK, cut.span));
    wi_gemm_add_strides(launch, s);
    wi_gemm_amx_macros(plan, s);
    return WEFT_OK;
}

static const char *const headers[] = {"amx.clh", NULL};
static const wi_formats formats[] = {{WEFT_F32, WEFT_F32, WEFT_F32}};

const wi_implementation wi_gemm_cpu_amx_parts = {.name = "cpu_amx_parts",
    .ops = {&wi_op_matmul},
    .formats = formats,
    .format_count = 1,
    .needs = {.classes = WI_ON_CPU, .engines = WI_ENGINE_AMX_BF16},
    .file = "gemm_cpu_amx_parts.cl",
    .headers = headers,
    .parameters = parameters,
    .variants = variants,
    .accepts = accepts,
    .cost = cost,
    .margin = margin,
    .prepare = prepare};
