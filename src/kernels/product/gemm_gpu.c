/* The matrix product on gpu-class devices: tiles in local memory. See cl_kernels/gemm_gpu.cl. */
#include "kernels/product/gemm_list.h"
#include "ops/op_table.h"

/* As in the kernel file. */
enum { GROUP = 16, MICRO = 4, STEP = 16, LOCAL_BYTES = 2 * STEP * (GROUP * MICRO + 1) * 4 };

static bool accepts(const wi_kernel_site *site) {
    return wi_gemm_fits_int(site->product);
}

static size_t round_up(int64_t number, size_t multiple) {
    return ((size_t)number + multiple - 1) / multiple * multiple;
}

static weft_status prepare(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_gemm_shape *const shape = site->product;
    /* Large tiles read less memory for each multiply-add, but there must be some for every compute unit. */
    const size_t large = GROUP * MICRO;
    const size_t tiles = (round_up(shape->m, large) / large) * (round_up(shape->n, large) / large);
    const bool tiled = shape->m > GROUP && shape->n > GROUP &&
                       tiles * (size_t)shape->batch >= 2 * (size_t)site->device->units;
    const size_t tile = tiled ? large : GROUP, micro = tiled ? MICRO : 1;
    const size_t global[] = {round_up(shape->n, tile) / micro, round_up(shape->m, tile) / micro,
        (size_t)shape->batch},
                 local[] = {GROUP, GROUP, 1};
    wi_kernel_launch *const launch = wi_gemm_launch(plan, tiled ? "tiled" : "small", global, local);
    wi_kernel_int(launch, shape->m);
    wi_kernel_int(launch, shape->n);
    wi_kernel_int(launch, shape->k);
    wi_gemm_add_strides(launch, shape);
    return WEFT_OK;
}

const wi_implementation wi_gemm_gpu = {.name = "gpu_tiled",
    .ops = {&wi_op_matmul},
    .needs = {.classes = WI_ON_GPU,
        .group = GROUP * GROUP,
        .items = {GROUP, GROUP},
        .local_bytes = LOCAL_BYTES},
    .file = "gemm_gpu.cl",
    .accepts = accepts,
    .prepare = prepare};
