/* What the kernels of class gpu for convolutions with one channel per group share. See
 * cl_kernels/convolution/conv_depthwise_gpu.clh. */
#ifndef WI_CONV_DEPTHWISE_GPU_H
#define WI_CONV_DEPTHWISE_GPU_H

#include <stdint.h>

/* PLACES: the most positions of a row of the result that an item computes. PIXELS: the most pixels of a row of the image that an
 * item reads for them. MOST_TAPS: the most taps of a row for which the kernel's loop is unrolled. */
enum { WI_DEPTHWISE_PLACES = 4, WI_DEPTHWISE_PIXELS = 32, WI_DEPTHWISE_MOST_TAPS = 7 };

/* The most bytes of an image whose offsets have 32 bits. */
#define WI_DEPTHWISE_SHORT ((double)UINT32_MAX + 1.0)

/* How many taps of a row are unrolled: a divisor of `taps`, so that no remainder is left. */
int64_t wi_depthwise_taps(int64_t taps);
/* Returns how many items a work-group has along the channels: a power of two, at most `most`, and not more than are needed to
 * read 128 bytes. In all there are `items` items along the channels, each with `lanes` channels. */
int64_t wi_depthwise_wide(int64_t items, int64_t most, int64_t lanes);

#endif
