/* Convolutions whose kernels differ from example to example, as products of windows. */
#include "graph/sizes.h"
#include "ops/convolution/conv.h"

/* The windows of x (N, C, I...), as (N, C, K..., O...). */
static weft_tensor *windows_of(
    weft_tensor *x, const weft_tensor *weight, const weft_conv_options *options, int axes) {
    int64_t before[WEFT_MAX_RANK] = {0}, after[WEFT_MAX_RANK] = {0};
    int order[WEFT_MAX_RANK] = {0, 1};
    for (int i = 0; i < axes; i++) {
        before[2 + i] = options->paddings[i];
        after[2 + i] = options->paddings_after[i];
        order[2 + i] = 2 + axes + i;
        order[2 + axes + i] = 2 + i;
    }
    x = weft_pad(x, before, after, WEFT_PAD_CONSTANT, 0);
    for (int i = 0; i < axes; i++) {
        const int64_t dilation = options->dilations[i], taps = weight->shape.dims[3 + i];
        x = weft_unfold(x, 2 + i, dilation * (taps - 1) + 1, options->strides[i]);
        x = weft_slice_step(x, -1, 0, WEFT_END, dilation);
    }
    return weft_permute_axes(x, 2 + 2 * axes, order);
}

weft_tensor *wi_conv_each(
    weft_tensor *x, weft_tensor *weight, weft_tensor *bias, const weft_conv_options *options, int axes) {
    const int64_t groups = options->groups, filters = weight->shape.dims[1];
    int64_t taps = weight->shape.dims[2], result[WEFT_MAX_RANK] = {x->shape.dims[0], filters},
            across[WEFT_MAX_RANK] = {x->shape.dims[0], filters, 1, 1, 1};
    weft_tensor *const windows = windows_of(x, weight, options, axes);
    if (!windows) return NULL;
    for (int i = 0; i < axes; i++) {
        taps *= weight->shape.dims[3 + i];
        result[2 + i] = windows->shape.dims[2 + axes + i];
    }
    weft_tensor *const flat = weft_flatten_axes(windows, 2 + axes, 1 + 2 * axes);
    if (!flat) return NULL;
    const int64_t places = flat->shape.dims[2 + axes];
    weft_tensor *y = weft_matmul(
        weft_reshape_shape(weight, 4, (const int64_t[]){x->shape.dims[0], groups, filters / groups, taps}),
        weft_reshape_shape(flat, 4, (const int64_t[]){x->shape.dims[0], groups, taps, places}));
    y = weft_reshape_shape(y, 2 + axes, result);
    if (bias && bias->shape.rank == 1) across[0] = 1;
    return bias ? weft_add(y, weft_reshape_shape(bias, 2 + axes, across)) : y;
}
