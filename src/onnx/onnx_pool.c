/* Pooling of ONNX. If Weft's pooling supports the windows, they become one op; otherwise the image is padded first. */
#include "onnx/onnx_window.h"
#include <math.h>
#include <string.h>

enum { MOST_TAPS = 256 };

typedef enum pooling { POOL_MAX, POOL_AVERAGE, POOL_LP } pooling;

/* ---- windows over a padded image ---- */

/* The number of windows along an axis of n elements. With ceil_mode, windows that begin behind the image do not exist. */
static int64_t count_windows(const wi_onnx_window *w, int axis, int64_t n, bool ceils) {
    const int64_t stride = w->stride[axis],
                  room = n + w->before[axis] + w->after[axis] - wi_onnx_window_reach(w, axis);
    if (room < 0) return 0;
    const int64_t count = (ceils ? room + stride - 1 : room) / stride + 1;
    return ceils && (count - 1) * stride >= n + w->before[axis] ? count - 1 : count;
}

/* Pads the image at the end, so that the additional windows of ceil_mode are inside of the padded image. */
static weft_tensor *pad_image(weft_tensor *x, const wi_onnx_window *w, const int64_t *counts, double value) {
    int64_t before[5] = {0}, after[5] = {0};
    for (int d = 0; d < w->axes; d++) {
        before[d + 2] = w->before[d];
        after[d + 2] = w->after[d];
        if (counts[d] == 0) continue;
        const int64_t missing = (counts[d] - 1) * w->stride[d] + wi_onnx_window_reach(w, d) -
                                weft_tensor_dimension(x, d + 2) - w->before[d] - w->after[d];
        if (missing > 0) after[d + 2] += missing;
    }
    return weft_pad(x, before, after, WEFT_PAD_CONSTANT, value);
}

/* Counts the windows along each axis. The count is 0 along an axis of open size, whose stride must be 1, so that ceil_mode adds no window. */
static bool count_all(
    int64_t *counts, wi_onnx_import *n, wi_onnx_node *node, const weft_tensor *x, const wi_onnx_window *w) {
    for (int d = 0; d < w->axes; d++) {
        const int64_t size = wi_onnx_fixed_size(x, d + 2);
        counts[d] = size ? count_windows(w, d, size, wi_onnx_whole(node, "ceil_mode", 0) != 0) : 0;
        if (size ? counts[d] < 1 : w->stride[d] > 1)
            return wi_onnx_fail(n, node, size ? WEFT_ERROR_SHAPE : WEFT_ERROR_UNSUPPORTED,
                       size ? "the window is longer than the image"
                            : "this padding is not supported along an axis of open size"),
                   false;
    }
    return true;
}

/* The attribute p, which is a float in version 1 and an integer in later versions. */
static double power_of(wi_onnx_node *node) {
    const WiOnnx__AttributeProto *const p = wi_onnx_attribute(node, "p");
    return p && p->has_f ? wi_onnx_real(node, "p", 2) : (double)wi_onnx_whole(node, "p", 2);
}

static weft_pool_options pool_options(const wi_onnx_window *w, bool padded) {
    weft_pool_options options = {WEFT_POOL_OPTIONS_INIT};
    for (int d = 0; d < w->axes; d++) {
        options.windows[d] = w->size[d];
        options.strides[d] = w->stride[d];
        options.dilations[d] = w->dilation[d];
        options.paddings[d] = padded ? 0 : w->before[d];
    }
    return options;
}

/* For each window, 1 / the number of its elements that are in the image, or with count_include_pad in the padded image. */
static weft_tensor *shares(wi_onnx_import *n, wi_onnx_node *node, const weft_tensor *x,
    const wi_onnx_window *w, const int64_t *counts) {
    const bool all = wi_onnx_whole(node, "count_include_pad", 0) != 0;
    wi_onnx_numbers numbers;
    for (int d = 0; d < w->axes; d++)
        if (counts[d] == 0)
            return wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED, "it needs an image of fixed size");
    if (!wi_onnx_zeros(&numbers, n, node, WEFT_F32, w->axes, counts)) return NULL;
    for (size_t i = 0; i < numbers.count; i++) numbers.data[i] = 1;
    size_t inner = numbers.count;
    for (int d = 0; d < w->axes; d++) {
        const int64_t size = weft_tensor_dimension(x, d + 2), low = all ? -w->before[d] : 0,
                      high = all ? size + w->after[d] : size;
        inner /= (size_t)counts[d];
        for (size_t i = 0; i < numbers.count; i++) {
            const int64_t begin = (int64_t)(i / inner) % counts[d] * w->stride[d] - w->before[d];
            int64_t inside = 0;
            for (int64_t k = 0; k < w->size[d]; k++)
                inside += begin + k * w->dilation[d] >= low && begin + k * w->dilation[d] < high;
            if (inside == 0)
                return wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED, "a window lies in the padding");
            numbers.data[i] /= (double)inside;
        }
    }
    return wi_onnx_array(n, &numbers);
}

/* Does Weft's pooling support this padding? It must be equal at both ends, and at most half of the window. */
static bool is_even(const wi_onnx_window *w) {
    for (int d = 0; d < w->axes; d++)
        if (w->before[d] != w->after[d] || w->before[d] > wi_onnx_window_reach(w, d) / 2) return false;
    return true;
}

static weft_tensor *pool_padded(
    wi_onnx_import *n, wi_onnx_node *node, weft_tensor *x, const wi_onnx_window *w, pooling kind, double p) {
    int64_t counts[3];
    weft_pool_options options = pool_options(w, true);
    if (!count_all(counts, n, node, x, w)) return NULL;
    weft_tensor *const image = pad_image(x, w, counts, kind == POOL_MAX ? -(double)INFINITY : 0);
    if (kind == POOL_MAX) return weft_max_pool(image, &options);
    if (kind == POOL_LP) return weft_lp_pool(image, p, &options);
    options.divisor = 1;
    weft_tensor *const sum = weft_avg_pool(image, &options), *const share = shares(n, node, x, w, counts);
    return sum && share ? weft_mul(sum, share) : NULL;
}

static weft_tensor *pool(wi_onnx_import *n, wi_onnx_node *node, weft_tensor *x, pooling kind) {
    const double p = power_of(node);
    wi_onnx_window w;
    if (!x || !wi_onnx_window_read(&w, n, node, x, NULL)) return NULL;
    if (kind == POOL_LP && !(p >= 1)) return wi_onnx_fail(n, node, WEFT_ERROR_SHAPE, "p is below 1");
    if (kind == POOL_LP) x = weft_abs(x);
    const bool ceils = wi_onnx_whole(node, "ceil_mode", 0) != 0;
    if (!is_even(&w) || (ceils && kind == POOL_LP)) return pool_padded(n, node, x, &w, kind, p);
    weft_pool_options options = pool_options(&w, false);
    options.ceil_mode = ceils;
    options.exclude_padding = kind == POOL_AVERAGE && wi_onnx_whole(node, "count_include_pad", 0) == 0;
    return kind == POOL_MAX  ? weft_max_pool(x, &options)
           : kind == POOL_LP ? weft_lp_pool(x, p, &options)
                             : weft_avg_pool(x, &options);
}

/* ---- indices of maxima ---- */

/* Computes the position in the image, as a single number, of each window's first element, which may be in the padding; and in `taps` the
 * distance of each element of a window from the first one. Positions are row-major, or with storage_order 1 column-major. */
static bool place_windows(wi_onnx_import *n, wi_onnx_node *node, const weft_tensor *x,
    const wi_onnx_window *w, const int64_t *counts, bool columns, wi_onnx_numbers *first,
    wi_onnx_numbers *taps) {
    int64_t size = 1;
    for (int d = 0; d < w->axes; d++) size *= size > MOST_TAPS ? 1 : w->size[d];
    if (size > MOST_TAPS || !wi_onnx_zeros(first, n, node, WEFT_I32, w->axes, counts) ||
        !wi_onnx_zeros(taps, n, node, WEFT_I32, 1, &size))
        return false;
    size_t inner = first->count, inner_taps = taps->count;
    for (int d = 0; d < w->axes; d++) {
        int64_t stride = 1;
        for (int e = columns ? 0 : d + 1; e < (columns ? d : w->axes); e++)
            stride *= weft_tensor_dimension(x, e + 2);
        inner /= (size_t)counts[d];
        inner_taps /= (size_t)w->size[d];
        for (size_t i = 0; i < first->count; i++)
            first->data[i] +=
                (double)(((int64_t)(i / inner) % counts[d] * w->stride[d] - w->before[d]) * stride);
        for (size_t i = 0; i < taps->count; i++)
            taps->data[i] += (double)((int64_t)(i / inner_taps) % w->size[d] * w->dilation[d] * stride);
    }
    return true;
}

/* An image that has, for each window, the window's element number `tap`. */
static weft_tensor *take_tap(
    weft_tensor *image, const wi_onnx_window *w, const int64_t *counts, int64_t tap) {
    for (int d = w->axes - 1; d >= 0; d--) {
        const int64_t begin = tap % w->size[d] * w->dilation[d];
        tap /= w->size[d];
        image =
            weft_slice_step(image, d + 2, begin, begin + (counts[d] - 1) * w->stride[d] + 1, w->stride[d]);
    }
    return image;
}

/* A tensor (N, C, 1...) that numbers the planes: example · C + channel. */
static weft_tensor *number_planes(const weft_tensor *x) {
    int64_t dims[WEFT_MAX_RANK];
    wi_onnx_dims(x, dims);
    for (int d = 2; d < weft_tensor_rank(x); d++) dims[d] = 1;
    const int64_t planes = dims[0] * dims[1];
    weft_tensor *const ones = weft_full(weft_tensor_graph(x), WEFT_I32, 1, 1, &planes);
    return weft_reshape_shape(weft_cumsum_with(ones, 0, true, false), weft_tensor_rank(x), dims);
}

/* For each window, the index of its maximum in the flattened x. */
static weft_tensor *indices_of_maxima(wi_onnx_import *n, wi_onnx_node *node, weft_tensor *x) {
    weft_tensor *taps[MOST_TAPS];
    wi_onnx_window w;
    wi_onnx_numbers first, table;
    int64_t counts[3], area = 1;
    if (!wi_onnx_window_read(&w, n, node, x, NULL) || !count_all(counts, n, node, x, &w)) return NULL;
    for (int d = 0; d < w.axes; d++) area *= counts[d] ? weft_tensor_dimension(x, d + 2) : 0;
    if (area == 0 || area > INT32_MAX ||
        !place_windows(n, node, x, &w, counts, wi_onnx_whole(node, "storage_order", 0) != 0, &first, &table))
        return wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED,
            "indices need an image of fixed size, and windows of at most %d elements", (int)MOST_TAPS);
    weft_tensor *const image = pad_image(x, &w, counts, -(double)INFINITY);
    for (size_t k = 0; k < table.count; k++) taps[k] = take_tap(image, &w, counts, (int64_t)k);
    const int last = w.axes + 2;
    weft_tensor *const best =
        weft_argmax_axes(weft_stack(taps, table.count, last), (const int64_t[]){last, WEFT_END}, false);
    weft_tensor *const within =
        weft_add(weft_index_select(wi_onnx_array(n, &table), 0, best), wi_onnx_array(n, &first));
    return weft_add(within, weft_mul_number(number_planes(x), (double)area));
}

static weft_tensor *build_max_pool(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0);
    if (!x) return NULL;
    if (node->n_output > 1 && node->output[1][0])
        wi_onnx_set(n, node, 1, indices_of_maxima(n, node, weft_cast(x, WEFT_F32)));
    if (n->status != WEFT_OK) return NULL;
    /* Integers of 8 bits are exact in f32. */
    return weft_cast(pool(n, node, weft_cast(x, WEFT_F32), POOL_MAX), weft_tensor_dtype(x));
}

weft_tensor *wi_onnx_average_pool(wi_onnx_import *n, wi_onnx_node *node, weft_tensor *x) {
    return pool(n, node, x, POOL_AVERAGE);
}

static weft_tensor *build_average_pool(wi_onnx_import *n, wi_onnx_node *node) {
    return wi_onnx_average_pool(n, node, wi_onnx_get(n, node, 0));
}

static weft_tensor *build_lp_pool(wi_onnx_import *n, wi_onnx_node *node) {
    return pool(n, node, wi_onnx_get(n, node, 0), POOL_LP);
}

/* Writes elements to the indices that MaxPool returned, in an image of zeros with the size of MaxPool's input. If output_shape is larger,
 * zeros are added at the ends. */
static weft_tensor *build_max_unpool(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0), *const index = wi_onnx_get(n, node, 1);
    const wi_onnx_list wanted =
        wi_onnx_has(node, 2) ? wi_onnx_get_sizes(n, node, 2, "output_shape") : (wi_onnx_list){0};
    int64_t dims[WEFT_MAX_RANK], after[WEFT_MAX_RANK] = {0}, all = 1;
    wi_onnx_window w;
    if (n->status != WEFT_OK || !wi_onnx_window_read(&w, n, node, x, NULL)) return NULL;
    wi_onnx_dims(x, dims);
    for (int d = 0; d < w.axes; d++)
        dims[d + 2] = wi_onnx_fixed_size(x, d + 2)
                          ? (dims[d + 2] - 1) * w.stride[d] + w.size[d] - w.before[d] - w.after[d]
                          : 0;
    for (int d = 0; d < w.axes + 2; d++) {
        all = d > 1 && dims[d] > INT32_MAX / (all < 0 ? -all : all + 1) ? 0 : all * dims[d];
        if (wanted.count == w.axes + 2) after[d] = wi_onnx_dimension(n->graph, wanted.of[d]) - dims[d];
        if (all == 0 || (d > 1 && dims[d] < 1) || after[d] < 0 ||
            (wanted.count != 0 && wanted.count != w.axes + 2))
            return wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED,
                "it needs an image of fixed size, and an output_shape that is not smaller");
    }
    weft_tensor *const zeros = weft_full(n->graph, weft_tensor_dtype(x), 0, 1, &all);
    weft_tensor *const filled =
        weft_index_copy(zeros, 0, weft_flatten_axes(index, 0, -1), weft_flatten_axes(x, 0, -1));
    return weft_pad(
        weft_reshape_shape(filled, w.axes + 2, dims), (const int64_t[5]){0}, after, WEFT_PAD_CONSTANT, 0);
}

/* ---- whole images ---- */

/* Reduces the spatial axes, and keeps them with size 1. */
static weft_tensor *reduce_image(
    weft_tensor *x, weft_tensor *(*reduce)(weft_tensor *x, const int64_t *axes, bool keep)) {
    int64_t axes[WEFT_MAX_RANK + 1] = {0};
    const int rank = weft_tensor_rank(x);
    if (rank < 3) return x;
    for (int d = 2; d < rank; d++) axes[d - 2] = d;
    axes[rank - 2] = WEFT_END;
    return reduce(x, axes, true);
}

static weft_tensor *build_global_average(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0);
    return x ? reduce_image(x, weft_mean_axes) : NULL;
}

static weft_tensor *build_global_max(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0);
    return x ? reduce_image(x, weft_max_axes) : NULL;
}

static weft_tensor *build_global_lp(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0);
    const double p = power_of(node);
    if (!x) return NULL;
    if (!(p >= 1)) return wi_onnx_fail(n, node, WEFT_ERROR_SHAPE, "p is below 1");
    if (p == 2) return reduce_image(x, weft_norm_axes);
    return weft_pow_number(reduce_image(weft_pow_number(weft_abs(x), p), weft_sum_axes), 1 / p);
}

const wi_onnx_op wi_onnx_pool_ops[] = {{"MaxPool", .build = build_max_pool},
    {"AveragePool", .build = build_average_pool}, {"LpPool", .build = build_lp_pool},
    {"MaxUnpool", .build = build_max_unpool, .host = 1u << 2},
    {"GlobalAveragePool", .build = build_global_average}, {"GlobalMaxPool", .build = build_global_max},
    {"GlobalLpPool", .build = build_global_lp}, {0}};
