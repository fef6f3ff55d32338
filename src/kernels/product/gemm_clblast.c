/* CLBlast as an implementation of the matrix product, if the tuner chooses it on a GPU, or if $WEFT_GEMM=clblast.
 *
 * It accepts the strides that BLAS can express: one axis of each matrix is contiguous, and the stride of the other axis is at
 * least the length of the first. */
#ifdef WEFT_WITH_CLBLAST

#include "base/platform.h"
#include "cl/opened_device.h"
#include "kernels/product/gemm_shared.h"
#include "ops/op_table.h"
#include <clblast_c.h>
#include <string.h>

/* A matrix as BLAS sees it. */
typedef struct blas_matrix {
    CLBlastTranspose transpose;
    size_t leading;
} blas_matrix;

static bool express(blas_matrix *matrix, int64_t rows, int64_t columns, int64_t row, int64_t column) {
    if ((column == 1 || columns == 1) && (row >= columns || rows == 1)) {
        *matrix = (blas_matrix){CLBlastTransposeNo, (size_t)(rows == 1 ? columns : row)};
        return true;
    }
    if ((row == 1 || rows == 1) && (column >= rows || columns == 1)) {
        *matrix = (blas_matrix){CLBlastTransposeYes, (size_t)(columns == 1 ? rows : column)};
        return true;
    }
    return false;
}

static bool express_both(const wi_gemm_shape *shape, blas_matrix *a, blas_matrix *b) {
    return express(a, shape->m, shape->k, shape->a_row, shape->a_column) &&
           express(b, shape->k, shape->n, shape->b_row, shape->b_column);
}

extern const wi_implementation wi_gemm_clblast;

static bool is_forced(void) {
    const char *const forced = wi_environment("WEFT_GEMM");
    return forced && strcmp(forced, wi_gemm_clblast.name) == 0;
}

/* Is the product short enough for one launch? Launches of a library cannot be divided into portions. */
static bool is_short(const wi_kernel_site *site) {
    const wi_gemm_shape *const shape = site->product;
    const double flops = 2.0 * (double)shape->batch * (double)shape->m * (double)shape->n * (double)shape->k;
    const double longest = site->device->longest_launch;
    return longest <= 0.0 || flops <= longest * wi_device_peak(site->device, sizeof(float));
}

static bool accepts(const wi_kernel_site *site) {
    const wi_gemm_shape *const shape = site->product;
    blas_matrix a, b;
    const bool batches = shape->batch == 1 || (shape->a_batch > 0 && shape->b_batch > 0);
    return (site->device->library_gemm || is_forced()) && is_short(site) && batches &&
           express_both(shape, &a, &b);
}

static weft_status run(wi_device *device, const wi_gemm_shape *shape, cl_mem a, size_t a_offset, cl_mem b,
    size_t b_offset, cl_mem c, size_t c_offset, cl_event *event) {
    blas_matrix from_a, from_b;
    const size_t m = (size_t)shape->m, n = (size_t)shape->n, k = (size_t)shape->k;
    if (!express_both(shape, &from_a, &from_b))
        WI_FAIL(WEFT_ERROR_INTERNAL, "CLBlast was given a matrix product that it does not accept");
    const CLBlastStatusCode code =
        shape->batch == 1 ? CLBlastSgemm(CLBlastLayoutRowMajor, from_a.transpose, from_b.transpose, m, n, k,
                                1.0f, a, a_offset, from_a.leading, b, b_offset, from_b.leading, 0.0f, c,
                                c_offset, n, &device->queue, event)
                          : CLBlastSgemmStridedBatched(CLBlastLayoutRowMajor, from_a.transpose,
                                from_b.transpose, m, n, k, 1.0f, a, a_offset, from_a.leading,
                                (size_t)shape->a_batch, b, b_offset, from_b.leading, (size_t)shape->b_batch,
                                0.0f, c, c_offset, n, m * n, (size_t)shape->batch, &device->queue, event);
    if (code != CLBlastSuccess)
        WI_FAIL(WEFT_ERROR_OPENCL, "CLBlast failed with code %d on a (%zu, %zu) by (%zu, %zu) product",
            (int)code, m, k, k, n);
    return WEFT_OK;
}

const wi_implementation wi_gemm_clblast = {
    .name = "clblast", .ops = {&wi_op_matmul}, .accepts = accepts, .run = run};

#else
typedef int wi_gemm_without_clblast; /* ISO C wants a declaration in every file */
#endif
