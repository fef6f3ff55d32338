/* The weight's gradient of a convolution: its kernels. */
#ifndef WI_CONV_WEIGHT_H
#define WI_CONV_WEIGHT_H

#include "graph/kernel_op.h"

weft_status wi_conv_weight_kernel(const wi_kernel_site *site, wi_kernel_plan *plan);

#endif
