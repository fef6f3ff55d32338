/* weft/convolution.h: convolutions over one, two or three spatial axes,. Layers stand in nn.h.
 *
 * Images are (N, C, spatial...): (N, C, L), (N, C, H, W) or (N, C, D, H, W), f32. In memory they are
 * channels-last, and so are the results: one convolution after another moves nothing. Spatial axes are
 * numbered from 0 in that order. Definitions are those of PyTorch's functions of these names.
 *
 * Errors, as for every expression: WEFT_ERROR_SHAPE (ranks or channels that do not fit, a window larger than
 * the padded image, spatial sizes that are the batch), WEFT_ERROR_DTYPE, WEFT_ERROR_ARGUMENT (an option out
 * of range). */
#ifndef WEFT_CONVOLUTION_H
#define WEFT_CONVOLUTION_H

#include <weft/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The same number for every spatial axis: .stride = WEFT_ALL(2). */
#define WEFT_ALL(n)                                                                                          \
    { (n), (n), (n) }

typedef enum weft_conv_padding {
    WEFT_PADDING_EQUAL, /* `padding` zeros on both sides of an axis */
    WEFT_PADDING_EACH,  /* `padding` zeros before it and `padding_after` after it */
    WEFT_PADDING_SAME   /* as many as make the result as large as image / stride, rounded up; an odd one after
                         */
} weft_conv_padding;

typedef struct weft_conv_options {
    size_t struct_size;
    int64_t stride[3];         /* default 0: 1 */
    int64_t dilation[3];       /* default 0: 1 */
    weft_conv_padding mode;    /* default WEFT_PADDING_EQUAL; transposed: not WEFT_PADDING_SAME */
    int64_t padding[3];        /* default 0; transposed: what the forward convolution would have padded */
    int64_t padding_after[3];  /* default 0 */
    int64_t output_padding[3]; /* default 0; transposed only: added at the end of an axis, below its stride or
                                  dilation */
    int64_t groups;            /* default 0: 1; divides the channels of x and of the result */
} weft_conv_options;
#define WEFT_CONV_OPTIONS_INIT .struct_size = sizeof(weft_conv_options)

/* y[n][f][o] = bias[f] + sum over c, k of x[n][c][o·stride + k·dilation - padding] · weight[f][c][k], zero
 * outside x: x (N, C, I...), weight (F, C / groups, K...), bias (F) or NULL → (N, F, O...) with O = (I +
 * paddings - dilation·(K - 1) - 1) / stride + 1, rounded down. options NULL: every default. */
WEFT_API weft_tensor *weft_conv_with(
    weft_tensor *x, weft_tensor *weight, weft_tensor *bias, const weft_conv_options *options);
/* The gradient of that convolution with regard to its image, as an op: x (N, C, I...), weight (C, F / groups,
 * K...), bias (F) or NULL → (N, F, O...) with O = (I - 1)·stride - paddings + dilation·(K - 1) +
 * output_padding + 1. */
WEFT_API weft_tensor *weft_conv_transpose_with(
    weft_tensor *x, weft_tensor *weight, weft_tensor *bias, const weft_conv_options *options);

#ifdef __cplusplus
}
#endif

#endif
