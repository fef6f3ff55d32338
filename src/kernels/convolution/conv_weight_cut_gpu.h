/* Weights' gradients of class gpu: how the product over positions is cut into tiles and splits, and the launches beside that of the
 * tiles. See cl_kernels/convolution/conv_weight_gpu.cl. */
#ifndef WI_CONV_WEIGHT_CUT_GPU_H
#define WI_CONV_WEIGHT_CUT_GPU_H

#include "kernels/convolution/conv_stage_gpu.h"
#include "kernels/convolution/conv_weight.h"

/* A tile of so many filters and columns, which are channels and taps; positions of a block; channels that are read at once, and the
 * formats in which images and slopes are read. */
typedef struct wi_conv_weight_tile {
    int64_t height, width, step, chunk;
    weft_dtype formats[2];
} wi_conv_weight_tile;

/* Both factors, tiles of columns and of filters, positions, of which a split has `length`, and where in scratch memory, in floats, the
 * copies stand after the splits' sums. */
typedef struct wi_conv_weight_cut {
    wi_conv_quads image, slope;
    int64_t across, down, positions, length, splits;
    int64_t image_at, slope_at, scratch;
} wi_conv_weight_cut;

wi_conv_weight_cut wi_conv_weight_cut_of(
    const wi_kernel_site *site, const wi_conv *conv, const wi_conv_weight_tile *tile);
/* Are numbers of elements of the weight, with so many channels at once, of positions and of pixels ints? */
bool wi_conv_weight_fits(const wi_conv *conv, int64_t chunk);
/* Tiles of all groups, for one split; launches; floats of splits' sums and of copies, which are written and read. */
double wi_conv_weight_tiles(const wi_conv *conv, const wi_conv_weight_cut *cut);
int wi_conv_weight_launches(const wi_conv_weight_cut *cut);
double wi_conv_weight_floats(const wi_conv *conv, const wi_conv_weight_cut *cut);

/* Launches of `packed` items a group: "stage" and "stage_slope", of what needs a copy, before those of the tiles; and "combine", after
 * them, if there are splits. */
void wi_conv_weight_stage(wi_kernel_plan *plan, const wi_conv_weight_cut *cut, int64_t packed);
void wi_conv_weight_combine(
    wi_kernel_plan *plan, const wi_conv *conv, const wi_conv_weight_cut *cut, int64_t packed);
/* The launch of the tiles, by groups of so many items, with its arguments. */
void wi_conv_weight_tiles_launch(wi_kernel_plan *plan, const wi_conv *conv, const wi_conv_weight_cut *cut,
    int64_t step, const size_t local[2]);

#endif
