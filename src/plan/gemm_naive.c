/* The portable matrix product: accepts everything, needs nothing of the device. See cl_kernels/gemm_naive.cl.
 */
#include "plan/gemm_list.h"

static bool accepts(const weft_context *context, const wi_gemm_shape *shape) {
    (void)context;
    (void)shape;
    return true;
}

static weft_status prepare(
    const weft_context *context, const wi_gemm_shape *shape, wi_gemm_launches *launches) {
    const bool is_cpu = context->caps.device_class == WEFT_CLASS_CPU;
    const size_t lanes = is_cpu ? 16 : 1;
    if (shape->n > INT32_MAX - 16 || shape->m > INT32_MAX || shape->batch > INT32_MAX)
        WI_FAIL(WEFT_ERROR_UNSUPPORTED, "a matrix product of (%lld, %lld) elements a batch is too large",
            (long long)shape->m, (long long)shape->n);
    *launches = (wi_gemm_launches){.count = 1};
    wi_gemm_launch *const launch = &launches->launches[0];
    *launch = (wi_gemm_launch){.suffix = "naive",
        .has_epilogue = true,
        .dimensions = 3,
        .global = {((size_t)shape->n + lanes - 1) / lanes, (size_t)shape->m, (size_t)shape->batch}};
    /* A driver that compiles anew for each local size gets only one to see; a GPU's chooses better than we
     * do. */
    for (int i = 0; i < 3; i++) launch->local[i] = is_cpu ? 1 : 0;
    wi_gemm_add(launch, WI_GEMM_A, 0);
    wi_gemm_add(launch, WI_GEMM_B, 0);
    wi_gemm_add(launch, WI_GEMM_INT, shape->n);
    wi_gemm_add(launch, WI_GEMM_LONG, shape->k);
    wi_gemm_add_strides(launch, shape);
    return WEFT_OK;
}

const wi_gemm_implementation wi_gemm_naive = {
    .name = "naive", .file = "gemm_naive.cl", .accepts = accepts, .prepare = prepare};
