/* What implementations of the matrix product share: how their `prepare` writes down a launch. */
#ifndef WI_GEMM_SHARED_H
#define WI_GEMM_SHARED_H

#include "kernels/product/gemm.h"

/* A launch in two or three dimensions that begins with A and B and has the epilogue. */
wi_kernel_launch *wi_gemm_launch(
    wi_kernel_plan *plan, const char *suffix, const size_t global[3], const size_t local[3]);
/* The same of class cpu, with sizes and strides after them: an item has `span` columns of all rows of a batch. */
void wi_gemm_launch_spans(wi_kernel_plan *plan, const char *suffix, const wi_gemm_shape *shape, int64_t span);
/* Appends the six strides, A's then B's, batch, row, column. */
void wi_gemm_add_strides(wi_kernel_launch *launch, const wi_gemm_shape *shape);
/* Whether m, n, k and batch may be ints in a kernel, with room for a tile's overhang. */
bool wi_gemm_fits_int(const wi_gemm_shape *shape);

/* A and B among a site's inputs, as bits of those that are packed. */
#define WI_GEMM_LEFT  UINT32_C(1)
#define WI_GEMM_RIGHT (UINT32_C(1) << 1)

/* Bytes of the matrices, f32. */
enum { WI_GEMM_A = 1, WI_GEMM_B = 2, WI_GEMM_C = 4, WI_GEMM_ABC = 7 };
double wi_gemm_bytes(const wi_gemm_shape *shape, int which);
/* Of A and of B as they lie in memory, and of C in f32. */
double wi_gemm_stored_bytes(const wi_kernel_site *site);
double wi_gemm_multiplications(const wi_gemm_shape *shape);
/* The highest element of A or B that a product reads, plus one; 0 when a stride is negative. */
size_t wi_gemm_extent(const int64_t sizes[3], const int64_t strides[3]);

/* How many times as fast as multiply-adds six products of parts of f32 numbers must be by their estimates: where numbers are near the
 * ends of the range they are slower. */
extern const double wi_gemm_six_margin;

/* gemm_cpu_direct.c, for convolutions, too, whose plan has these parameters: to the epilogue a row is row % width of image row / width, and a
 * batch is a group, `column_step` columns from the one before; 0: width is m, and a batch is a batch. */
extern const char *const wi_gemm_direct_parameters[];
extern const wi_variant wi_gemm_direct_variants[];
int64_t wi_gemm_direct_columns(const int *values); /* of a panel */
bool wi_gemm_direct_accepts(const wi_kernel_site *site, const wi_gemm_shape *shape);
double wi_gemm_direct_cost(const wi_kernel_site *site, const wi_gemm_shape *shape);
weft_status wi_gemm_direct_prepare(const wi_device_profile *device, const wi_gemm_shape *shape, int64_t width,
    int64_t column_step, wi_kernel_plan *plan);

#endif
