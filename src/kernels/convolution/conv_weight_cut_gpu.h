/* Weights' gradients of class gpu: a matrix product over positions, cut into tiles and splits. Its launches except that of the
 * tiles' kernel. See cl_kernels/convolution/conv_weight_gpu.cl. */
#ifndef WI_CONV_WEIGHT_CUT_GPU_H
#define WI_CONV_WEIGHT_CUT_GPU_H

#include "kernels/convolution/conv_stage_gpu.h"
#include "kernels/convolution/conv_weight.h"

typedef struct wi_conv_weight_tile {
    int64_t height, width; /* filters; channels and taps */
    int64_t step;          /* positions of a block */
    int64_t chunk;         /* channels that are read at once */
    weft_dtype formats[2]; /* in which x and y are read */
} wi_conv_weight_tile;

typedef struct wi_conv_weight_cut {
    wi_conv_quads image, slope;        /* x and y, as they are read */
    int64_t across, down;              /* tiles along channels and taps, and along filters */
    int64_t positions, length, splits; /* length: positions of a split */
    int64_t image_at, slope_at;        /* in floats: the copies of x and y, behind the sums of splits */
    int64_t scratch;                   /* floats of all scratch memory */
} wi_conv_weight_cut;

wi_conv_weight_cut wi_conv_weight_cut_of(
    const wi_kernel_site *site, const wi_conv *conv, const wi_conv_weight_tile *tile);
/* Do the numbers of elements of the weight (with `chunk` channels at once), of positions, and of pixels fit in ints? */
bool wi_conv_weight_fits(const wi_conv *conv, int64_t chunk);
/* Tiles of all groups, in one split. */
double wi_conv_weight_tiles(const wi_conv *conv, const wi_conv_weight_cut *cut);
int wi_conv_weight_launches(const wi_conv_weight_cut *cut);
/* Floats of sums and copies, which are written and read. */
double wi_conv_weight_floats(const wi_conv *conv, const wi_conv_weight_cut *cut);

/* Appends all launches: those that copy x and y, if they need copies, that of the tiles in groups of `local` items, and that
 * which adds up splits. packed: items of a group that copies or adds up. */
void wi_conv_weight_add_launches(wi_kernel_plan *plan, const wi_conv *conv, const wi_conv_weight_cut *cut,
    int64_t step, const size_t local[3], int64_t packed);

#endif
