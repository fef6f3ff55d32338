/* Convolutions, pooling and resampling of ONNX. Images have the same axes there and here. */
#include "onnx/onnx_node.h"
#include <math.h>
#include <string.h>

/* A window's options along each spatial axis; before and after: padding. */
typedef struct window {
    int axes;
    int64_t size[3], stride[3], dilation[3], before[3], after[3];
} window;

static int64_t entry(const wi_onnx_list *list, int index, int64_t otherwise) {
    return index < list->count ? list->of[index] : otherwise;
}

/* As many zeros as make the result image / stride long, rounded up. */
static void pad_same(window *w, const weft_tensor *x, bool odd_first) {
    for (int d = 0; d < w->axes; d++) {
        const int64_t n = weft_tensor_dimension(x, d + 2), made = (n + w->stride[d] - 1) / w->stride[d];
        const int64_t all = (made - 1) * w->stride[d] + w->dilation[d] * (w->size[d] - 1) + 1 - n;
        const int64_t less = all > 0 ? all / 2 : 0, more = all > 0 ? all - less : 0;
        w->before[d] = odd_first ? more : less;
        w->after[d] = odd_first ? less : more;
    }
}

/* weight: whose sizes are the window's where an attribute does not say them; NULL: there is none. */
static bool read_window(
    window *w, wi_onnx_import *n, wi_onnx_node *node, const weft_tensor *x, const weft_tensor *weight) {
    const wi_onnx_list sizes = wi_onnx_wholes(node, "kernel_shape"),
                       strides = wi_onnx_wholes(node, "strides"),
                       dilations = wi_onnx_wholes(node, "dilations"), pads = wi_onnx_wholes(node, "pads");
    *w = (window){.axes = weft_tensor_rank(x) - 2};
    if (w->axes < 1 || w->axes > 3)
        return wi_onnx_fail(
                   n, node, WEFT_ERROR_UNSUPPORTED, "images have 1 to 3 spatial axes, not %d", w->axes),
               false;
    for (int d = 0; d < w->axes; d++) {
        w->size[d] = entry(&sizes, d, weight ? weft_tensor_dimension(weight, d + 2) : 1);
        w->stride[d] = entry(&strides, d, 1);
        w->dilation[d] = entry(&dilations, d, 1);
        w->before[d] = entry(&pads, d, 0);
        w->after[d] = entry(&pads, d + w->axes, 0);
    }
    if (wi_onnx_says(node, "auto_pad", "SAME_UPPER")) pad_same(w, x, false);
    if (wi_onnx_says(node, "auto_pad", "SAME_LOWER")) pad_same(w, x, true);
    return true;
}

static weft_conv_options conv_options(const window *w, wi_onnx_node *node) {
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

/* Fast algorithms for windows of 3 x 3 round; a column of zeros more gives a window that they do not take. */
static weft_tensor *with_more_zeros(weft_tensor *weight, weft_conv_options *options) {
    const bool is_three = weft_tensor_rank(weight) == 4 && weft_tensor_dimension(weight, 2) == 3 &&
                          weft_tensor_dimension(weight, 3) == 3;
    if (!is_three) return weight;
    options->paddings_after[1] += options->dilations[1];
    return weft_pad(weight, (const int64_t[4]){0}, (const int64_t[]){0, 0, 0, 1}, WEFT_PAD_CONSTANT, 0);
}

weft_tensor *wi_onnx_conv(wi_onnx_import *n, wi_onnx_node *node, weft_tensor *x, weft_tensor *weight,
    weft_tensor *bias, bool exact) {
    window w;
    if (n->status != WEFT_OK || !read_window(&w, n, node, x, weight)) return NULL;
    weft_conv_options options = conv_options(&w, node);
    if (exact) weight = with_more_zeros(weight, &options);
    return weft_conv_with(x, weight, bias, &options);
}

static weft_tensor *build_conv(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0), *const weight = wi_onnx_get(n, node, 1);
    weft_tensor *const bias = wi_onnx_has(node, 2) ? wi_onnx_get(n, node, 2) : NULL;
    return x && weight ? wi_onnx_conv(n, node, x, weight, bias, false) : NULL;
}

static weft_tensor *build_conv_transpose(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0), *const weight = wi_onnx_get(n, node, 1);
    weft_tensor *const bias = wi_onnx_has(node, 2) ? wi_onnx_get(n, node, 2) : NULL;
    const wi_onnx_list more = wi_onnx_wholes(node, "output_padding");
    window w;
    if (wi_onnx_attribute(node, "output_shape") || wi_onnx_says(node, "auto_pad", "SAME_UPPER") ||
        wi_onnx_says(node, "auto_pad", "SAME_LOWER"))
        return wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED, "output_shape and auto_pad are not supported");
    if (n->status != WEFT_OK || !read_window(&w, n, node, x, weight)) return NULL;
    weft_conv_options options = conv_options(&w, node);
    for (int d = 0; d < w.axes; d++) options.output_paddings[d] = entry(&more, d, 0);
    return weft_conv_transpose_with(x, weight, bias, &options);
}

/* Zeros, or for a maximum the least number, around an image. */
static weft_tensor *padded(weft_tensor *x, const window *w, double value) {
    int64_t before[5] = {0}, after[5] = {0};
    for (int d = 0; d < w->axes; d++) {
        before[d + 2] = w->before[d];
        after[d + 2] = w->after[d];
    }
    return weft_pad(x, before, after, WEFT_PAD_CONSTANT, value);
}

/* Is the padding such as pooling takes it: alike on both sides, and at most half of the window? */
static bool is_even(const window *w) {
    for (int d = 0; d < w->axes; d++)
        if (w->before[d] != w->after[d] || w->before[d] > (w->dilation[d] * (w->size[d] - 1) + 1) / 2)
            return false;
    return true;
}

static weft_tensor *build_pool(wi_onnx_import *n, wi_onnx_node *node, bool maximum) {
    weft_tensor *x = wi_onnx_get(n, node, 0);
    window w;
    if (!x || !read_window(&w, n, node, x, NULL)) return NULL;
    if (node->n_output > 1 && node->output[1][0])
        return wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED, "only its first output is supported");
    const bool even = is_even(&w), counts = wi_onnx_whole(node, "count_include_pad", 0) != 0,
               ceils = wi_onnx_whole(node, "ceil_mode", 0) != 0;
    if (!even && (ceils || (!maximum && !counts)))
        return wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED,
            "windows with different padding on both sides are not supported with ceil_mode or without "
            "count_include_pad");
    if (!even) x = padded(x, &w, maximum ? -3.4e38 : 0);
    weft_pool_options options = {
        WEFT_POOL_OPTIONS_INIT, .ceil_mode = ceils, .exclude_padding = !maximum && !counts};
    for (int d = 0; d < w.axes; d++) {
        options.windows[d] = w.size[d];
        options.strides[d] = w.stride[d];
        options.dilations[d] = w.dilation[d];
        options.paddings[d] = even ? w.before[d] : 0;
    }
    return maximum ? weft_max_pool(x, &options) : weft_avg_pool(x, &options);
}

static weft_tensor *build_max_pool(wi_onnx_import *n, wi_onnx_node *node) {
    return build_pool(n, node, true);
}

static weft_tensor *build_average_pool(wi_onnx_import *n, wi_onnx_node *node) {
    return build_pool(n, node, false);
}

static weft_tensor *build_global_average(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0);
    return x ? weft_global_avg_pool(x) : NULL;
}

static weft_tensor *build_global_max(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0);
    return x ? weft_global_max_pool(x) : NULL;
}

/* How positions of the result are those of the image; what Weft computes of it. */
typedef struct resizing {
    bool known, linear, aligned, pytorch;
} resizing;

static resizing resizing_of(wi_onnx_node *node) {
    static const char name[] = "coordinate_transformation_mode";
    const bool upsample = strcmp(node->op_type, "Upsample") == 0;
    resizing r = {.linear = wi_onnx_says(node, "mode", "linear"),
        .aligned = wi_onnx_says(node, name, "align_corners"),
        .pytorch = wi_onnx_says(node, name, "pytorch_half_pixel")};
    const bool centred =
        !wi_onnx_attribute(node, name) || wi_onnx_says(node, name, "half_pixel") || r.pytorch;
    const bool floors =
        upsample || (wi_onnx_says(node, name, "asymmetric") && wi_onnx_says(node, "nearest_mode", "floor"));
    const bool nearest = wi_onnx_says(node, "mode", "nearest") || !wi_onnx_attribute(node, "mode");
    r.known = r.linear ? !upsample && (centred || r.aligned) : nearest && floors;
    return r;
}

/* Sizes of spatial axes, or factors. Positions of a result that factors do not make a whole number long, or of one pixel, are
 * other ones in ONNX where corners are aligned, or in PyTorch's form. */
static bool resize_axes(weft_resample_options *options, const resizing *r, const weft_tensor *x,
    const wi_onnx_numbers *known, bool sized) {
    for (int d = 0; d < weft_tensor_rank(x) - 2; d++) {
        const double given = known->data[d + 2],
                     size = sized ? given : given * (double)weft_tensor_dimension(x, d + 2);
        if ((r->aligned && size != floor(size)) || (r->pytorch && size < 2)) return false;
        options->sizes[d] = sized ? (int64_t)given : 0;
        options->factors[d] = sized ? 0 : given;
    }
    return true;
}

/* Upsample has factors as its second input, Resize as its third, and sizes as its fourth. */
static weft_tensor *build_resize(wi_onnx_import *n, wi_onnx_node *node) {
    const bool sized = wi_onnx_has(node, 3);
    weft_tensor *const x = wi_onnx_get(n, node, 0);
    const wi_onnx_numbers *const known = wi_onnx_known(n, node,
        strcmp(node->op_type, "Upsample") == 0 ? 1
        : sized                                ? 3
                                               : 2);
    const resizing r = resizing_of(node);
    weft_resample_options options = {WEFT_RESAMPLE_OPTIONS_INIT,
        .mode = r.linear ? WEFT_RESAMPLE_LINEAR : WEFT_RESAMPLE_NEAREST, .align_corners = r.aligned};
    if (!x) return NULL;
    const int rank = weft_tensor_rank(x);
    if (!known || known->count != (size_t)rank || rank < 3 || rank > 5)
        return wi_onnx_fail(
            n, node, WEFT_ERROR_UNSUPPORTED, "it needs constant sizes or factors for all axes");
    if (!r.known || !resize_axes(&options, &r, x, known, sized))
        return wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED,
            "its mode is not supported; nearest with asymmetric and floor, and linear are");
    return weft_resample(x, &options);
}

const wi_onnx_op wi_onnx_image_ops[] = {{"Conv", .build = build_conv, .weights = 1u << 1 | 1u << 2},
    {"ConvTranspose", .build = build_conv_transpose, .weights = 1u << 1 | 1u << 2},
    {"MaxPool", .build = build_max_pool}, {"AveragePool", .build = build_average_pool},
    {"GlobalAveragePool", .build = build_global_average}, {"GlobalMaxPool", .build = build_global_max},
    {"Resize", .build = build_resize, .host = 1u << 2 | 1u << 3},
    {"Upsample", .build = build_resize, .host = 1u << 1}, {0}};
