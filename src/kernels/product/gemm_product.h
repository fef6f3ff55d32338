/* A matrix product on its own, outside a plan: made once, run any number of times. What measures
 * implementations against each other, the benchmark and the tests use it. */
#ifndef WI_GEMM_PRODUCT_H
#define WI_GEMM_PRODUCT_H

#include "cl/buffer.h"
#include "cl/launch.h"
#include "kernels/product/gemm.h"

/* Where the matrices are; offsets in elements. Borrowed. */
typedef struct wi_gemm_operands {
    cl_mem a, b, c, scratch;
    int64_t a_offset, b_offset, c_offset, scratch_offset;
    weft_dtype formats[2]; /* of A and B; C is of the dtype that they are computed in */
    weft_dtype precision;  /* that they may be rounded to, as in wi_kernel_site */
    weft_matmul_precision products;
} wi_gemm_operands;

/* What stands in place of the plain epilogue. NULL or zero: C (batch, m, n) contiguous. */
typedef struct wi_gemm_epilogue {
    const char *parameters; /* of the kernel: ", __global float *c, long c_offset" */
    const char *store;      /* the body of WEFT_STORE(acc, batch, row, column, lanes) */
    weft_status (*set)(cl_kernel kernel, cl_uint first, void *user);
    void *user;
} wi_gemm_epilogue;

enum { WI_GEMM_LAUNCHES = 8 };

/* How often a launch and those after it run, as in wi_kernel_launch, and which of its arguments is the number of the
 * repetition; -1: none. */
typedef struct wi_gemm_repetition {
    int64_t iterations;
    int launches, argument;
} wi_gemm_repetition;

typedef struct wi_gemm_product {
    const wi_implementation *implementation;
    wi_gemm_shape shape;
    wi_gemm_operands operands;
    wi_launch launches[WI_GEMM_LAUNCHES];
    wi_gemm_repetition repetitions[WI_GEMM_LAUNCHES];
    int count;
    double seconds; /* of all launches, estimated */
    wi_buffer scratch;
} wi_gemm_product;

/* variant NULL: the first; epilogue NULL: the plain one. Clear it also after a failure. Library implementations take only the plain
 * one: WEFT_ERROR_UNSUPPORTED. */
weft_status wi_gemm_product_create(wi_gemm_product *product, wi_device *device,
    const wi_implementation *implementation, const wi_variant *variant, const wi_gemm_shape *shape,
    const wi_gemm_operands *operands, const wi_gemm_epilogue *epilogue);
/* The same with the plain epilogue for any contraction's site, a weight's gradient of a convolution included: the operands
 * are its inputs and its result, with the formats of the site. */
weft_status wi_gemm_product_create_at(wi_gemm_product *product, wi_device *device,
    const wi_implementation *implementation, const wi_variant *variant, const wi_kernel_site *site,
    const wi_gemm_operands *operands);
/* Enqueues without waiting. */
weft_status wi_gemm_product_run(const wi_gemm_product *product, wi_device *device);
void wi_gemm_product_clear(wi_gemm_product *product, wi_device *device);

#endif
