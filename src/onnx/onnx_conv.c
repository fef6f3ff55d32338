/* Convolutions of ONNX. Images have the axes (N, C, spatial...) in ONNX and in Weft. */
#include "onnx/onnx_window.h"
#include <string.h>

static weft_conv_options conv_options(const wi_onnx_window *w, wi_onnx_node *node) {
    weft_conv_options options = {
        WEFT_CONV_OPTIONS_INIT, .mode = WEFT_PADDING_EACH, .groups = wi_onnx_whole(node, "group", 1)};
    for (int d = 0; d < w->axes; d++) {
        options.strides[d] = w->stride[d];
        options.dilations[d] = w->dilation[d];
        options.paddings[d] = w->before[d];
        options.paddings_after[d] = w->after[d];
    }
    return options;
}

/* Winograd's algorithm for windows of 3 x 3 rounds intermediate values. Adding a column of zeros to the weight prevents its use where results
 * must be exact. */
static weft_tensor *with_more_zeros(weft_tensor *weight, weft_conv_options *options) {
    const bool is_three = weft_tensor_rank(weight) == 4 && weft_tensor_dimension(weight, 2) == 3 &&
                          weft_tensor_dimension(weight, 3) == 3;
    if (!is_three) return weight;
    options->paddings_after[1] += options->dilations[1];
    return weft_pad(weight, (const int64_t[4]){0}, (const int64_t[]){0, 0, 0, 1}, WEFT_PAD_CONSTANT, 0);
}

weft_tensor *wi_onnx_conv(wi_onnx_import *n, wi_onnx_node *node, weft_tensor *x, weft_tensor *weight,
    weft_tensor *bias, bool exact) {
    wi_onnx_window w;
    if (n->status != WEFT_OK || !wi_onnx_window_read(&w, n, node, x, weight)) return NULL;
    weft_conv_options options = conv_options(&w, node);
    if (exact) weight = with_more_zeros(weight, &options);
    return weft_conv_with(x, weight, bias, &options);
}

static weft_tensor *build_conv(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0), *const weight = wi_onnx_get(n, node, 1);
    weft_tensor *const bias = wi_onnx_has(node, 2) ? wi_onnx_get(n, node, 2) : NULL;
    return x && weight ? wi_onnx_conv(n, node, x, weight, bias, false) : NULL;
}

/* Sets the padding of a transposed convolution that gives the wanted size of an axis. A single missing element is added at the end. Several
 * are an error, because the specification and its implementations differ in where they are added. */
static bool pad_to(wi_onnx_window *w, int axis, int64_t *more, int64_t all, bool upper, bool stated) {
    const int64_t before = upper ? all / 2 : all - all / 2, after = all - before;
    if (all < 0) {
        if (upper || all < -1 || w->before[axis] || w->after[axis]) return false;
        *more += 1;
        return true;
    }
    if (stated && (w->before[axis] != before || w->after[axis] != after)) return false;
    w->before[axis] = before;
    w->after[axis] = after;
    return true;
}

/* Computes the padding from output_shape, or from auto_pad, with which the result has the size of the image times the stride. */
static bool pad_transposed(
    wi_onnx_window *w, int64_t *more, wi_onnx_import *n, wi_onnx_node *node, const weft_tensor *x) {
    const wi_onnx_list wanted = wi_onnx_wholes(node, "output_shape");
    const bool upper = wi_onnx_says(node, "auto_pad", "SAME_UPPER"),
               same = upper || wi_onnx_says(node, "auto_pad", "SAME_LOWER");
    if (wanted.count == 0 && !same) return true;
    /* In some files output_shape also has the batch and the channels. */
    const int skipped = wanted.count == w->axes + 2 ? 2 : 0;
    if (wanted.count > 0 && wanted.count != w->axes + skipped)
        return wi_onnx_fail(n, node, WEFT_ERROR_SHAPE, "output_shape has %d numbers, expected %d",
                   wanted.count, w->axes),
               false;
    for (int d = 0; d < w->axes; d++) {
        const int64_t size = wi_onnx_fixed_size(x, d + 2);
        if (wanted.count > 0 && (size == 0 || wanted.of[d + skipped] < 1))
            return wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED,
                       "output_shape needs an image of fixed size, and numbers of at least 1"),
                   false;
        /* The size of the result without padding, minus the wanted size. */
        const int64_t all = wi_onnx_window_reach(w, d) - w->stride[d] + more[d] +
                            (wanted.count > 0 ? size * w->stride[d] - wanted.of[d + skipped] : 0);
        if (!pad_to(w, d, &more[d], all, upper, w->before[d] || w->after[d]))
            return wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED,
                       "versions of ONNX disagree on where this output_shape or auto_pad adds elements"),
                   false;
    }
    return true;
}

static weft_tensor *build_conv_transpose(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0), *const weight = wi_onnx_get(n, node, 1);
    weft_tensor *const bias = wi_onnx_has(node, 2) ? wi_onnx_get(n, node, 2) : NULL;
    const wi_onnx_list more = wi_onnx_wholes(node, "output_padding");
    wi_onnx_window w;
    if (n->status != WEFT_OK || !wi_onnx_window_read(&w, n, node, x, weight)) return NULL;
    int64_t added[3] = {0};
    for (int d = 0; d < w.axes && d < more.count; d++) {
        added[d] = more.of[d];
        if (added[d] < 0 || added[d] > INT32_MAX / 2)
            return wi_onnx_fail(n, node, WEFT_ERROR_SHAPE, "output_padding is out of range");
    }
    if (!pad_transposed(&w, added, n, node, x)) return NULL;
    weft_conv_options options = conv_options(&w, node);
    memcpy(options.output_paddings, added, sizeof added);
    return weft_conv_transpose_with(x, weight, bias, &options);
}

const wi_onnx_op wi_onnx_conv_ops[] = {{"Conv", .build = build_conv, .weights = 1u << 1 | 1u << 2},
    {"ConvTranspose", .build = build_conv_transpose, .weights = 1u << 1 | 1u << 2}, {0}};
