/* What the implementations of matrix products share (contract in gemm_shared.h). */
#include "kernels/product/gemm_shared.h"
#include "base/integers.h"
#include "graph/dtype.h"

const double wi_gemm_six_margin = 1.25;

wi_kernel_launch *wi_gemm_launch(
    wi_kernel_plan *plan, const char *suffix, const size_t global[3], const size_t local[3]) {
    wi_kernel_launch *launch = wi_kernel_launch_1d(plan, suffix, 1, 1);
    launch->has_epilogue = true;
    launch->dimensions = 3;
    for (int i = 0; i < 3; i++) {
        launch->global[i] = global[i];
        launch->local[i] = local[i];
    }
    wi_kernel_input(launch, 0);
    wi_kernel_input(launch, 1);
    return launch;
}

void wi_gemm_add_strides(wi_kernel_launch *launch, const wi_gemm_shape *shape) {
    const int64_t strides[] = {
        shape->a_batch, shape->a_row, shape->a_column, shape->b_batch, shape->b_row, shape->b_column};
    for (int i = 0; i < 6; i++) wi_kernel_long(launch, strides[i]);
}

void wi_gemm_launch_spans(
    wi_kernel_plan *plan, const char *suffix, const wi_gemm_shape *shape, int64_t span) {
    const size_t global[] = {(size_t)wi_divide_up(shape->n, span), (size_t)shape->batch, 1},
                 local[] = {1, 1, 1};
    wi_kernel_launch *const launch = wi_gemm_launch(plan, suffix, global, local);
    wi_kernel_ints(launch, WI_KERNEL_NUMBERS(shape->m, shape->n, shape->k, span));
    wi_gemm_add_strides(launch, shape);
}

bool wi_gemm_fits_int(const wi_gemm_shape *shape) {
    const int64_t most = INT32_MAX - 4096;
    return shape->m <= most && shape->n <= most && shape->k <= most && shape->batch <= most;
}

double wi_gemm_bytes(const wi_gemm_shape *shape, int which) {
    const double m = (double)shape->m, n = (double)shape->n, k = (double)shape->k;
    const double elements = (which & WI_GEMM_A ? m * k : 0.0) + (which & WI_GEMM_B ? k * n : 0.0) +
                            (which & WI_GEMM_C ? m * n : 0.0);
    return (double)shape->batch * elements * (double)sizeof(float);
}

double wi_gemm_stored_bytes(const wi_kernel_site *site) {
    const wi_gemm_shape *const shape = site->product;
    const double share_a = (double)wi_format_of(site->formats[0])->size / sizeof(float);
    const double share_b = (double)wi_format_of(site->formats[1])->size / sizeof(float);
    return share_a * wi_gemm_bytes(shape, WI_GEMM_A) + share_b * wi_gemm_bytes(shape, WI_GEMM_B) +
           wi_gemm_bytes(shape, WI_GEMM_C);
}

double wi_gemm_multiplications(const wi_gemm_shape *shape) {
    return (double)shape->batch * (double)shape->m * (double)shape->n * (double)shape->k;
}

size_t wi_gemm_extent(const int64_t sizes[3], const int64_t strides[3]) {
    int64_t last = 0;
    for (int i = 0; i < 3; i++) {
        if (strides[i] < 0) return 0;
        last += (sizes[i] - 1) * strides[i];
    }
    return (size_t)last + 1;
}
