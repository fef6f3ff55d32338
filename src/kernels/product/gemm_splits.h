/* A split k, of products and convolutions of class gpu that have fewer tiles than the device has units: work-groups share the
 * blocks of k of a tile, and a second launch adds up what they have. See cl_kernels/product/splits_gpu.clh.
 *
 * An implementation has a record without splits and one with them, whose parameter WI_SPLIT_NAME is 1. */
#ifndef WI_GEMM_SPLITS_H
#define WI_GEMM_SPLITS_H

#include "kernels/cost.h"
#include "kernels/implementation.h"

#define WI_SPLIT_NAME "WEFT_SPLIT_K"

/* A product before it is split: what it costs, its operations those of whole blocks; how many blocks of k a tile has, one or
 * more; and elements of the result, in all batches. */
typedef struct wi_splitting {
    wi_work whole;
    double blocks, results;
} wi_splitting;

/* Are there two blocks, and do the sums of two splits fit? */
bool wi_splitting_fits(const wi_splitting *product);
/* The number of splits that is expected to be fastest, two or more, and what it takes. */
int64_t wi_splitting_best(const wi_device_profile *device, const wi_splitting *product);
double wi_splitting_seconds(const wi_device_profile *device, const wi_splitting *product, int64_t splits);
/* Of the record with splits. */
double wi_splitting_margin(const wi_kernel_site *site);

/* Floats of all splits' sums. */
int64_t wi_splitting_floats(const wi_splitting *product, int64_t splits);
/* The launch that adds them up, from element `sums` of the scratch memory on; rows of a batch, and columns. */
void wi_splitting_finish(wi_kernel_plan *plan, const wi_kernel_site *site, const wi_splitting *product,
    int64_t splits, int64_t sums, int64_t rows, int64_t columns);
/* The only launch of a matrix product so far, in splits, with WEFT_SPLIT_RESULT after its arguments; and the one that adds them up. */
void wi_splitting_apply(wi_kernel_plan *plan, wi_kernel_launch *tiles, const wi_kernel_site *site,
    const wi_splitting *product, int64_t splits);

#endif
