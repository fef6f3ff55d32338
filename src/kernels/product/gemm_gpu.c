/* The matrix product on class gpu: tiles in local memory. A second record splits k, for results with fewer tiles than the device
 * has units. Two more records have tiles for 17 to 32 rows. See cl_kernels/product/gemm_gpu.cl. */
#include "base/integers.h"
#include "kernels/product/gemm_shared.h"
#include "kernels/product/gemm_splits.h"
#include "kernels/product/gemm_tile_gpu.h"
#include "ops/op_table.h"
#include <stdlib.h>

/* The parameter after those of the tile. SPLIT: is k split? */
enum { SPLIT = WI_TILE_PARAMETERS };

static const char *const parameters[] = {WI_TILE_NAMES, [SPLIT] = WI_SPLIT_NAME, NULL};

static const wi_variant variants[] = {{"large", {16, 16, 8, 8, 8, 0, 0}}, {"tall", {16, 16, 8, 4, 8, 0, 0}},
    {"together", {8, 16, 8, 4, 8, 8, 0}}, {"medium", {16, 16, 4, 4, 16, 0, 0}},
    {"flat", {4, 16, 4, 4, 16, 0, 0}}, {"async", {16, 16, 8, 8, 8, 0, 3}}, {0}};
static const wi_variant split_variants[] = {{"large", {16, 16, 8, 8, 8, 0, 0, 1}},
    {"tall", {16, 16, 8, 4, 8, 0, 0, 1}}, {"together", {8, 16, 8, 4, 8, 8, 0, 1}},
    {"medium", {16, 16, 4, 4, 16, 0, 0, 1}}, {"flat", {4, 16, 4, 4, 16, 0, 0, 1}}, {0}};
/* For devices whose groups or local memory suit other tiles. */
static const wi_variant tuned_variants[] = {
    {"few", {8, 8, 8, 8, 8, 0, 0}}, {"deep", {16, 16, 8, 8, 16, 0, 0}}, {"low", {8, 16, 4, 8, 8, 0, 0}}, {0}};
/* With splits, compiled code of this variant is as fast as that of `large`, so only a measurement can prefer it. */
static const wi_variant split_tuned_variants[] = {{"async", {16, 16, 8, 8, 8, 0, 3, 1}}, {0}};

/* For products with more rows than FLAT_ROWS, the rows of a tile of `flat`. One tile has all rows, so that B is read once. Each
 * item loads several quads of B at a time, because there are few rows to multiply B with. */
enum { FLAT_ROWS = 16 };
static const wi_variant rows_variants[] = {
    {"rows24", {2, 32, 12, 4, 8, 0, 0}}, {"rows32", {4, 16, 8, 8, 8, 0, 0}}, {0}};
static const wi_variant rows_split_variants[] = {
    {"rows24", {2, 32, 12, 4, 8, 0, 0, 1}}, {"rows32", {4, 16, 8, 8, 8, 0, 0, 1}}, {0}};

/* Do the offsets within a block fit in ints, counted in elements, and in unsigned ints, counted in bytes? */
static bool fits_int(const wi_gemm_shape *shape, const int *p) {
    const int64_t most = INT32_MAX / (int64_t)sizeof(float);
    return wi_tile_height(p) * llabs(shape->a_row) + p[WI_TILE_STEP] * llabs(shape->a_column) <= most &&
           wi_tile_width(p) * llabs(shape->b_column) + p[WI_TILE_STEP] * llabs(shape->b_row) <= most;
}

/* The operations are counted for whole blocks of k, at least one block. */
static wi_splitting splitting_of(const wi_kernel_site *site) {
    const wi_gemm_shape *const shape = site->product;
    const int *const p = site->values;
    const double tiles = (double)shape->batch * (double)wi_divide_up(shape->m, wi_tile_height(p)) *
                         (double)wi_divide_up(shape->n, wi_tile_width(p));
    const int64_t blocks = wi_max64(1, wi_divide_up(shape->k, p[WI_TILE_STEP]));
    const double multiplications =
        tiles * (double)(wi_tile_height(p) * wi_tile_width(p)) * (double)(blocks * p[WI_TILE_STEP]);
    return (wi_splitting){
        .whole = {.operations = 2.0 * multiplications / wi_tile_useful_part(site->device, p),
            .bytes = wi_gemm_stored_bytes(site),
            .groups = tiles,
            .launches = 1,
            .build_seconds = 0.3},
        .blocks = (double)blocks,
        .results = (double)shape->batch * (double)shape->m * (double)shape->n};
}

static bool accepts(const wi_kernel_site *site) {
    if (!wi_gemm_fits_int(site->product) || !fits_int(site->product, site->values) ||
        !wi_tile_suits(site->device, site->values) || !wi_tile_accepts(site->values, site->formats[0]) ||
        !wi_tile_accepts(site->values, site->formats[1]))
        return false;
    const wi_splitting product = splitting_of(site);
    return wi_splitting_fits(&product, site->values[SPLIT]);
}

static bool accepts_rows(const wi_kernel_site *site) {
    return site->product->m > FLAT_ROWS && site->product->m <= wi_tile_height(site->values) && accepts(site);
}

static double margin(const wi_kernel_site *site) {
    return wi_splitting_margin(site->values[SPLIT]);
}

/* On a CPU these tiles are no faster than smaller ones: reading quads along k costs more time than a smaller tile wastes on rows
 * outside of the result. */
static double margin_of_rows(const wi_kernel_site *site) {
    return (site->device->is_processor ? 2.0 : 1.0) * margin(site);
}

static double cost(const wi_kernel_site *site) {
    const wi_splitting product = splitting_of(site);
    return wi_splitting_seconds(site->device, &product, site->values[SPLIT]);
}

static weft_status prepare(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_gemm_shape *const shape = site->product;
    const int *const p = site->values;
    const wi_splitting product = splitting_of(site);
    const int64_t splits = wi_splitting_best(site->device, &product, p[SPLIT]);
    size_t local[3];
    wi_tile_group(p, local);
    const size_t global[] = {(size_t)wi_divide_up(shape->n, wi_tile_width(p)) * local[0],
        (size_t)wi_divide_up(shape->m, wi_tile_height(p)) * local[1], (size_t)shape->batch};
    wi_kernel_launch *const launch = wi_gemm_launch(plan, "tiles", global, local);
    wi_kernel_ints(launch, WI_KERNEL_NUMBERS(shape->m, shape->n, shape->k));
    wi_gemm_add_strides(launch, shape);
    if (splits > 1) wi_splitting_apply(plan, launch, site, &product, splits);
    return WEFT_OK;
}

#define RECORD                                                                                               \
    .ops = {&wi_op_matmul}, WI_GEMM_FORMATS,                                                                 \
    .needs = {.classes = WI_ON_GPU, .limits = wi_tile_limits, .copies = wi_tile_copies},                     \
    .file = "gemm_gpu.cl", .quads = true, .parameters = parameters, .cost = cost, .prepare = prepare

const wi_implementation wi_gemm_gpu = {
    .name = "gpu_tiled", RECORD, .variants = variants, .tuned_variants = tuned_variants, .accepts = accepts};

const wi_implementation wi_gemm_split_gpu = {.name = "gpu_split",
    RECORD,
    .variants = split_variants,
    .tuned_variants = split_tuned_variants,
    .accepts = accepts,
    .margin = margin};

const wi_implementation wi_gemm_rows_gpu = {
    .name = "gpu_rows", RECORD, .variants = rows_variants, .accepts = accepts_rows, .margin = margin_of_rows};

const wi_implementation wi_gemm_rows_split_gpu = {.name = "gpu_rows_split",
    RECORD,
    .variants = rows_split_variants,
    .accepts = accepts_rows,
    .margin = margin_of_rows};
