/* Split reductions over k of products and convolutions of class gpu, for results with fewer tiles than the device has units:
 * several work-groups share the blocks of k of a tile, and a second launch adds up their partial sums. See
 * cl_kernels/product/splits_gpu.clh.
 *
 * An implementation has a record without splits and one with splits; the parameter WI_SPLIT_NAME is 0 or 1. */
#ifndef WI_GEMM_SPLITS_H
#define WI_GEMM_SPLITS_H

#include "kernels/cost.h"
#include "kernels/implementation.h"

#define WI_SPLIT_NAME "WEFT_SPLIT_K"

/* A product before it is split. */
typedef struct wi_splitting {
    wi_work whole;  /* its operations are those of whole blocks of k */
    double blocks;  /* of k, in a tile: 1 or more */
    double results; /* elements of the result in all batches */
} wi_splitting;

/* If `split` is true: has k at least two blocks, and is there memory for the sums of two splits? Otherwise always true. */
bool wi_splitting_fits(const wi_splitting *product, bool split);
/* The number of splits that is expected to be the fastest, 2 or more; 1 if `split` is false. */
int64_t wi_splitting_best(const wi_device_profile *device, const wi_splitting *product, bool split);
/* The estimated seconds with this number of splits. */
double wi_splitting_seconds(const wi_device_profile *device, const wi_splitting *product, bool split);
double wi_splitting_margin(bool split);

/* Floats of the sums of all splits. */
int64_t wi_splitting_floats(const wi_splitting *product, int64_t splits);
/* Appends the launch that adds up the splits. Their sums begin at element `sums` of the scratch memory. rows, columns: those of
 * the result at one batch index. */
void wi_splitting_finish(wi_kernel_plan *plan, const wi_kernel_site *site, const wi_splitting *product,
    int64_t splits, int64_t sums, int64_t rows, int64_t columns);
/* Divides `tiles`, the only launch of a matrix product, into splits, and appends the launch that adds them up. The template has
 * WEFT_SPLIT_RESULT after its own parameters. */
void wi_splitting_apply(wi_kernel_plan *plan, wi_kernel_launch *tiles, const wi_kernel_site *site,
    const wi_splitting *product, int64_t splits);

#endif
