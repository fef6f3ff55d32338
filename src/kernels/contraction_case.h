/* A small case of a contraction (a matrix product, a convolution or one of its gradients): one that an implementation
 * treats as it treats the site that it is made from, with its exact result.
 *
 * Sizes are capped, what decides the code is kept: windows, strides, dilations, zeros before and after an image, which
 * axis of a matrix lies side by side, formats. Where an implementation refuses so small sizes, `scale` raises the caps. */
#ifndef WI_CONTRACTION_CASE_H
#define WI_CONTRACTION_CASE_H

#include "kernels/convolution/conv_product.h"

enum { WI_CASE_A, WI_CASE_B, WI_CASE_C, WI_CASE_ARRAYS };

typedef struct wi_contraction_case {
    wi_kernel_site site;
    int64_t counts[WI_CASE_ARRAYS]; /* elements of both operands and of the result */
    int64_t terms;                  /* that an element of the result is the sum of, at most */
    /* Behind the site. */
    wi_gemm_shape shape;
    wi_conv_geometry geometry;
    wi_conv conv;
} wi_contraction_case;

/* The site's pointers are to what is in the case and in the arena: it must not be moved. */
weft_status wi_contraction_case_make(
    wi_contraction_case *small, const wi_kernel_site *site, int64_t scale, wi_arena *arena);

/* One element of the result, from operands as doubles. */
double wi_contraction_case_expected(
    const wi_contraction_case *small, const double *a, const double *b, int64_t index);

/* How far an element that is the sum of so many products of eighths may be from the right one: transforms of convolutions round, sums
 * of eighths do not. A tap that is missing makes a difference of some tenths. */
double wi_contraction_error_allowed(const wi_kernel_site *site, double terms);

#endif
