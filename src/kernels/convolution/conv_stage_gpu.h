/* Images for kernels of class gpu that read several channels at once: quads of 4, or chunks of 8. If the channels of an image are
 * not aligned, or the format is another one, a launch copies the image first. See cl_kernels/convolution/conv_stage_gpu.clh. */
#ifndef WI_CONV_STAGE_GPU_H
#define WI_CONV_STAGE_GPU_H

#include "kernels/implementation.h"

typedef struct wi_conv_quads {
    int input;                                 /* which of the site's inputs is the image */
    int64_t chunk;                             /* channels that are read at once */
    weft_dtype format;                         /* the format in which the kernel reads */
    bool staged;                               /* does the kernel read a copy? */
    int64_t images, groups, channels, size[3]; /* channels: of a group */
    int64_t from_image, from[3];               /* strides of the input, between images and along the axes */
    int64_t pitch;                             /* channels of a group, rounded up to chunks */
    int64_t image, step[3], group;             /* strides of the copy, or of the input if there is no copy */
    int64_t unit;                              /* elements in one unit of the memory's offset */
    int64_t elements, element_size;            /* elements of the copy; bytes of an element */
} wi_conv_quads;

/* Fills in the other fields after the caller has set input, chunk, format, the sizes, and the strides of the input. */
void wi_conv_quads_find(wi_conv_quads *quads, const wi_kernel_site *site);
/* Can an unsigned int count the quads of the copy? Without a copy the answer is true, unless `always` is set: then the quads of
 * the image itself are counted. */
bool wi_conv_quads_fit(const wi_conv_quads *quads, bool always);
/* The size of the copy in floats of scratch memory; 0 if there is no copy. */
int64_t wi_conv_quads_floats(const wi_conv_quads *quads);
/* If there is a copy, appends the launch that writes the copy to the scratch memory, from float `at` on, in groups of `packed`
 * items. */
void wi_conv_quads_stage(
    wi_kernel_plan *plan, const char *kernel, const wi_conv_quads *quads, int64_t at, int64_t packed);
/* Appends the image, or its copy at float `at` of the scratch memory, to the arguments of a kernel. */
void wi_conv_quads_add(wi_kernel_launch *launch, const wi_conv_quads *quads, int64_t at);

#endif
