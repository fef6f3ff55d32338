/* See onnx_window.h. */
#include "onnx/onnx_window.h"
#include <string.h>

int64_t wi_onnx_window_reach(const wi_onnx_window *w, int axis) {
    return w->dilation[axis] * (w->size[axis] - 1) + 1;
}

/* Copies the `count` numbers of an attribute, each of which must be at least `least`. If the attribute is absent, the values do not change. */
static bool read_list(
    wi_onnx_import *n, wi_onnx_node *node, const char *name, int64_t *values, int count, int64_t least) {
    const wi_onnx_list list = wi_onnx_wholes(node, name);
    if (!wi_onnx_attribute(node, name)) return true;
    bool fits = list.count == count;
    for (int i = 0; fits && i < count; i++) {
        fits = list.of[i] >= least && list.of[i] <= INT32_MAX / 2;
        values[i] = list.of[i];
    }
    if (!fits)
        wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED,
            "the attribute %s is not a list of %d numbers of at least %d", name, count, (int)least);
    return fits;
}

/* Sets the padding with which the result has the size image / stride, rounded up. */
static bool pad_same(wi_onnx_window *w, const weft_tensor *x, bool odd_first) {
    for (int d = 0; d < w->axes; d++) {
        const int64_t n = wi_onnx_fixed_size(x, d + 2), stride = w->stride[d];
        if (n == 0 && stride > 1) return false;
        const int64_t rest = stride == 1 ? 0 : (n + stride - 1) / stride * stride - n;
        const int64_t all = wi_onnx_window_reach(w, d) - stride + rest, less = all > 0 ? all / 2 : 0,
                      more = all > 0 ? all - less : 0;
        w->before[d] = odd_first ? more : less;
        w->after[d] = odd_first ? less : more;
    }
    return true;
}

static bool pad_automatically(
    wi_onnx_window *w, wi_onnx_import *n, wi_onnx_node *node, const weft_tensor *x) {
    const bool upper = wi_onnx_says(node, "auto_pad", "SAME_UPPER"),
               lower = wi_onnx_says(node, "auto_pad", "SAME_LOWER"),
               valid = wi_onnx_says(node, "auto_pad", "VALID"),
               none = !wi_onnx_attribute(node, "auto_pad") || wi_onnx_says(node, "auto_pad", "NOTSET");
    if (none) return true;
    memset(w->before, 0, sizeof w->before);
    memset(w->after, 0, sizeof w->after);
    if (valid || strcmp(node->op_type, "ConvTranspose") == 0) return true;
    if ((upper || lower) && pad_same(w, x, lower)) return true;
    return wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED,
               "this auto_pad is not supported along an axis whose size is open"),
           false;
}

bool wi_onnx_window_read(wi_onnx_window *w, wi_onnx_import *n, wi_onnx_node *node, const weft_tensor *x,
    const weft_tensor *weight) {
    int64_t pads[6] = {0};
    *w = (wi_onnx_window){.axes = weft_tensor_rank(x) - 2};
    if (w->axes < 1 || w->axes > 3)
        return wi_onnx_fail(
                   n, node, WEFT_ERROR_UNSUPPORTED, "images have 1 to 3 spatial axes, not %d", w->axes),
               false;
    if (weight && weft_tensor_rank(weight) != w->axes + 2)
        return wi_onnx_fail(n, node, WEFT_ERROR_SHAPE, "the ranks of image and weight differ"), false;
    for (int d = 0; d < w->axes; d++) {
        w->size[d] = weight ? weft_tensor_dimension(weight, d + 2) : 1;
        w->stride[d] = w->dilation[d] = 1;
    }
    if (!weight && !wi_onnx_attribute(node, "kernel_shape"))
        return wi_onnx_fail(n, node, WEFT_ERROR_FORMAT, "the attribute kernel_shape is missing"), false;
    if (!read_list(n, node, "kernel_shape", w->size, w->axes, 1) ||
        !read_list(n, node, "strides", w->stride, w->axes, 1) ||
        !read_list(n, node, "dilations", w->dilation, w->axes, 1) ||
        !read_list(n, node, "pads", pads, 2 * w->axes, 0))
        return false;
    for (int d = 0; d < w->axes; d++) {
        w->before[d] = pads[d];
        w->after[d] = pads[d + w->axes];
        if (weight && w->size[d] != weft_tensor_dimension(weight, d + 2))
            return wi_onnx_fail(n, node, WEFT_ERROR_SHAPE, "kernel_shape is not that of the weight"), false;
    }
    return pad_automatically(w, n, node, x);
}
