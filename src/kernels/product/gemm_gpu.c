/* The matrix product on gpu-class devices: tiles in local memory. See cl_kernels/gemm_gpu.cl. */
#include "base/integers.h"
#include "cl/quirks.h"
#include "kernels/cost.h"
#include "kernels/product/gemm_list.h"
#include "ops/op_table.h"
#include <stdlib.h>

/* A work-group of DOWN x ACROSS items has a tile of ROWS x COLUMNS elements an item, multiples of 4, and walks k in blocks
 * of STEP. */
enum { DOWN, ACROSS, ROWS, COLUMNS, STEP };

static const char *const parameters[] = {[DOWN] = "WEFT_GEMM_DOWN",
    [ACROSS] = "WEFT_GEMM_ACROSS",
    [ROWS] = "WEFT_GEMM_ROWS",
    [COLUMNS] = "WEFT_GEMM_COLUMNS",
    [STEP] = "WEFT_GEMM_STEP",
    NULL};

#define TILE(down, across, rows, columns, step)                                                              \
    { [DOWN] = (down), [ACROSS] = (across), [ROWS] = (rows), [COLUMNS] = (columns), [STEP] = (step) }
static const wi_variant variants[] = {{"large", TILE(16, 16, 8, 8, 8)}, {"tall", TILE(16, 16, 8, 4, 8)},
    {"medium", TILE(16, 16, 4, 4, 16)}, {"flat", TILE(4, 16, 4, 4, 16)}, {0}};

/* For devices whose groups or local memory suit other tiles. */
static const wi_variant tuned_variants[] = {
    {"few", TILE(8, 8, 8, 8, 8)}, {"deep", TILE(16, 16, 8, 8, 16)}, {"low", TILE(8, 16, 4, 8, 8)}, {0}};

static int64_t height(const int *p) {
    return (int64_t)p[DOWN] * p[ROWS];
}

static int64_t width(const int *p) {
    return (int64_t)p[ACROSS] * p[COLUMNS];
}

/* Of A and of B two blocks of numbers, a step of k with a quad more. */
static wi_limits limits(const int *p) {
    const int64_t numbers = 2 * p[STEP] * (height(p) + width(p) + 8);
    return (wi_limits){.group = (size_t)(p[DOWN] * p[ACROSS]),
        .items = {(size_t)p[ACROSS], (size_t)p[DOWN]},
        .local_bytes = (size_t)numbers * sizeof(float)};
}

/* Offsets within a block are ints, and bytes of them unsigned ones. */
static bool fits_int(const wi_gemm_shape *shape, const int *p) {
    const int64_t most = INT32_MAX / (int64_t)sizeof(float);
    return height(p) * llabs(shape->a_row) + p[STEP] * llabs(shape->a_column) <= most &&
           width(p) * llabs(shape->b_column) + p[STEP] * llabs(shape->b_row) <= most;
}

static bool fits_registers(const wi_device_profile *device, const int *p) {
    return !(device->quirks & WI_QUIRK_FEW_REGISTERS) || p[ROWS] * p[COLUMNS] <= 32;
}

static bool accepts(const wi_kernel_site *site) {
    return wi_gemm_fits_int(site->product) && fits_int(site->product, site->values) &&
           fits_registers(site->device, site->values);
}

/* The part of the arithmetic units' time that reads of local memory leave: an item reads a quad for each 4 rows and for each
 * 4 columns, and multiplies them all. */
static double useful_part(const int *p) {
    const double results = p[ROWS] * p[COLUMNS], quads = (p[ROWS] + p[COLUMNS]) / 4.0;
    return results / (results + 4.0 * quads + 8.0);
}

static double cost(const wi_kernel_site *site) {
    const wi_gemm_shape *const shape = site->product;
    const int *const p = site->values;
    const double tiles = (double)shape->batch * (double)wi_divide_up(shape->m, height(p)) *
                         (double)wi_divide_up(shape->n, width(p));
    const double multiplications = tiles * (double)(height(p) * width(p)) * (double)shape->k;
    return wi_work_seconds(site->device, &(wi_work){.operations = 2.0 * multiplications / useful_part(p),
                                             .bytes = wi_gemm_bytes(shape, WI_GEMM_ABC),
                                             .groups = tiles,
                                             .launches = 1,
                                             .build_seconds = 0.3});
}

static weft_status prepare(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_gemm_shape *const shape = site->product;
    const int *const p = site->values;
    const size_t local[] = {(size_t)p[ACROSS], (size_t)p[DOWN], 1};
    const size_t global[] = {(size_t)wi_divide_up(shape->n, width(p)) * local[0],
        (size_t)wi_divide_up(shape->m, height(p)) * local[1], (size_t)shape->batch};
    wi_kernel_launch *const launch = wi_gemm_launch(plan, "tiles", global, local);
    wi_kernel_ints(launch, WI_KERNEL_NUMBERS(shape->m, shape->n, shape->k));
    wi_gemm_add_strides(launch, shape);
    return WEFT_OK;
}

const wi_implementation wi_gemm_gpu = {.name = "gpu_tiled",
    .ops = {&wi_op_matmul},
    WI_GEMM_FORMATS,
    .needs = {.classes = WI_ON_GPU, .limits = limits},
    .file = "gemm_gpu.cl",
    .parameters = parameters,
    .variants = variants,
    .tuned_variants = tuned_variants,
    .accepts = accepts,
    .cost = cost,
    .prepare = prepare};
