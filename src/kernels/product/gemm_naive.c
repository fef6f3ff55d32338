/* The portable matrix product, which accepts every site on every device. See cl_kernels/product/gemm_naive.cl. */
#include "cl/quirks.h"
#include "kernels/cost.h"
#include "kernels/product/gemm_shared.h"
#include "ops/op_table.h"
#include <math.h>

/* Every multiplication reads its factors from memory, so the kernel reaches a hundredth of the peak. */
static double cost(const wi_kernel_site *site) {
    const wi_gemm_shape *const shape = site->product;
    const double lanes = site->device->lanes, vectors = ceil((double)shape->n / lanes);
    const double items = (double)shape->batch * (double)shape->m * vectors;
    return wi_work_seconds(
        site->device, &(wi_work){.operations = 100.0 * 2.0 * items * lanes * (double)shape->k,
                          .bytes = wi_gemm_bytes(shape, WI_GEMM_ABC),
                          .groups = items / site->device->group,
                          .launches = 1,
                          .build_seconds = 0.1});
}

static weft_status prepare(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_gemm_shape *const shape = site->product;
    const size_t lanes = (size_t)site->device->lanes;
    if (shape->n > INT32_MAX - 16 || shape->m > INT32_MAX || shape->batch > INT32_MAX)
        WI_FAIL(WEFT_ERROR_UNSUPPORTED,
            "matmul: a product with a result of (%lld, %lld) elements is too large for a kernel",
            (long long)shape->m, (long long)shape->n);
    /* Drivers that compile a kernel again for each group size get a fixed size; drivers of GPUs choose a better size
     * themselves. */
    const size_t local = site->device->group == 1 || (site->device->quirks & WI_QUIRK_GROUP_SIZES);
    const size_t global[] = {((size_t)shape->n + lanes - 1) / lanes, (size_t)shape->m, (size_t)shape->batch},
                 locals[] = {local, local, local};
    wi_kernel_launch *const launch = wi_gemm_launch(plan, "naive", global, locals);
    wi_kernel_int(launch, shape->n);
    wi_kernel_long(launch, shape->k);
    wi_gemm_add_strides(launch, shape);
    return WEFT_OK;
}

static const wi_formats formats[] = {{WI_ANY_STORAGE, WEFT_F32, WEFT_F32}, {WEFT_F64, WEFT_F64, WEFT_F64}};

const wi_implementation wi_gemm_naive = {.name = "naive",
    .ops = {&wi_op_matmul},
    .formats = formats,
    .format_count = sizeof formats / sizeof *formats,
    .file = "gemm_naive.cl",
    .cost = cost,
    .prepare = prepare};
