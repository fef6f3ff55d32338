/* The matrix product on gpu-class devices: tiles in local memory. See cl_kernels/gemm_gpu.cl. */
#include "kernels/cost.h"
#include "kernels/product/gemm_list.h"
#include "ops/op_table.h"

/* A work-group of GROUP x GROUP items has a tile of MICRO x MICRO elements an item, and walks k in STEPs. */
enum { GROUP, MICRO, STEP };

static const char *const parameters[] = {
    [GROUP] = "WEFT_GEMM_GROUP", [MICRO] = "WEFT_GEMM_MICRO", [STEP] = "WEFT_GEMM_STEP", NULL};

static const wi_variant variants[] = {{"large", {[GROUP] = 16, [MICRO] = 4, [STEP] = 16}},
    {"small", {[GROUP] = 16, [MICRO] = 1, [STEP] = 16}}, {0}};

/* For devices whose groups or registers suit other tiles. */
static const wi_variant tuned_variants[] = {{"8x8", {[GROUP] = 8, [MICRO] = 8, [STEP] = 16}},
    {"16x8", {[GROUP] = 16, [MICRO] = 8, [STEP] = 16}}, {"8x4", {[GROUP] = 8, [MICRO] = 4, [STEP] = 32}},
    {0}};

static wi_limits limits(const int *p) {
    const size_t group = (size_t)p[GROUP], tile = (size_t)(p[STEP] * (p[GROUP] * p[MICRO] + 1));
    return (wi_limits){
        .group = group * group, .items = {group, group}, .local_bytes = 2 * tile * sizeof(float)};
}

static size_t round_up(int64_t number, size_t multiple) {
    return ((size_t)number + multiple - 1) / multiple * multiple;
}

/* A tile larger than the matrix is not worth its empty part. */
static bool accepts(const wi_kernel_site *site) {
    const wi_gemm_shape *const shape = site->product;
    const int *const p = site->values;
    return wi_gemm_fits_int(shape) && (p[MICRO] == 1 || (shape->m > p[GROUP] && shape->n > p[GROUP]));
}

/* An item with one element reads two words of local memory for each multiplication, one with MICRO x MICRO elements
 * half a word. */
static double cost(const wi_kernel_site *site) {
    const wi_gemm_shape *const shape = site->product;
    const size_t tile = (size_t)(site->values[GROUP] * site->values[MICRO]);
    const double rows = (double)round_up(shape->m, tile), columns = (double)round_up(shape->n, tile);
    const double share = site->values[MICRO] == 1 ? 0.12 : 0.7;
    const double multiplications = (double)shape->batch * rows * columns * (double)shape->k;
    return wi_work_seconds(
        site->device, &(wi_work){.operations = 2.0 * multiplications / share,
                          .bytes = wi_gemm_bytes(shape, WI_GEMM_ABC),
                          .groups = (double)shape->batch * rows * columns / (double)(tile * tile),
                          .launches = 1,
                          .build_seconds = 0.3});
}

static weft_status prepare(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_gemm_shape *const shape = site->product;
    const size_t group = (size_t)site->values[GROUP], micro = (size_t)site->values[MICRO];
    const size_t tile = group * micro;
    const size_t global[] = {round_up(shape->n, tile) / micro, round_up(shape->m, tile) / micro,
        (size_t)shape->batch},
                 local[] = {group, group, 1};
    wi_kernel_launch *const launch = wi_gemm_launch(plan, "tiles", global, local);
    wi_kernel_int(launch, shape->m);
    wi_kernel_int(launch, shape->n);
    wi_kernel_int(launch, shape->k);
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
