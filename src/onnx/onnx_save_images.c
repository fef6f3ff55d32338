/* Convolutions, pooling and resampling in ONNX. Images of Weft's nodes are (N, spatial..., C), those of ONNX (N, C, spatial...). */
#include "onnx/onnx_save.h"
#include "ops/convolution/conv.h"
#include "ops/pooling/pool.h"
#include <math.h>

/* Are all spatial sizes known? */
static bool is_fixed_image(const wi_export *e, const weft_tensor *y) {
    (void)e;
    for (int i = 1; i < y->shape.rank - 1; i++)
        if (wi_export_is_open(y->inputs[0]->shape.dims[i]) || wi_export_is_open(y->shape.dims[i]))
            return false;
    return true;
}

/* ---- windows ---- */

/* A window over the spatial axes, with the numbers that ONNX's attributes have. */
typedef struct window {
    int axes;
    int64_t size[3], stride[3], dilation[3], pads[6]; /* pads: before each axis, then behind each axis */
    int64_t more[3]; /* output padding of a transposed convolution: elements behind the last window */
} window;

/* The padding behind an axis of n elements with which a window has so many places: the number that a window over exactly these elements
 * needs, if it is known, otherwise the first that gives this size whatever n is. INT64_MIN: there is none. */
static int64_t padding_behind(weft_graph *graph, const window *w, int i, int64_t n, int64_t places) {
    const int64_t reach = w->dilation[i] * (w->size[i] - 1) + 1, before = w->pads[i];
    const int64_t covered =
        wi_position_add(graph, wi_dim_multiply(graph, places - 1, w->stride[i]), reach, 1);
    const int64_t behind = wi_position_add(graph, covered, n + before, -1);
    if (!wi_export_is_open(wi_magnitude(behind))) return behind;
    for (int64_t k = -1; k < reach; k++) {
        const int64_t tried = k < 0 ? before : k;
        const int64_t found = wi_dim_divide(graph, n + before + tried - reach, w->stride[i]);
        if (wi_dim_add(graph, found, 1) == places) return tried;
    }
    return INT64_MIN;
}

/* The window over an image, and the padding behind each axis with which it has as many places as the result. Spatial axes are those from 1
 * on. False: an axis is open, and its padding cannot be known, or adaptive windows have different sizes. */
static bool window_of(
    const wi_export *e, window *w, const wi_window *own, const wi_shape *image, const wi_shape *result) {
    *w = (window){.axes = image->rank - 2};
    for (int i = 0; i < w->axes; i++) {
        const int k = i + 3 - w->axes;
        w->size[i] = own->size[k];
        w->stride[i] = own->stride[k];
        w->dilation[i] = own->dilation[k];
        w->pads[i] = own->padding[k];
        const int64_t n = image->dims[1 + i], places = result->dims[1 + i];
        if (own->stride[k] == 0 && (wi_export_is_open(n) || n % places != 0)) return false;
        if (own->stride[k] == 0) w->size[i] = w->stride[i] = n / places;
        const int64_t behind = padding_behind(e->graph, w, i, n, places);
        if (behind == INT64_MIN) return false;
        w->pads[w->axes + i] = behind > 0 ? behind : 0;
        w->more[i] = behind < 0 ? -behind : 0;
    }
    return true;
}

/* ---- convolutions ---- */

wi_export_value *wi_export_conv(wi_export *e, weft_tensor *y, weft_tensor *bias) {
    const bool forward = y->op == &wi_op_conv;
    const wi_conv_attributes *const a = &y->attributes->conv;
    const wi_shape *const x_shape = &y->inputs[0]->shape;
    window w;
    if (!window_of(e, &w, &a->window, forward ? x_shape : &y->shape, forward ? &y->shape : x_shape))
        return wi_export_refuse(e, y, "the padding depends on an open size");
    wi_export_value *const added = bias ? wi_export_of(e, bias) : &wi_export_none;
    return wi_export_op(e, forward ? "Conv" : "ConvTranspose",
        WI_FROM(wi_export_first(e, y->inputs[0]), wi_export_of(e, y->inputs[1]), added),
        WI_WITH(WI_WHOLES("kernel_shape", w.size, w.axes), WI_WHOLES("strides", w.stride, w.axes),
            WI_WHOLES("dilations", w.dilation, w.axes), WI_WHOLES("pads", w.pads, 2 * w.axes),
            WI_WHOLE("group", a->groups), WI_WHOLES(forward ? NULL : "output_padding", w.more, w.axes)));
}

static wi_export_value *emit_conv(wi_export *e, weft_tensor *y, const char *name) {
    (void)name;
    return wi_export_conv(e, y, NULL);
}

/* ---- pooling ---- */

static bool has_windows(const wi_export *e, const weft_tensor *y) {
    window w;
    const wi_window *const own = &y->attributes->pool.window;
    bool dilated = false;
    for (int i = 0; i < 3; i++) dilated = dilated || own->dilation[i] > 1;
    return (!dilated || y->op == &wi_op_max_pool || e->options.opset >= 19) &&
           window_of(e, &w, own, &y->inputs[0]->shape, &y->shape);
}

static wi_export_value *emit_max_pool(wi_export *e, weft_tensor *y, const char *name) {
    window w;
    if (!window_of(e, &w, &y->attributes->pool.window, &y->inputs[0]->shape, &y->shape)) return NULL;
    return wi_export_op(e, name, WI_FROM(wi_export_first(e, y->inputs[0])),
        WI_WITH(WI_WHOLES("kernel_shape", w.size, w.axes), WI_WHOLES("strides", w.stride, w.axes),
            WI_WHOLES("dilations", w.dilation, w.axes), WI_WHOLES("pads", w.pads, 2 * w.axes)));
}

/* Writes a Pad node that pads both ends of the spatial axes with zeros. */
static wi_export_value *pad_image(wi_export *e, wi_export_value *x, const window *w) {
    int64_t pads[2 * WEFT_MAX_RANK] = {0};
    const int rank = w->axes + 2;
    for (int i = 0; i < w->axes; i++) pads[2 + i] = pads[rank + 2 + i] = w->pads[i];
    return wi_export_two(e, "Pad", x, wi_export_ints(e, pads, 2 * rank));
}

/* In Weft the divisor of an average counts the elements inside the padded image, but not elements beyond it, which windows of ceil_mode have.
 * In ONNX, padding that counts is therefore added by a Pad node, and the elements beyond it become padding that does not count. */
static wi_export_value *emit_avg_pool(wi_export *e, weft_tensor *y, const char *name) {
    const wi_pool_attributes *const a = &y->attributes->pool;
    window w;
    bool pads = false;
    double taps = 1;
    wi_export_value *x = wi_export_first(e, y->inputs[0]);
    if (!window_of(e, &w, &a->window, &y->inputs[0]->shape, &y->shape)) return NULL;
    for (int i = 0; i < w.axes; i++) {
        pads = pads || w.pads[i];
        taps *= (double)w.size[i];
    }
    const bool inside = pads && (a->divisor || !a->exclude_padding);
    if (inside) x = pad_image(e, x, &w);
    for (int i = 0; inside && i < w.axes; i++) {
        const int64_t behind = w.pads[w.axes + i] - w.pads[i];
        w.pads[w.axes + i] = behind > 0 ? behind : 0;
        w.pads[i] = 0;
    }
    const bool dilates = e->options.opset >= 19;
    x = wi_export_op(e, name, WI_FROM(x),
        WI_WITH(WI_WHOLES("kernel_shape", w.size, w.axes), WI_WHOLES("strides", w.stride, w.axes),
            WI_WHOLES("pads", w.pads, 2 * w.axes), WI_WHOLE("count_include_pad", a->divisor != 0),
            WI_WHOLES(dilates ? "dilations" : NULL, w.dilation, w.axes)));
    return a->divisor ? wi_export_two(e, "Mul", x, wi_export_number(e, WEFT_F32, taps / a->divisor)) : x;
}

/* Is y an adaptive pooling with windows of different sizes? They begin at floor(i n / m) and end before ceil((i + 1) n / m). The maximum or
 * mean over a window of several axes is computed one axis after the other. */
static bool is_adaptive(const wi_export *e, const weft_tensor *y) {
    return y->attributes->pool.window.stride[2] == 0 && is_fixed_image(e, y);
}

static weft_tensor *adaptive_parts(weft_tensor *y) {
    enum { MOST = 256 };
    weft_tensor *x = y->inputs[0], *parts[MOST];
    for (int axis = 1; x && axis < y->shape.rank - 1; axis++) {
        const int64_t n = x->shape.dims[axis], m = y->shape.dims[axis], axes[] = {axis, WEFT_END};
        if (m > MOST) return NULL;
        for (int64_t i = 0; i < m; i++) {
            weft_tensor *const part = weft_slice(x, axis, i * n / m, ((i + 1) * n + m - 1) / m);
            parts[i] =
                y->op == &wi_op_max_pool ? weft_max_axes(part, axes, true) : weft_mean_axes(part, axes, true);
        }
        x = weft_concat(parts, (size_t)m, axis);
    }
    return x;
}

/* ---- resampling ---- */

/* Resizing n elements to m with this scale: does ONNX's formula in float32 select the same elements as Weft? Other formulas may round
 * differently, unless one size divides the other. */
static bool chooses_alike(int64_t n, int64_t m, float scale) {
    const float ratio = (float)m / (float)n;
    bool alike = m % n == 0 || n % m == 0;
    for (int64_t o = 0; alike && o < m; o++) alike = floorf((float)o / ratio) == floorf((float)o * scale);
    return alike;
}

/* Is the scale of the node the ratio of its sizes? ONNX computes the scale from the sizes. */
static bool is_ratio(const wi_export *e, const weft_tensor *y) {
    const wi_resample_attributes *const a = &y->attributes->resample;
    const int axes = y->shape.rank - 2;
    if (!is_fixed_image(e, y)) return false;
    for (int i = 0; i < axes && a->mode != WI_RESAMPLE_LINEAR_CORNERS; i++) {
        const int64_t n = y->inputs[0]->shape.dims[1 + i], m = y->shape.dims[1 + i];
        const float scale = a->scale[i + 3 - axes];
        if (scale != (float)n / (float)m) return false;
        if (a->mode == WI_RESAMPLE_NEAREST && !chooses_alike(n, m, scale)) return false;
    }
    return true;
}

static wi_export_value *emit_resample(wi_export *e, weft_tensor *y, const char *name) {
    const uint32_t mode = y->attributes->resample.mode;
    const int rank = y->shape.rank;
    int64_t dims[WEFT_MAX_RANK] = {y->shape.dims[0], y->shape.dims[rank - 1]};
    for (int i = 2; i < rank; i++) dims[i] = y->shape.dims[i - 1];
    const bool nearest = mode == WI_RESAMPLE_NEAREST;
    wi_export_value *const x = wi_export_first(e, y->inputs[0]), *const none = &wi_export_none;
    return wi_export_op(e, name, WI_FROM(x, none, none, wi_export_shape(e, rank, dims)),
        WI_WITH(WI_TEXT("mode", nearest ? "nearest" : "linear"),
            WI_TEXT("coordinate_transformation_mode", nearest                      ? "asymmetric"
                                                      : mode == WI_RESAMPLE_LINEAR ? "half_pixel"
                                                                                   : "align_corners"),
            WI_TEXT(nearest ? "nearest_mode" : NULL, "floor")));
}

/* Resamples an axis of x to m elements by nodes that compute indices and weights from the coordinate, in the same way as the kernel. */
static weft_tensor *resample_axis(weft_tensor *x, int axis, int64_t m, float scale, uint32_t mode) {
    weft_graph *const graph = x->graph;
    const int64_t n = x->shape.dims[axis];
    int64_t dims[WEFT_MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
    weft_tensor *at = weft_cast(wi_coordinate(graph, &(wi_shape){.rank = 1, .dims = {m}}, 0), WEFT_F32);
    if (mode == WI_RESAMPLE_LINEAR) at = weft_add_number(at, 0.5);
    at = weft_mul_number(at, (double)scale);
    if (mode == WI_RESAMPLE_LINEAR) at = weft_maximum_number(weft_sub_number(at, 0.5), 0);
    weft_tensor *const low = weft_minimum_number(weft_floor(at), (double)(n - 1));
    weft_tensor *const index = weft_cast(low, WEFT_I32), *const next = weft_minimum_number(
                                                             weft_add_number(index, 1), (double)(n - 1));
    if (mode == WI_RESAMPLE_NEAREST) return weft_index_select(x, axis, index);
    dims[axis] = m;
    weft_tensor *const share = weft_reshape_shape(weft_sub(at, low), x->shape.rank, dims);
    weft_tensor *const a = weft_index_select(x, axis, index), *const b = weft_index_select(x, axis, next);
    return weft_add(weft_mul(a, weft_number_sub(1, share)), weft_mul(b, share));
}

static weft_tensor *resample_parts(weft_tensor *y) {
    const wi_resample_attributes *const a = &y->attributes->resample;
    weft_tensor *x = y->inputs[0];
    for (int i = 0, axes = y->shape.rank - 2; x && i < axes; i++)
        x = resample_axis(x, 1 + i, y->shape.dims[1 + i], a->scale[i + 3 - axes], a->mode);
    return x;
}

/* ---- local response norm ---- */

/* Is the size of the window odd? Windows of an even size begin one channel later in ONNX than in Weft. */
static bool is_odd(const wi_export *e, const weft_tensor *y) {
    (void)e;
    return y->attributes->response.channels % 2 == 1;
}

static wi_export_value *emit_response(wi_export *e, weft_tensor *y, const char *name) {
    const wi_response_attributes *const a = &y->attributes->response;
    return wi_export_op(e, name, WI_FROM(wi_export_first(e, y->inputs[0])),
        WI_WITH(WI_WHOLE("size", a->channels), WI_REAL("alpha", a->alpha), WI_REAL("beta", a->beta),
            WI_REAL("bias", a->k)));
}

const wi_export_row wi_export_image_rows[] = {{&wi_op_conv, .is_image = true, .emit = emit_conv},
    {&wi_op_conv_data, .is_image = true, .emit = emit_conv},
    {&wi_op_max_pool, .name = "MaxPool", .is_image = true, .emit = emit_max_pool, .fits = has_windows},
    {&wi_op_avg_pool, .name = "AveragePool", .is_image = true, .emit = emit_avg_pool, .fits = has_windows},
    {&wi_op_max_pool, .rewrite = adaptive_parts, .fits = is_adaptive},
    {&wi_op_avg_pool, .rewrite = adaptive_parts, .fits = is_adaptive},
    {&wi_op_resample, .name = "Resize", .is_image = true, .emit = emit_resample, .fits = is_ratio},
    {&wi_op_resample, .rewrite = resample_parts, .fits = is_fixed_image},
    {&wi_op_local_response_norm, .name = "LRN", .is_image = true, .emit = emit_response, .fits = is_odd},
    {0}};
