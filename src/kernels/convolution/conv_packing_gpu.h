/* What kernels of class gpu over windows read instead of the weight and the image: the weight as panels, a table of taps, and a
 * copy of the image if its channels cannot be read in chunks. See conv_taps_gpu.clh and conv_pack_gpu.clh in
 * cl_kernels/convolution. */
#ifndef WI_CONV_PACKING_GPU_H
#define WI_CONV_PACKING_GPU_H

#include "kernels/convolution/conv_product.h"
#include "kernels/convolution/conv_stage_gpu.h"

/* In which form a kernel reads the panels, the table and the image. */
typedef struct wi_conv_panels {
    int64_t step;        /* steps of k of a block */
    int64_t past;        /* entries that the table needs after the last tap of a phase */
    int64_t chunk;       /* channels of the image that are read at once */
    int64_t number_size; /* bytes of a number in the panels */
    int64_t filters;     /* the filters in a row of the panels are rounded up to a multiple of this number */
    int64_t behind;      /* rows of the panels that the kernel reads behind the last one */
    weft_dtype format;   /* the format in which the image is read */
} wi_conv_panels;

/* How panels, table and image are stored in scratch memory, in this order. */
typedef struct wi_conv_packing {
    int64_t width, rows;   /* columns and rows of a group's panels */
    int64_t phases, spare; /* spare: rows of zeros after each phase */
    int64_t elements,
        spares; /* numbers in the rows of all panels that have weights, and in the rows of zeros */
    int64_t table, image, end; /* where table and image begin, and where the image ends, in floats */
    wi_conv_quads read;        /* the image */
} wi_conv_packing;

wi_conv_packing wi_conv_packing_of(const wi_kernel_site *site, const wi_conv_panels *panels);
/* Do the indices and offsets that the kernel computes fit in ints? height: rows of a tile. */
bool wi_conv_packing_fits(const wi_kernel_site *site, const wi_conv_panels *panels, int64_t height);

/* Appends the launch "pack", which packs the weight, and, if the image needs a copy, the launch "stage", which copies the image.
 * Their work-groups have `packed` items. */
void wi_conv_packing_pack(
    wi_kernel_plan *plan, const wi_conv_geometry *geometry, const wi_conv_packing *packing, int64_t packed);
/* Appends the image, the panels and the table to the arguments of a kernel. */
void wi_conv_packing_operands(wi_kernel_launch *launch, const wi_conv_packing *packing);
/* Appends the same arguments for a kernel that uses a matrix engine, and then three ints, in bytes: by how much an item's channel
 * moves from one block of `step` steps of k to the next, the length of a pixel's channels, and by how much the item's place in
 * the table moves. */
void wi_conv_packing_begin(wi_kernel_launch *launch, const wi_conv_packing *packing, int64_t step);
/* Appends as ints the sizes `read` of the image (3), the sizes `made` of the result (3), the strides (3) and `transposed` of the geometry
 * (conv_product.h), and as longs the strides in memory of the image between groups, between images, and along the axes (3). */
void wi_conv_packing_end(
    wi_kernel_launch *launch, const wi_conv_packing *packing, const wi_conv_geometry *geometry);

#endif
