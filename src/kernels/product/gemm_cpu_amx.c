/* The matrix product in bf16 by the matrix engine AMX: one factor is packed, then one launch computes blocks of C. See
 * cl_kernels/product/gemm_cpu_amx.cl. */
#include "base/integers.h"
#include "cl/matrix_engine.h"
#include "kernels/cost.h"
#include "kernels/product/gemm_shared.h"
#include "ops/op_table.h"
#include <math.h>

/* DEPTH: after this many steps of k the sums are stored in private memory, so that the rows of A for two tiles (32 KB) stay in
 * the first-level cache. STRIP, SPAN: the most rows and columns of a work-item, so that its part of B (512 KB), its sums (512 KB)
 * and, if it copies a whole strip of A, this copy (256 KB) stay in the second-level cache. SWAP: 1 if A is packed instead of B,
 * and the kernel computes the transpose of C. SIDE: rows and columns of a block, which are those of two tiles of the engine. */
enum { DEPTH, STRIP, SPAN, SWAP, SIDE };

static const char *const parameters[] = {[DEPTH] = "WEFT_AMX_DEPTH",
    [STRIP] = "WEFT_AMX_STRIP",
    [SPAN] = "WEFT_AMX_SPAN",
    [SWAP] = "WEFT_AMX_SWAP",
    [SIDE] = "WEFT_AMX_SIDE",
    NULL};

/* BLOCK: rows, columns or steps of k of a block. PACK_PANELS: panels that a work-item packs. */
enum { BLOCK = 32, PACK_PANELS = 8 };

static const wi_variant variants[] = {{"right", {[DEPTH] = 512, [STRIP] = 256, [SPAN] = 512, [SIDE] = BLOCK}},
    {"left", {[DEPTH] = 512, [STRIP] = 256, [SPAN] = 512, [SWAP] = 1, [SIDE] = BLOCK}}, {0}};

/* Seconds of copying or packing a block: with contiguous rows, with contiguous columns, and with neither. */
static const double copy_seconds[] = {12e-9, 50e-9, 2e-6};
static const double item_seconds = 1.5e-6, build_seconds = 0.6;

/* How C is divided: a work-item computes `strip` blocks of rows and `span` panels. */
typedef struct wi_cut {
    int64_t strip, strips, span, spans;
} wi_cut;

/* The product that the kernel computes, of a left matrix, which is read where it is, and a right matrix, which is packed. */
static wi_gemm_shape view_of(const wi_gemm_shape *shape, const int *p) {
    return p[SWAP] ? wi_gemm_transpose_of(shape) : *shape;
}

static double copying(int64_t near, int64_t other) {
    return copy_seconds[near == 1 ? 0 : other == 1 ? 1 : 2];
}

static double cut_cost(const wi_gemm_shape *shape, wi_cut cut, const wi_device_profile *device) {
    const int64_t items = cut.strips * cut.spans * shape->batch;
    const double multiply = 2.0 * BLOCK * BLOCK * BLOCK / device->peak_engine;
    const double blocks = (double)wi_divide_up(shape->k, BLOCK) * (double)cut.strip;
    const double item =
        item_seconds + blocks * ((double)cut.span * multiply + copying(shape->a_column, shape->a_row));
    return (double)wi_divide_up(items, device->units) * item;
}

static wi_cut cut_into(int64_t rows, int64_t strips, int64_t panels, int64_t spans) {
    const int64_t strip = wi_divide_up(rows, strips), span = wi_divide_up(panels, spans);
    return (wi_cut){strip, wi_divide_up(rows, strip), span, wi_divide_up(panels, span)};
}

/* Tries divisions that keep the units about equally busy. */
static wi_cut best_cut(const wi_gemm_shape *shape, const int *p, const wi_device_profile *device) {
    const int64_t rows = wi_divide_up(shape->m, BLOCK), panels = wi_divide_up(shape->n, BLOCK);
    const int64_t strips = wi_divide_up(rows, p[STRIP] / BLOCK),
                  spans = wi_divide_up(panels, p[SPAN] / BLOCK);
    wi_cut best = cut_into(rows, strips, panels, spans);
    double least = cut_cost(shape, best, device);
    for (int64_t i = strips; i <= rows && i <= strips + 2 * device->units; i++) {
        for (int64_t j = spans; j <= panels && j <= spans + 2 * device->units; j++) {
            const wi_cut next = cut_into(rows, i, panels, j);
            const double seconds = cut_cost(shape, next, device);
            if (seconds >= least) continue;
            best = next;
            least = seconds;
        }
    }
    return best;
}

static bool accepts(const wi_kernel_site *site) {
    return wi_gemm_fits_int(site->product) && site->product->k > 0;
}

/* Bytes of operand 0 or 1 as it is stored. */
static double operand_bytes(const wi_kernel_site *site, int operand) {
    const double f32 = wi_gemm_bytes(site->product, operand == 0 ? WI_GEMM_A : WI_GEMM_B);
    return f32 / (double)sizeof(float) * (double)weft_dtype_size(site->formats[operand]);
}

/* The right matrix is read, written as bf16 panels, and read again; C is counted as f32. */
static double cost(const wi_kernel_site *site) {
    const wi_gemm_shape view = view_of(site->product, site->values), *const shape = &view;
    const wi_device_profile *const device = site->device;
    const wi_cut cut = best_cut(shape, site->values, device);
    const int right = site->values[SWAP] ? 0 : 1;
    const double packed = wi_gemm_bytes(shape, WI_GEMM_B) / (double)sizeof(float) * sizeof(uint16_t);
    const double others = operand_bytes(site, 1 - right) + wi_gemm_bytes(shape, WI_GEMM_C);
    const double blocks =
        (double)wi_divide_up(shape->n, BLOCK) * (double)wi_divide_up(shape->k, BLOCK) * (double)shape->batch;
    const double packing = blocks * copying(shape->b_column, shape->b_row) / (double)device->units;
    const bool fixed = site->fixed >> right & 1;
    const double packing_seconds =
        fixed ? wi_traffic_seconds(device, packed, others)
              : device->launch_seconds + device->wake_seconds + packing +
                    wi_traffic_seconds(device, operand_bytes(site, right) + 2.0 * packed, others);
    const double left = wi_traffic_seconds(device, operand_bytes(site, 1 - right), 0.0);
    return device->launch_seconds + device->wake_seconds + wi_build_fraction(device, build_seconds) +
           packing_seconds + fmax(left, cut_cost(shape, cut, device));
}

static void pack(const wi_gemm_shape *shape, const int *p, wi_kernel_plan *plan) {
    const int64_t panels = wi_divide_up(shape->n, BLOCK), blocks = wi_divide_up(shape->k, BLOCK);
    plan->scratch_bytes = (size_t)(shape->batch * panels * blocks) * BLOCK * BLOCK * sizeof(uint16_t);
    wi_kernel_launch *const launch = wi_kernel_launch_3d(
        plan, "pack", wi_divide_up(panels, PACK_PANELS), wi_divide_up(shape->k, p[DEPTH]), shape->batch);
    wi_kernel_input(launch, p[SWAP] ? 0 : 1);
    wi_kernel_scratch(launch, 0);
    wi_kernel_ints(launch, WI_KERNEL_NUMBERS(shape->n, shape->k, PACK_PANELS));
    wi_kernel_longs(launch, WI_KERNEL_NUMBERS(shape->b_batch, shape->b_row, shape->b_column));
    wi_kernel_packs(plan, p[SWAP] ? WI_GEMM_LEFT : WI_GEMM_RIGHT, plan->scratch_bytes);
}

static weft_status prepare(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_gemm_shape view = view_of(site->product, site->values), *const shape = &view;
    const wi_cut cut = best_cut(shape, site->values, site->device);
    pack(shape, site->values, plan);
    wi_kernel_launch *const launch = wi_kernel_launch_3d(plan, "tiles", cut.strips, cut.spans, shape->batch);
    launch->has_epilogue = true;
    wi_kernel_input(launch, site->values[SWAP] ? 1 : 0);
    wi_kernel_scratch(launch, 0);
    wi_kernel_ints(launch, WI_KERNEL_NUMBERS(shape->m, shape->n, shape->k, cut.strip * BLOCK, cut.span));
    wi_kernel_longs(launch, WI_KERNEL_NUMBERS(shape->a_batch, shape->a_row, shape->a_column));
    wi_gemm_amx_macros(plan, shape);
    return WEFT_OK;
}

static const char *const headers[] = {"amx.clh", NULL};

const wi_implementation wi_gemm_cpu_amx = {.name = "cpu_amx",
    .ops = {&wi_op_matmul},
    WI_AMX_FORMATS,
    .needs = {.classes = WI_ON_CPU, .engines = WI_ENGINE_AMX_BF16},
    .file = "gemm_cpu_amx.cl",
    .headers = headers,
    .parameters = parameters,
    .variants = variants,
    .accepts = accepts,
    .cost = cost,
    .prepare = prepare};
