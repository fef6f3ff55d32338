/* What kernels of class gpu over windows read instead of the weight and the image: the weight as panels, a table of taps, and a
 * copy of the image if its channels cannot be read in chunks. See conv_taps_gpu.clh and conv_pack_gpu.clh in
 * cl_kernels/convolution. */
#ifndef WI_CONV_PACKING_GPU_H
#define WI_CONV_PACKING_GPU_H

#include "kernels/convolution/conv_product.h"
#include "kernels/convolution/conv_stage_gpu.h"

/* What a kernel reads. */
typedef struct wi_conv_panels {
    int64_t step;        /* steps of k of a block */
    int64_t past;        /* entries of the table after the last tap of a phase */
    int64_t chunk;       /* channels of the image that are read at once */
    int64_t number_size; /* bytes of a number in the panels */
    int64_t filters;     /* rows of the panels are multiples of so many filters */
    int64_t behind;      /* rows that are read behind the last one */
    weft_dtype format;   /* in which the image is read */
} wi_conv_panels;

/* How they are stored: first the panels, then the table, then the copy of the image. */
typedef struct wi_conv_packing {
    int64_t width, rows;       /* of a group's panels */
    int64_t phases, spare;     /* spare: zero rows after each phase */
    int64_t elements, spares;  /* numbers of the weight, and in spare rows */
    int64_t table, image, end; /* where these begin, in floats of scratch memory */
    wi_conv_quads read;        /* the image */
} wi_conv_packing;

wi_conv_packing wi_conv_packing_of(const wi_kernel_site *site, const wi_conv_panels *panels);
/* Do the kernel's numbers fit in ints? height: rows of a tile. */
bool wi_conv_packing_fits(const wi_kernel_site *site, const wi_conv_panels *panels, int64_t height);

/* Appends the launches "pack", of the weight, and "stage", of the image if it needs a copy, in groups of `packed` items. */
void wi_conv_packing_pack(
    wi_kernel_plan *plan, const wi_conv_geometry *geometry, const wi_conv_packing *packing, int64_t packed);
/* Appends the image, the panels and the table to the arguments of a kernel. */
void wi_conv_packing_operands(wi_kernel_launch *launch, const wi_conv_packing *packing);
/* The same for kernels by engines, with the bytes by which an item's channel and tap move from one block of `step` steps to the
 * next. */
void wi_conv_packing_begin(wi_kernel_launch *launch, const wi_conv_packing *packing, int64_t step);
/* Appends ints read (3), made (3), stride (3), transposed; longs: strides of the image between groups, images, and along the axes
 * (3). */
void wi_conv_packing_end(
    wi_kernel_launch *launch, const wi_conv_packing *packing, const wi_conv_geometry *geometry);

#endif
