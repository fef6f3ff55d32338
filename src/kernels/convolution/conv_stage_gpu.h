/* Images for kernels of class gpu that read several channels at once: quads of 4, or chunks of 8. If the channels of an image are
 * not aligned, or the format is another one, a launch copies the image first. See cl_kernels/convolution/conv_stage_gpu.clh. */
#ifndef WI_CONV_STAGE_GPU_H
#define WI_CONV_STAGE_GPU_H

#include "kernels/implementation.h"

typedef struct wi_conv_quads {
    int input;                                 /* which of the site's inputs is the image */
    int64_t chunk;                             /* channels that are read at once */
    weft_dtype format;                         /* that is read */
    bool staged;                               /* is a copy read? */
    int64_t images, groups, channels, size[3]; /* channels: of a group */
    int64_t from_image, from[3];               /* strides of the input, between images and along the axes */
    int64_t pitch;                             /* channels of a group, rounded up to chunks */
    int64_t image, step[3], group;             /* strides of what is read */
    int64_t unit;                              /* elements that an offset of the memory counts */
    int64_t elements, element_size;            /* of the copy; bytes */
} wi_conv_quads;

/* Fills in the rest of an image whose input, chunk, format, sizes and strides of the input are set. */
void wi_conv_quads_find(wi_conv_quads *quads, const wi_kernel_site *site);
/* Can an unsigned int count the quads of the copy and, with `always`, of an image that is not copied? */
bool wi_conv_quads_fit(const wi_conv_quads *quads, bool always);
/* Floats of the copy; 0 without one. */
int64_t wi_conv_quads_floats(const wi_conv_quads *quads);
/* Appends the launch that copies, if there is a copy, to float `at` of the scratch memory, in groups of `packed` items. */
void wi_conv_quads_stage(
    wi_kernel_plan *plan, const char *kernel, const wi_conv_quads *quads, int64_t at, int64_t packed);
/* Appends the image to the arguments of a kernel. */
void wi_conv_quads_add(wi_kernel_launch *launch, const wi_conv_quads *quads, int64_t at);

#endif
