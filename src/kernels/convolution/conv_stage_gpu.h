/* Images for convolutions of class gpu, which read quads of four channels at once, or chunks of eight: see cl_kernels/
 * convolution/conv_stage_gpu.clh. */
#ifndef WI_CONV_STAGE_GPU_H
#define WI_CONV_STAGE_GPU_H

#include "kernels/implementation.h"

/* An image as kernels read it: its own memory, or a copy in scratch memory. */
typedef struct wi_conv_quads {
    int input;
    int64_t chunk;     /* channels that are read at once */
    weft_dtype format; /* that is read */
    bool staged;
    int64_t images, groups, channels, size[3]; /* channels: of a group */
    int64_t from_image, from[3];               /* strides of the input */
    int64_t pitch;                             /* of a group's channels */
    int64_t image, step[3], group;             /* strides of what is read */
    int64_t unit, elements, element_size;      /* elements that an offset counts; of the copy; bytes */
} wi_conv_quads;

/* Completes what is known of an image: pitch, and the rest. Can it be read where it is? */
void wi_conv_quads_find(wi_conv_quads *quads, const wi_kernel_site *site);
/* Does an unsigned int count the quads of the copy, or, with `always`, of an image that is read where it is, too? */
bool wi_conv_quads_fit(const wi_conv_quads *quads, bool always);
/* Floats of scratch memory; a launch of `kernel` that makes the copy there, if it is needed, in groups of `packed`. */
int64_t wi_conv_quads_floats(const wi_conv_quads *quads);
void wi_conv_quads_stage(
    wi_kernel_plan *plan, const char *kernel, const wi_conv_quads *quads, int64_t at, int64_t packed);
/* The argument of a kernel that reads it. */
void wi_conv_quads_add(wi_kernel_launch *launch, const wi_conv_quads *quads, int64_t at);

#endif
