/* Convolutions are three bilinear nodes over channels-last images.
 *
 *   conv         x (N, I..., C), w          → (N, O..., F)
 *   conv_data    y (N, O..., F), w          → (N, I..., C)    its gradient with regard to x
 *   conv_weight  x (N, I..., C), y (N, O..., F) → w           its gradient with regard to w
 *
 * w is (F, C / groups, K...). Each of the three ops is a gradient of the other two, so that gradients of
 * any order exist. */
#ifndef WI_CONV_H
#define WI_CONV_H

#include "graph/node.h"
#include <weft/convolution.h>

extern const wi_op wi_op_conv, wi_op_conv_data, wi_op_conv_weight;

/* The sizes of a convolution at the actual batch size, with three spatial axes; missing leading axes have size 1. */
typedef struct wi_conv {
    int64_t images, groups;
    int64_t channels, filters; /* of a group */
    int64_t image[3], result[3], taps[3], stride[3], dilation[3], before[3];
} wi_conv;

/* The sizes of a conv, conv_data or conv_weight node; x and y are the extents of the image and the result. */
wi_conv wi_conv_of(
    const wi_conv_attributes *attributes, const wi_extent *x, const wi_extent *y, const wi_shape *weight);
/* The number of elements of a window. */
static inline int64_t wi_conv_taps(const int64_t taps[3]) {
    return taps[0] * taps[1] * taps[2];
}
/* Twice the number of multiply-adds, including those with zeros outside the image. */
double wi_conv_flops(const wi_conv *conv);
/* Does a matrix product compute the convolution? It does if a window has one element, and the result has one position
 * for each position of the image. Padding behind an axis adds positions, and an output padding removes some. */
bool wi_conv_is_pointwise(const wi_conv *conv);
/* Writes the strides of images and of the three spatial axes of a channels-last layout. False: channels are not adjacent. */
bool wi_conv_strides(const wi_extent *extent, const wi_layout *layout, int64_t strides[4]);

/* weft_conv_with with a weight (N, F, C / groups, K...) and a bias (F), (N, F) or NULL, which the caller has checked. The options have a
 * number for each of the `axes` spatial axes. */
weft_tensor *wi_conv_each(
    weft_tensor *x, weft_tensor *weight, weft_tensor *bias, const weft_conv_options *options, int axes);

#endif
