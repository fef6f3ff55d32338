/* Convolutions as a plan sees them: three bilinear nodes over channels-last images.
 *
 *   conv         x (N, I..., C), w          → (N, O..., F)
 *   conv_data    y (N, O..., F), w          → (N, I..., C)    its gradient with regard to x
 *   conv_weight  x (N, I..., C), y (N, O..., F) → w           its gradient with regard to w
 *
 * w is (F, C / groups, K...). Each of them is a gradient of each other, so that every order of
 * differentiation is there. */
#ifndef WI_CONV_H
#define WI_CONV_H

#include "ops/op_table.h"

extern const wi_op wi_op_conv, wi_op_conv_data, wi_op_conv_weight;

/* One convolution, filled up to three spatial axes with leading ones; sizes at the actual batch. */
typedef struct wi_conv {
    int64_t images, groups;
    int64_t channels, filters; /* of a group */
    int64_t image[3], result[3], taps[3], stride[3], dilation[3], before[3];
} wi_conv;

/* What a conv, conv_data or conv_weight node computes; x and y are the extents of the image and the result.
 */
wi_conv wi_conv_of(
    const wi_conv_attributes *attributes, const wi_extent *x, const wi_extent *y, const wi_shape *weight);
/* Taps of a window. */
static inline int64_t wi_conv_taps(const int64_t taps[3]) {
    return taps[0] * taps[1] * taps[2];
}
/* Multiply-adds of it, those with zeros outside the image included, times two. */
double wi_conv_flops(const wi_conv *conv);
/* Are windows one element, side by side from the first of the image to the last, so that the result has the image's positions
 * and a product of matrices computes it? Zeros after an axis give the result more positions than the image has, an output padding
 * fewer. */
bool wi_conv_is_pointwise(const wi_conv *conv);
/* A channels-last layout's strides: of images and of the three spatial axes. False: channels are not side by
 * side. */
bool wi_conv_strides(const wi_extent *extent, const wi_layout *layout, int64_t strides[4]);

#endif
