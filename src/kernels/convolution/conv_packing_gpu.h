/* Convolutions of class gpu as products over windows: the weight as panels, the table of taps, and the image in chunks of
 * channels, as cl_kernels/convolution/conv_taps_gpu.clh and conv_pack_gpu.clh have them. */
#ifndef WI_CONV_PACKING_GPU_H
#define WI_CONV_PACKING_GPU_H

#include "kernels/convolution/conv_product.h"
#include "kernels/convolution/conv_stage_gpu.h"

/* What a kernel reads: steps of a block of k, and entries of the table after a phase's last tap; channels that are read at once,
 * and their format; of the panels the bytes of a number, a multiple that rows have, and rows that are read behind the last. */
typedef struct wi_conv_panels {
    int64_t step, past, chunk, number_size, filters, behind;
    weft_dtype format;
} wi_conv_panels;

/* How the weight is packed: numbers, and zeros between phases; in floats of scratch memory, where the table begins, and where
 * the image's copy begins and ends. */
typedef struct wi_conv_packing {
    int64_t width, phases, spare, rows; /* of a row; rows of a group */
    int64_t elements, spares, table, image, end;
    wi_conv_quads read;
} wi_conv_packing;

wi_conv_packing wi_conv_packing_of(const wi_kernel_site *site, const wi_conv_panels *panels);
/* Are numbers of rows, in tiles of so many, and what the table holds, ints? */
bool wi_conv_packing_fits(const wi_kernel_site *site, const wi_conv_panels *panels, int64_t height);

/* Launches of `packed` items a group: "pack", of the weight, and "stage", of the image, if it needs a copy. */
void wi_conv_packing_pack(
    wi_kernel_plan *plan, const wi_conv_geometry *geometry, const wi_conv_packing *packing, int64_t packed);
/* Arguments of a kernel that reads them: at first image, panels, table; of an engine also how far its channel and its tap move from block
 * to block, of `step` steps of k, in bytes. At the end ints read (3), made (3), stride (3), transposed; longs strides of group, image, axes
 * (3). */
void wi_conv_packing_operands(wi_kernel_launch *launch, const wi_conv_packing *packing);
void wi_conv_packing_begin(wi_kernel_launch *launch, const wi_conv_packing *packing, int64_t step);
void wi_conv_packing_end(
    wi_kernel_launch *launch, const wi_conv_packing *packing, const wi_conv_geometry *geometry);

#endif
