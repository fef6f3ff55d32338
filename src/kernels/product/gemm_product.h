/* A contraction outside of the plan of a graph: created once, run any number of times. Self-tests, the tuner, benchmarks and
 * tests use it. */
#ifndef WI_GEMM_PRODUCT_H
#define WI_GEMM_PRODUCT_H

#include "kernels/kernel_run.h"
#include "kernels/product/gemm.h"

/* The matrices, in borrowed memory; offsets in elements. */
typedef struct wi_gemm_operands {
    cl_mem a, b, c;
    int64_t a_offset, b_offset, c_offset;
    /* The rest is as in wi_kernel_site. C has the dtype in which the product is computed. */
    weft_dtype formats[2];
    weft_dtype precision;
    weft_matmul_precision products;
} wi_gemm_operands;

/* Replaces the plain epilogue, which stores C (batch, m, n) contiguously. */
typedef struct wi_gemm_epilogue {
    const char *parameters; /* of the kernel: ", __global float *c, long c_offset" */
    const char *store;      /* the body of WEFT_STORE(acc, batch, row, column, lanes) */
    /* Sets `parameters`, of which the first has the index `first`. NULL: `parameters` are those of the plain epilogue, which the product
     * sets itself. */
    weft_status (*set)(cl_kernel kernel, cl_uint first, void *user);
    void *user;
} wi_gemm_epilogue;

typedef struct wi_gemm_product {
    const wi_implementation *implementation;
    wi_gemm_shape shape;
    wi_gemm_operands operands;
    wi_kernel_run run; /* if a library computes the product, only `device` is set */
} wi_gemm_product;

/* variant NULL: the first variant. epilogue NULL: C is stored without further computation; libraries support only this, and return
 * WEFT_ERROR_UNSUPPORTED for any other epilogue. The caller clears the product also after a failure. */
weft_status wi_gemm_product_create(wi_gemm_product *product, wi_device *device,
    const wi_implementation *implementation, const wi_variant *variant, const wi_gemm_shape *shape,
    const wi_gemm_operands *operands, const wi_gemm_epilogue *epilogue);
/* Creates the product of the site of any contraction, and stores it without further computation. Formats and precision are those of
 * the site. */
weft_status wi_gemm_product_create_at(wi_gemm_product *product, wi_device *device,
    const wi_implementation *implementation, const wi_variant *variant, const wi_kernel_site *site,
    const wi_gemm_operands *operands);
/* Enqueues the launches, and does not wait. */
weft_status wi_gemm_product_run(const wi_gemm_product *product);
void wi_gemm_product_clear(wi_gemm_product *product);

#endif
