/* A weight's gradient on its own, outside a plan, compared with its exact result: whether an implementation that needs a
 * matrix engine is right on a device (see product/gemm_check.h), and for tests. */
#ifndef WI_CONV_WEIGHT_CHECK_H
#define WI_CONV_WEIGHT_CHECK_H

#include "cl/opened_device.h"
#include "kernels/registry.h"

/* Of two spatial axes, which must leave a result. */
typedef struct wi_conv_weight_case {
    int64_t images, channels, filters, groups; /* of all groups */
    int64_t image[2];
    int32_t taps[2], stride[2], dilation[2], padding[2];
    weft_dtype formats[2]; /* of image and result */
} wi_conv_weight_case;

/* *right: every element is exact. The numbers are eighths up to 1, so that all sums are exact in f32. A case that the
 * implementation does not accept is an error. */
weft_status wi_conv_weight_compare(bool *right, wi_device *device, const wi_implementation *implementation,
    const wi_variant *variant, const wi_conv_weight_case *problem);

/* Of operands in bf16; the tuning database keeps the answer. Logs why not. The thread's error stays what it was. */
bool wi_conv_weight_is_right(
    wi_device *device, const wi_implementation *implementation, const wi_variant *variant);

#endif
