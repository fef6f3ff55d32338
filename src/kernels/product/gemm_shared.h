/* What the implementations of matrix products share: launches, sizes, and the parts of gemm_cpu_direct.c that convolutions use. */
#ifndef WI_GEMM_SHARED_H
#define WI_GEMM_SHARED_H

#include "kernels/implementation.h"
#include "kernels/product/gemm.h"

/* ---- launches: all have the epilogue, and A and B as their first arguments ---- */

/* global and local are in work-items. */
wi_kernel_launch *wi_gemm_launch(
    wi_kernel_plan *plan, const char *suffix, const size_t global[3], const size_t local[3]);
/* x * y * z work-items, each a group of its own, as in class cpu. */
wi_kernel_launch *wi_gemm_launch_items(
    wi_kernel_plan *plan, const char *suffix, int64_t x, int64_t y, int64_t z);
/* Class cpu: each work-item computes `span` columns of all rows of a batch. Sizes, the span and strides are arguments. */
void wi_gemm_launch_spans(wi_kernel_plan *plan, const char *suffix, const wi_gemm_shape *shape, int64_t span);
/* Appends batch, row and column strides of A, then of B. */
void wi_gemm_add_strides(wi_kernel_launch *launch, const wi_gemm_shape *shape);

/* Defines for the kernels by AMX which axes are contiguous. */
void wi_gemm_amx_macros(wi_kernel_plan *plan, const wi_gemm_shape *shape);

/* The bits of A and B among packed inputs. */
#define WI_GEMM_LEFT  UINT32_C(1)
#define WI_GEMM_RIGHT (UINT32_C(1) << 1)

/* ---- sizes ---- */

/* Are m, n, k and batch small enough for ints in a kernel, also if they are rounded up to whole tiles? */
bool wi_gemm_fits_int(const wi_gemm_shape *shape);
/* The bytes of the matrices in `which`, counted as f32. */
enum { WI_GEMM_A = 1, WI_GEMM_B = 2, WI_GEMM_C = 4, WI_GEMM_ABC = 7 };
double wi_gemm_bytes(const wi_gemm_shape *shape, int which);
/* Bytes of A and B as they are stored, and of C in f32. */
double wi_gemm_stored_bytes(const wi_kernel_site *site);
double wi_gemm_multiplications(const wi_gemm_shape *shape);
/* The number of elements from the first to the last that a product reads of A or B; 0 if a stride is negative. */
size_t wi_gemm_extent(const int64_t sizes[3], const int64_t strides[3]);
/* The product whose result is the transpose of C: A and B are exchanged and transposed. */
wi_gemm_shape wi_gemm_transpose_of(const wi_gemm_shape *shape);

/* The margin of products that replace each f32 product by six products of parts. They are slower if numbers are near the ends of
 * f32's range. */
extern const double wi_gemm_six_margin;

/* ---- gemm_cpu_direct.c ---- */

/* gemm_cpu_direct.c also computes pointwise convolutions. For their epilogue, row r of the product is row r % width of image
 * r / width, and each batch is a group whose columns begin `column_step` columns after those of the group before. Matrix products
 * have width m and column_step 0. */
extern const char *const wi_gemm_direct_parameters[];
extern const wi_variant wi_gemm_direct_variants[];
int64_t wi_gemm_direct_columns(const int *values); /* of a panel */
bool wi_gemm_direct_accepts(const wi_gemm_shape *shape);
double wi_gemm_direct_cost(const wi_kernel_site *site, const wi_gemm_shape *shape);
weft_status wi_gemm_direct_prepare(const wi_kernel_site *site, const wi_gemm_shape *shape, int64_t width,
    int64_t column_step, wi_kernel_plan *plan);

#endif
