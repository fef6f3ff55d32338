/* The matrix product on cpu-class devices where A has few rows and B is large: B is read once where it lies.
 * See cl_kernels/gemm_cpu_thin.cl. */
#include "base/integers.h"
#include "cl/quirks.h"
#include "kernels/product/gemm_list.h"
#include "ops/op_table.h"

/* MOST: rows of A; SUMS: panels of 16 * COLUMNS columns of B, where its rows are contiguous, or of COLUMNS of them,
 * that a work-item has at most; DEPTH: steps of k between copies of A; PART: of them between loads of the sums,
 * where rows of B are contiguous. */
enum { MOST, SUMS, COLUMNS, DEPTH, PART };

static const char *const parameters[] = {[MOST] = "WEFT_THIN_MOST",
    [SUMS] = "WEFT_THIN_SUMS",
    [COLUMNS] = "WEFT_THIN_COLUMNS",
    [DEPTH] = "WEFT_THIN_DEPTH",
    [PART] = "WEFT_THIN_PART",
    NULL};

static const wi_variant variants[] = {
    {"f32", {[MOST] = 64, [SUMS] = 16, [COLUMNS] = 6, [DEPTH] = 512, [PART] = 16}}, {0}};

static int64_t panel_of(const int *p) {
    return 16 * p[COLUMNS];
}

static bool accepts(const wi_kernel_site *site) {
    const wi_gemm_shape *const shape = site->product;
    return wi_gemm_fits_int(shape) && shape->m <= site->values[MOST] &&
           (shape->b_column == 1 ? shape->n >= panel_of(site->values) : shape->b_row == 1);
}

/* Where it is faster than packing B: measured with `weft bench gemm` on AVX-512 with 1 MiB of second-level
 * cache a core. Rows up to 16 wait for memory; more multiply long enough to pay for packing a small B, or one
 * whose rows lie pages apart. */
static bool pays(const wi_kernel_site *site) {
    const wi_gemm_shape *const shape = site->product;
    const int64_t size = shape->n * shape->k;
    if (shape->a_column != 1 || shape->k < 256) return false;
    if (shape->m <= 16) return size >= 1 << 17;
    return size >= 1 << 20 && shape->m <= (shape->b_column == 1 ? 32 : 48);
}

static weft_status prepare(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_gemm_shape *const shape = site->product;
    const int *const p = site->values;
    const bool rows = shape->b_column == 1;
    const int64_t units = site->device->units;
    /* Some items a unit, so that none waits for a slower one; as wide as they can be then. */
    const int64_t most = rows ? 5 : p[SUMS] / 16;
    int64_t panels = shape->n * shape->batch / (panel_of(p) * units * 8);
    if (panels > most) panels = most;
    if (panels < 1) panels = 1;
    const int64_t span = panels * panel_of(p);
    const size_t global[] = {(size_t)wi_divide_up(shape->n, span), (size_t)shape->batch, 1},
                 local[] = {1, 1, 1};
    wi_kernel_launch *const launch = wi_gemm_launch(plan, "thin", global, local);
    const int64_t sizes[] = {shape->m, shape->n, shape->k, span};
    for (int i = 0; i < 4; i++) wi_kernel_int(launch, sizes[i]);
    wi_gemm_add_strides(launch, shape);
    wi_kernel_macro_int(plan, "WEFT_THIN_ROWS", rows);
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
    .pays = pays,
    .prepare = prepare};
