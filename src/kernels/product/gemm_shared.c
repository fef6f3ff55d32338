/* What the implementations of matrix products share (contract in gemm_shared.h). */
#include "kernels/product/gemm_shared.h"
#include "base/integers.h"
#include "graph/dtype.h"

const double wi_gemm_six_margin = 1.25;

static wi_kernel_launch *with_operands(wi_kernel_launch *launch) {
    launch->has_epilogue = true;
    wi_kernel_input(launch, 0);
    wi_kernel_input(launch, 1);
    return launch;
}

wi_kernel_launch *wi_gemm_launch(
    wi_kernel_plan *plan, const char *suffix, const size_t global[3], const size_t local[3]) {
    wi_kernel_launch *const launch = wi_kernel_launch_3d(plan, suffix, 1, 1, 1);
    for (int i = 0; i < 3; i++) {
        launch->global[i] = global[i];
        launch->local[i] = local[i];
    }
    return with_operands(launch);
}

wi_kernel_launch *wi_gemm_launch_items(
    wi_kernel_plan *plan, const char *suffix, int64_t x, int64_t y, int64_t z) {
    return with_operands(wi_kernel_launch_3d(plan, suffix, x, y, z));
}

void wi_gemm_add_strides(wi_kernel_launch *launch, const wi_gemm_shape *shape) {
    wi_kernel_longs(launch, WI_KERNEL_NUMBERS(shape->a_batch, shape->a_row, shape->a_column, shape->b_batch,
                                shape->b_row, shape->b_column));
}

void wi_gemm_launch_spans(
    wi_kernel_plan *plan, const char *suffix, const wi_gemm_shape *shape, int64_t span) {
    wi_kernel_launch *const launch =
        wi_gemm_launch_items(plan, suffix, wi_divide_up(shape->n, span), shape->batch, 1);
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

wi_gemm_shape wi_gemm_transpose_of(const wi_gemm_shape *s) {
    return (wi_gemm_shape){.batch = s->batch,
        .m = s->n,
        .n = s->m,
        .k = s->k,
        .a_batch = s->b_batch,
        .a_row = s->b_column,
        .a_column = s->b_row,
        .b_batch = s->a_batch,
        .b_row = s->a_column,
        .b_column = s->a_row};
}

void wi_gemm_amx_macros(wi_kernel_plan *plan, const wi_gemm_shape *shape) {
    wi_kernel_macro_int(plan, "WEFT_AMX_LEFT_ROWS", shape->a_column == 1);
    wi_kernel_macro_int(plan, "WEFT_AMX_LEFT_COLUMNS", shape->a_row == 1);
    wi_kernel_macro_int(plan, "WEFT_AMX_RIGHT_ROWS", shape->b_column == 1);
    wi_kernel_macro_int(plan, "WEFT_AMX_RIGHT_COLUMNS", shape->b_row == 1);
}
