/* The matrix product on class cpu where A has few rows and B is large: B is not packed, and read once. See
 * cl_kernels/product/gemm_cpu_thin.cl. */
#include "base/integers.h"
#include "cl/quirks.h"
#include "kernels/cost.h"
#include "kernels/product/gemm_shared.h"
#include "ops/op_table.h"
#include <math.h>

/* MOST: the most rows of A. COLUMNS: the width of a panel of B, in vectors of 16 columns if the rows of B are contiguous,
 * otherwise in columns. SUMS: the most panels of a work-item. DEPTH: steps of k for which A is copied at a time. BLOCK: steps of
 * k between loads of the sums, if the rows of B are contiguous. ITEM: operations that each work-item costs besides its
 * multiply-adds. */
enum { MOST, SUMS, COLUMNS, DEPTH, BLOCK };
enum { ITEM = 1 << 18 };

static const char *const parameters[] = {[MOST] = "WEFT_THIN_MOST",
    [SUMS] = "WEFT_THIN_SUMS",
    [COLUMNS] = "WEFT_THIN_COLUMNS",
    [DEPTH] = "WEFT_THIN_DEPTH",
    [BLOCK] = "WEFT_THIN_BLOCK",
    NULL};

static const wi_variant variants[] = {
    {"f32", {[MOST] = 64, [SUMS] = 16, [COLUMNS] = 6, [DEPTH] = 512, [BLOCK] = 16}}, {0}};

static int64_t panel_of(const int *p) {
    return 16 * p[COLUMNS];
}

static bool accepts(const wi_kernel_site *site) {
    const wi_gemm_shape *const shape = site->product;
    return wi_gemm_fits_int(shape) && shape->m <= site->values[MOST] &&
           (shape->b_column == 1 ? shape->n >= panel_of(site->values) : shape->b_row == 1);
}

/* Columns of a work-item: several items per unit, so that no unit waits for a slower one. */
static int64_t span_of(const wi_kernel_site *site) {
    const wi_gemm_shape *const shape = site->product;
    const int64_t panel = panel_of(site->values);
    const int64_t most = shape->b_column == 1 ? 5 : site->values[SUMS] / 16;
    const int64_t panels = shape->n * shape->batch / (panel * site->device->units * 8);
    return wi_max64(1, wi_min64(panels, most)) * panel;
}

/* Four rows at a time are multiplied, at about half of the peak. B is read once, and few multiplications wait for this. Each item
 * copies A. */
static double cost(const wi_kernel_site *site) {
    const wi_gemm_shape *const shape = site->product;
    const wi_device_profile *const device = site->device;
    const double rows = (double)wi_divide_up(shape->m, 4) * 4.0, k = (double)shape->k;
    const int64_t wide = shape->b_column == 1 ? panel_of(site->values) : site->values[COLUMNS];
    const double columns = (double)(wi_divide_up(shape->n, wide) * wide);
    const double items = (double)shape->batch * ceil((double)shape->n / (double)span_of(site));
    const double copied = items * (rows * k * (shape->a_column == 1 ? 4.0 : 64.0) + ITEM);
    return wi_work_seconds(
        device, &(wi_work){.operations = 1.8 * 2.0 * (double)shape->batch * rows * columns * k + copied,
                    .bytes = wi_gemm_bytes(shape, WI_GEMM_ABC),
                    .groups = items,
                    .launches = 1,
                    .build_seconds = 0.33});
}

static weft_status prepare(const wi_kernel_site *site, wi_kernel_plan *plan) {
    wi_gemm_launch_spans(plan, "thin", site->product, span_of(site));
    wi_kernel_macro_int(plan, "WEFT_THIN_ROWS", site->product->b_column == 1);
    return WEFT_OK;
}

const wi_implementation wi_gemm_cpu_thin = {.name = "cpu_thin",
    .ops = {&wi_op_matmul},
    WI_GEMM_FORMATS,
    .needs = {.classes = WI_ON_CPU, .without = WI_QUIRK_SCALAR_COMPILER},
    .file = "gemm_cpu_thin.cl",
    .parameters = parameters,
    .variants = variants,
    .accepts = accepts,
    .cost = cost,
    .prepare = prepare};
