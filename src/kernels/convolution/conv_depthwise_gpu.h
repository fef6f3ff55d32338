/* What kernels of class gpu of convolutions with one channel a group have in common: see cl_kernels/convolution/conv_depthwise_gpu.clh. */
#ifndef WI_CONV_DEPTHWISE_GPU_H
#define WI_CONV_DEPTHWISE_GPU_H

#include <stdint.h>

/* Positions of a row that an item has, at most; pixels that they may meet, which loops over them are unrolled to; taps of a row that are
 * written out. */
enum { WI_DEPTHWISE_PLACES = 4, WI_DEPTHWISE_PIXELS = 32, WI_DEPTHWISE_MOST_TAPS = 7 };

/* Bytes of an image whose offsets have 32 bits, at most. */
#define WI_DEPTHWISE_SHORT ((double)UINT32_MAX + 1.0)

/* Of a row of taps, how many are written out: a divisor, so that none is left. */
int64_t wi_depthwise_taps(int64_t taps);
/* Items of a group along channels, of which there are `items`, of so many channels each: a power of two, whose reads fill 128 bytes; at most
 * `most`. */
int64_t wi_depthwise_wide(int64_t items, int64_t most, int64_t lanes);

#endif
