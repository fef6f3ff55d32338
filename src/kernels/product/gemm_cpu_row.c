/* The matrix product on class cpu where A has one row: B is read once, at the speed of memory. See
 * cl_kernels/product/gemm_cpu_row.cl. */
#include "base/integers.h"
#include "cl/quirks.h"
#include "kernels/cost.h"
#include "kernels/product/gemm_shared.h"
#include "ops/op_table.h"
#include <math.h>

/* SPAN: the most columns of a work-item. DEPTH: rows of B that are read at a time. ITEM: operations that each work-item costs
 * besides its multiply-adds. */
enum { SPAN, DEPTH };
enum { ITEM = 1 << 17 };

static const char *const parameters[] = {[SPAN] = "WEFT_ROW_SPAN", [DEPTH] = "WEFT_ROW_DEPTH", NULL};

static const wi_variant variants[] = {{"f32", {[SPAN] = 2048, [DEPTH] = 8}}, {0}};

static bool accepts(const wi_kernel_site *site) {
    const wi_gemm_shape *const shape = site->product;
    return wi_gemm_fits_int(shape) && shape->m == 1 &&
           (shape->b_column == 1 ? shape->n >= 16 : shape->b_row == 1 && shape->a_column == 1);
}

/* The columns of a work-item. There are several items per unit, so that no unit waits long for a slower one, but fewer if the
 * rows of B are contiguous, because long pieces of rows are read faster. */
static int64_t span_of(const wi_kernel_site *site) {
    const wi_gemm_shape *const shape = site->product;
    const bool rows = shape->b_column == 1;
    const int64_t items = site->device->units * (rows ? 4 : 8), unit = rows ? 64 : 16;
    const int64_t span = wi_divide_up(wi_divide_up(shape->n * shape->batch, items), unit) * unit;
    return wi_min64(span, site->values[SPAN]);
}

/* Loads and prefetches take four times as long as the multiply-adds. */
static double cost(const wi_kernel_site *site) {
    const wi_gemm_shape *const shape = site->product;
    const double columns = (double)(wi_divide_up(shape->n, 16) * 16);
    const double items = (double)shape->batch * ceil((double)shape->n / (double)span_of(site));
    return wi_work_seconds(site->device,
        &(wi_work){.operations = 4.0 * 2.0 * (double)shape->batch * columns * (double)shape->k + items * ITEM,
            .bytes = wi_gemm_bytes(shape, WI_GEMM_ABC),
            .groups = items,
            .launches = 1,
            .build_seconds = 0.1});
}

static weft_status prepare(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const bool rows = site->product->b_column == 1;
    wi_gemm_launch_spans(plan, rows ? "row" : "dots", site->product, span_of(site));
    wi_kernel_macro_int(plan, "WEFT_ROW_ROWS", rows);
    return WEFT_OK;
}

const wi_implementation wi_gemm_cpu_row = {.name = "cpu_row",
    .ops = {&wi_op_matmul},
    WI_GEMM_FORMATS,
    .needs = {.classes = WI_ON_CPU, .without = WI_QUIRK_SCALAR_COMPILER},
    .file = "gemm_cpu_row.cl",
    .parameters = parameters,
    .variants = variants,
    .accepts = accepts,
    .cost = cost,
    .prepare = prepare};
