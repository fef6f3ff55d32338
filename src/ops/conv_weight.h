/* The weight's gradient of a convolution: its kernels. */
#ifndef WI_CONV_WEIGHT_H
#define WI_CONV_WEIGHT_H

#include "graph/kernel_op.h"
#include "ops/conv.h"

weft_status wi_conv_weight_kernel(const wi_kernel_site *site, wi_kernel_plan *plan);

/* Where a group is one channel (conv_weight_depthwise.c); plan->flops is set. */
bool wi_conv_weight_is_depthwise(const wi_conv *conv);
weft_status wi_conv_weight_depthwise(const wi_kernel_site *site, const wi_conv *conv, wi_kernel_plan *plan);

/* Of stride 1, by Winograd's products on class cpu (conv_weight_winograd.c), where that pays. */
bool wi_conv_weight_is_winograd(const wi_kernel_site *site, const wi_conv *conv);
weft_status wi_conv_weight_winograd(const wi_conv *conv, int64_t cores, wi_kernel_plan *plan);

/* Windows of one element and stride 1 on class cpu (conv_weight_pointwise.c). */
bool wi_conv_weight_is_pointwise(const wi_kernel_site *site, const wi_conv *conv);
weft_status wi_conv_weight_pointwise(const wi_conv *conv, int64_t units, wi_kernel_plan *plan);

/* What every kernel of a weight's gradient is told: ints images, channels, filters, groups, image (3), result
 * (3), taps (3), stride (3), dilation (3), before (3). */
void wi_conv_weight_add_sizes(wi_kernel_launch *launch, const wi_conv *conv);

#endif
