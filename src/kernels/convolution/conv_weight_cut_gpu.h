/* Weights' gradients of class gpu: a matrix product that sums over positions, divided into tiles and splits. The implementations
 * share these functions, and differ in the kernel that computes tiles. See cl_kernels/convolution/conv_weight_gpu.cl. */
#ifndef WI_CONV_WEIGHT_CUT_GPU_H
#define WI_CONV_WEIGHT_CUT_GPU_H

#include "kernels/convolution/conv_stage_gpu.h"
#include "kernels/convolution/conv_weight.h"

typedef struct wi_conv_weight_tile {
    int64_t height, width; /* filters of a tile; channels and taps of a tile */
    int64_t step;          /* positions of a block */
    int64_t chunk;         /* channels that are read at once */
    weft_dtype formats[2]; /* in which x and y are read */
} wi_conv_weight_tile;

typedef struct wi_conv_weight_cut {
    wi_conv_quads image, slope;        /* x and y, as they are read */
    int64_t across, down;              /* tiles along channels and taps, and along filters */
    int64_t positions, length, splits; /* length: positions of a split */
    int64_t image_at, slope_at;        /* where the copies begin, in floats, behind the sums of splits */
    int64_t scratch;                   /* floats of all scratch memory */
} wi_conv_weight_cut;

wi_conv_weight_cut wi_conv_weight_cut_of(
    const wi_kernel_site *site, const wi_conv *conv, const wi_conv_weight_tile *tile);
/* Do these numbers fit in ints: the elements of the weight with channels rounded up to chunks, the positions, the pixels? */
bool wi_conv_weight_fits(const wi_conv *conv, int64_t chunk);
/* The number of tiles of all groups in one split. */
double wi_conv_weight_tiles(const wi_conv *conv, const wi_conv_weight_cut *cut);
int wi_conv_weight_launches(const wi_conv_weight_cut *cut);
/* The floats of the splits' sums and of the copies, which one launch writes and another one reads. */
double wi_conv_weight_floats(const wi_conv *conv, const wi_conv_weight_cut *cut);

/* Appends all launches: those that copy x and y, if x and y need copies; the launch that computes tiles, in groups of `local`
 * items; and the launch that adds up splits, if there are several. step: positions of a block. packed: items of a group of the
 * other launches. */
void wi_conv_weight_add_launches(wi_kernel_plan *plan, const wi_conv *conv, const wi_conv_weight_cut *cut,
    int64_t step, const size_t local[3], int64_t packed);

#endif
