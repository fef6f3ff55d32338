/* The weight's gradient of a convolution: what its kernels share. */
#ifndef WI_CONV_WEIGHT_H
#define WI_CONV_WEIGHT_H

#include "kernels/implementation.h"
#include "ops/convolution/conv.h"

/* The convolution whose weight's gradient the node at this site is. */
wi_conv wi_conv_weight_of(const wi_kernel_site *site);

/* The arguments of every kernel of a weight's gradient: ints images, channels, filters, groups, image (3), result
 * (3), taps (3), stride (3), dilation (3), before (3). */
void wi_conv_weight_add_sizes(wi_kernel_launch *launch, const wi_conv *conv);

/* Multiply-adds; bytes of image, result and weight, f32. */
double wi_conv_weight_multiplications(const wi_conv *conv);
double wi_conv_weight_bytes(const wi_conv *conv);

int64_t wi_conv_weight_elements(const wi_conv *conv);
int64_t wi_conv_weight_positions(const wi_conv *conv); /* elements of the result a channel */

#endif
