/* Small matrix products on cpu-class devices: a kernel that is soon compiled. See
 * cl_kernels/gemm_cpu_small.cl. */
#include "base/integers.h"
#include "cl/quirks.h"
#include "kernels/product/gemm_list.h"
#include "ops/op_table.h"

/* ROWS of A are multiplied at once; k is at most DEPTH. */
enum { ROWS, DEPTH };

static const char *const parameters[] = {[ROWS] = "WEFT_SMALL_ROWS", [DEPTH] = "WEFT_SMALL_DEPTH", NULL};
static const wi_variant variants[] = {{"f32", {[ROWS] = 4, [DEPTH] = 512}}, {0}};

/* SMALL: multiply-adds up to which its plain copies cost little beside the launch. */
enum { COLUMNS = 16, SMALL = 1 << 20, WORTH_AN_ITEM = 1 << 17 };

static bool accepts(const wi_kernel_site *site) {
    const wi_gemm_shape *const shape = site->product;
    return wi_gemm_fits_int(shape) && shape->k <= site->values[DEPTH] &&
           (double)shape->batch * (double)shape->m * (double)shape->n * (double)shape->k <= SMALL;
}

static weft_status prepare(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_gemm_shape *const shape = site->product;
    const int *const p = site->values;
    const int64_t work = shape->batch * shape->m * shape->n * shape->k;
    const int64_t panels = wi_divide_up(shape->n, COLUMNS) * shape->batch,
                  tiles = wi_divide_up(shape->m, p[ROWS]);
    int64_t strips = wi_divide_up(wi_divide_up(work, WORTH_AN_ITEM), panels);
    if (strips > tiles) strips = tiles;
    const int64_t strip = wi_divide_up(tiles, strips) * p[ROWS];
    const size_t global[] = {(size_t)wi_divide_up(shape->m, strip), (size_t)wi_divide_up(shape->n, COLUMNS),
        (size_t)shape->batch},
                 local[] = {1, 1, 1};
    wi_kernel_launch *const launch = wi_gemm_launch(plan, "small", global, local);
    const int64_t sizes[] = {shape->m, shape->n, shape->k, strip};
    for (int i = 0; i < 4; i++) wi_kernel_int(launch, sizes[i]);
    wi_gemm_add_strides(launch, shape);
    return WEFT_OK;
}

const wi_implementation wi_gemm_cpu_small = {.name = "cpu_small",
    .ops = {&wi_op_matmul},
    WI_GEMM_FORMATS,
    .needs = {.classes = WI_ON_CPU, .without = WI_QUIRK_SCALAR_COMPILER},
    .file = "gemm_cpu_small.cl",
    .parameters = parameters,
    .variants = variants,
    .accepts = accepts,
    .prepare = prepare};
