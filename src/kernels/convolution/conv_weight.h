/* The weight's gradient of a convolution: what its kernels share. x is the image, y the gradient of the convolution's result. */
#ifndef WI_CONV_WEIGHT_H
#define WI_CONV_WEIGHT_H

#include "kernels/implementation.h"
#include "ops/convolution/conv.h"

/* The convolution of the node at this site. */
wi_conv wi_conv_weight_of(const wi_kernel_site *site);

/* Appends the arguments of all kernels: ints images, channels, filters, groups, image (3), result (3), taps (3), stride (3),
 * dilation (3), before (3). */
void wi_conv_weight_add_sizes(wi_kernel_launch *launch, const wi_conv *conv);
/* Appends the launch "combine" of class gpu, which adds up splits: work-items are elements of the weight, in groups of `group`. */
void wi_conv_weight_combine(wi_kernel_plan *plan, const wi_conv *conv, int64_t splits, int64_t group);

double wi_conv_weight_multiplications(const wi_conv *conv);
/* Bytes of image, result and weight in f32. */
double wi_conv_weight_bytes(const wi_conv *conv);
/* Elements of the weight, and positions of the result in all images. */
int64_t wi_conv_weight_elements(const wi_conv *conv);
int64_t wi_conv_weight_positions(const wi_conv *conv);

#endif
