/* The matrix product on gpu-class devices: tiles in local memory. See cl_kernels/gemm_gpu.cl. */
#include "base/integers.h"
#include "kernels/cost.h"
#include "kernels/product/gemm_list.h"
#include "kernels/product/gemm_tile_gpu.h"
#include "ops/op_table.h"
#include <stdlib.h>

static const char *const parameters[] = {WI_TILE_NAMES, NULL};

static const wi_variant variants[] = {{"large", {16, 16, 8, 8, 8}}, {"tall", {16, 16, 8, 4, 8}},
    {"medium", {16, 16, 4, 4, 16}}, {"flat", {4, 16, 4, 4, 16}}, {0}};

/* For devices whose groups or local memory suit other tiles. */
static const wi_variant tuned_variants[] = {
    {"few", {8, 8, 8, 8, 8}}, {"deep", {16, 16, 8, 8, 16}}, {"low", {8, 16, 4, 8, 8}}, {0}};

/* Offsets within a block are ints, and bytes of them unsigned ones. */
static bool fits_int(const wi_gemm_shape *shape, const int *p) {
    const int64_t most = INT32_MAX / (int64_t)sizeof(float);
    return wi_tile_height(p) * llabs(shape->a_row) + p[WI_TILE_STEP] * llabs(shape->a_column) <= most &&
           wi_tile_width(p) * llabs(shape->b_column) + p[WI_TILE_STEP] * llabs(shape->b_row) <= most;
}

static bool accepts(const wi_kernel_site *site) {
    return wi_gemm_fits_int(site->product) && fits_int(site->product, site->values) &&
           wi_tile_fits_registers(site->device, site->values);
}

static double cost(const wi_kernel_site *site) {
    const wi_gemm_shape *const shape = site->product;
    const int *const p = site->values;
    const double tiles = (double)shape->batch * (double)wi_divide_up(shape->m, wi_tile_height(p)) *
                         (double)wi_divide_up(shape->n, wi_tile_width(p));
    const double multiplications = tiles * (double)(wi_tile_height(p) * wi_tile_width(p)) * (double)shape->k;
    return wi_work_seconds(
        site->device, &(wi_work){.operations = 2.0 * multiplications / wi_tile_useful_part(p),
                          .bytes = wi_gemm_bytes(shape, WI_GEMM_ABC),
                          .groups = tiles,
                          .launches = 1,
                          .build_seconds = 0.3});
}

static weft_status prepare(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_gemm_shape *const shape = site->product;
    const int *const p = site->values;
    const int64_t row_tiles = wi_divide_up(shape->m, wi_tile_height(p));
    size_t local[3];
    wi_tile_group(p, local);
    const size_t global[] = {(size_t)wi_divide_up(shape->n, wi_tile_width(p)) * local[0],
        (size_t)row_tiles * local[1], (size_t)shape->batch};
    wi_kernel_launch *const launch = wi_gemm_launch(plan, "tiles", global, local);
    wi_kernel_ints(launch, WI_KERNEL_NUMBERS(shape->m, shape->n, shape->k));
    wi_gemm_add_strides(launch, shape);
    wi_kernel_int(launch, row_tiles);
    plan->sum_splits = (int)(shape->batch * row_tiles);
    return WEFT_OK;
}

const wi_implementation wi_gemm_gpu = {.name = "gpu_tiled",
    .ops = {&wi_op_matmul},
    WI_GEMM_FORMATS,
    .needs = {.classes = WI_ON_GPU, .limits = wi_tile_limits},
    .file = "gemm_gpu.cl",
    .headers = wi_tile_headers,
    .sums = true,
    .parameters = parameters,
    .variants = variants,
    .tuned_variants = tuned_variants,
    .accepts = accepts,
    .cost = cost,
    .prepare = prepare};
