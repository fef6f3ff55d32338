/* Compares a product that a kernel for matrix engines computes with the exact result. */
#ifndef ENGINE_PRODUCT_H
#define ENGINE_PRODUCT_H

#include "kernels/implementation.h"
#include "kernels/product/gemm.h"

/* Multiplies engine numbers on the test's device. formats: of A and B in memory; precision: the format to which the factors are rounded.
 * Fails the test at the first wrong element. */
void check_engine_product(const wi_implementation *model, const wi_variant *variant,
    const wi_gemm_shape *shape, const weft_dtype formats[2], weft_dtype precision);

#endif
