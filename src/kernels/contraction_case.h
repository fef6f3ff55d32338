/* Small cases of contractions (matrix products, convolutions and their gradients) whose exact results the host computes.
 *
 * A case is made from a site so that an implementation runs the same code for both. Sizes are reduced; windows, strides,
 * dilations, padding, memory orders and formats stay. `scale` raises the reduced sizes for implementations that refuse small
 * ones. */
#ifndef WI_CONTRACTION_CASE_H
#define WI_CONTRACTION_CASE_H

#include "cl/buffer.h"
#include "kernels/convolution/conv_product.h"

enum { WI_CASE_A, WI_CASE_B, WI_CASE_C, WI_CASE_ARRAYS };

typedef struct wi_contraction_case {
    wi_kernel_site site;
    int64_t counts[WI_CASE_ARRAYS]; /* elements of both operands and of the result */
    int64_t terms;                  /* products that are added up for an element of the result, at most */
    /* `site` points to these. */
    wi_gemm_shape shape;
    wi_conv_geometry geometry;
    wi_conv conv;
} wi_contraction_case;

/* `site` points into the case and into the arena, so the case must not be moved. */
weft_status wi_contraction_case_make(
    wi_contraction_case *small, const wi_kernel_site *site, int64_t scale, wi_arena *arena);

/* Element `index` of the result. */
double wi_contraction_case_expected(
    const wi_contraction_case *small, const double *a, const double *b, int64_t index);

/* Element i of an operand for tests: a multiple of 1/8, from -1 to 1. Products and sums of such numbers are exact in every
 * format. */
double wi_case_number(size_t i);
/* Creates a buffer with these numbers. */
weft_status wi_case_upload(wi_buffer *buffer, wi_device *device, weft_dtype dtype, size_t count);

/* The largest error that is accepted in a sum of `terms` products of these numbers. Only convolutions that transform their
 * operands round such numbers. A missing product changes the sum by some tenths. */
double wi_contraction_error_allowed(const wi_kernel_site *site, double terms);

#endif
