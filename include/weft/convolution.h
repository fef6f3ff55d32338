/* weft/convolution.h: convolutions over one, two or three spatial axes. The layers are in nn.h.
 *
 * Images are (N, C, spatial...), f32: (N, C, L), (N, C, H, W) or (N, C, D, H, W). Images and results are channels-last
 * in memory, so that consecutive convolutions need no layout conversion. The definitions are those of the PyTorch
 * functions of the same names.
 *
 * An option whose name is singular is one number for all spatial axes; the plural has a number for each axis, in the
 * order of the shape: .stride = 2 or .strides = {2, 1}, where PyTorch has stride=2 or stride=(2, 1).
 * WEFT_ERROR_ARGUMENT: both are set; an entry is for an axis that x does not have; some entries are 0 and others are
 * not (except paddings).
 *
 * A call that fails returns NULL, and the graph keeps the error: WEFT_ERROR_SHAPE (ranks or channels that do not match,
 * a window larger than the padded image, a spatial axis that depends on the batch), WEFT_ERROR_DTYPE (not f32),
 * WEFT_ERROR_ARGUMENT (an option out of range). */
#ifndef WEFT_CONVOLUTION_H
#define WEFT_CONVOLUTION_H

#include <weft/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum weft_conv_padding {
    WEFT_PADDING_EQUAL, /* `padding` zeros on both sides of an axis */
    WEFT_PADDING_EACH,  /* `padding` zeros before an axis and `padding_after` zeros after it */
    /* As many zeros as give a result of size image / stride, rounded up; if their number is odd, the last zero is added
     * after the axis. padding must not be set. */
    WEFT_PADDING_SAME
} weft_conv_padding;

typedef struct weft_conv_options {
    size_t struct_size;
    int64_t stride, strides[3];     /* 0 (the default) means 1 */
    int64_t dilation, dilations[3]; /* 0 (the default) means 1 */
    weft_conv_padding mode;         /* default WEFT_PADDING_EQUAL; transposed: not WEFT_PADDING_SAME */
    int64_t padding, paddings[3];   /* default 0; transposed: the padding of the corresponding convolution */
    int64_t padding_after, paddings_after[3]; /* default 0; for WEFT_PADDING_EACH */
    /* Transposed only: elements added at the end of an axis; default 0; less than the larger of stride and dilation. */
    int64_t output_padding, output_paddings[3];
    int64_t groups; /* 0 (the default) means 1; divides the channels of x and of the result */
} weft_conv_options;
#define WEFT_CONV_OPTIONS_INIT .struct_size = sizeof(weft_conv_options)

/* y[n][f][o] = bias[f] + sum over c, k of x[n][c][o·stride + k·dilation - padding] · weight[f][c][k], where x is 0
 * outside the image. x (N, C, I...), weight (F, C/groups, K...), bias (F) or NULL → (N, F, O...) with
 *     O = (I + paddings - dilation·(K - 1) - 1) / stride + 1, rounded down
 * paddings is the sum of both sides. options NULL means all defaults. weight (N, F, C/groups, K...) has kernels for
 * each example, as a network computes them (dynamic convolutions, style modulation); bias then is (F), (N, F) or NULL. */
WEFT_API weft_tensor *weft_conv_with(
    weft_tensor *x, weft_tensor *weight, weft_tensor *bias, const weft_conv_options *options);
/* Transposed convolution: the gradient of weft_conv_with with respect to x, as an op. x (N, C, I...), weight (C,
 * F/groups, K...), bias (F) or NULL → (N, F, O...) with
 *     O = (I - 1)·stride - paddings + dilation·(K - 1) + output_padding + 1
 * options NULL means all defaults. */
WEFT_API weft_tensor *weft_conv_transpose_with(
    weft_tensor *x, weft_tensor *weight, weft_tensor *bias, const weft_conv_options *options);

#ifdef __cplusplus
}
#endif

#endif
