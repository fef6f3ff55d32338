/* The matrix product on gpu-class devices: tiles in local memory. See cl_kernels/gemm_gpu.cl. */
#include "kernels/product/gemm_list.h"
#include "ops/op_table.h"

/* A work-group of GROUP x GROUP items has a tile of MICRO x MICRO elements an item, and walks k in STEPs. */
enum { GROUP, MICRO, STEP };

static const char *const parameters[] = {
    [GROUP] = "WEFT_GEMM_GROUP", [MICRO] = "WEFT_GEMM_MICRO", [STEP] = "WEFT_GEMM_STEP", NULL};

static const wi_variant variants[] = {{"large", {[GROUP] = 16, [MICRO] = 4, [STEP] = 16}},
    {"small", {[GROUP] = 16, [MICRO] = 1, [STEP] = 16}}, {0}};

static wi_limits limits(const int *p) {
    const size_t group = (size_t)p[GROUP], piece = (size_t)(p[STEP] * (p[GROUP] * p[MICRO] + 1));
    return (wi_limits){
        .group = group * group, .items = {group, group}, .local_bytes = 2 * piece * sizeof(float)};
}

static size_t round_up(int64_t number, size_t multiple) {
    return ((size_t)number + multiple - 1) / multiple * multiple;
}

/* Large tiles read less memory for each multiplication, but there must be some for every compute unit. */
static bool pays(const wi_kernel_site *site) {
    const wi_gemm_shape *const shape = site->product;
    const int *const p = site->values;
    if (p[MICRO] == 1) return true;
    const size_t large = (size_t)(p[GROUP] * p[MICRO]);
    const size_t tiles = (round_up(shape->m, large) / large) * (round_up(shape->n, large) / large);
    return shape->m > p[GROUP] && shape->n > p[GROUP] &&
           tiles * (size_t)shape->batch >= 2 * (size_t)site->device->units;
}

static bool accepts(const wi_kernel_site *site) {
    return wi_gemm_fits_int(site->product);
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
    .accepts = accepts,
    .pays = pays,
    .prepare = prepare};
