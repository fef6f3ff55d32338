/* A product by a kernel of matrix engines beside its exact result. */
#ifndef ENGINE_PRODUCT_H
#define ENGINE_PRODUCT_H

#include "kernels/implementation.h"
#include "kernels/product/gemm.h"

/* Multiplies engine_numbers of A's and B's formats, whose factors have the precision, on the test's device; fails the test at
 * the first element that is wrong. */
void check_engine_product(const wi_implementation *model, const wi_variant *variant,
    const wi_gemm_shape *shape, const weft_dtype formats[2], weft_dtype precision);

#endif
