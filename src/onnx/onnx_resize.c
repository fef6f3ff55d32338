/* Resize and Upsample of ONNX. If Weft's own resampling reads the same positions, it is used. Otherwise the axes are resized one after the
 * other: `nearest` gathers elements; `linear` and `cubic` multiply by a matrix with a row of weights for each element of the result. */
#include "onnx/onnx_build.h"
#include <math.h>
#include <string.h>

enum {
    MOST_WEIGHTS = 1 << 23,
    MOST_ELEMENTS = 1 << 24
}; /* the most numbers of a matrix, elements of an axis */

typedef enum method { NEAREST, LINEAR, CUBIC, UNKNOWN_METHOD } method;
/* How a position in the result is mapped to a position in x (coordinate_transformation_mode). */
typedef enum place {
    HALF_PIXEL,
    HALF_PIXEL_SYMMETRIC,
    PYTORCH_HALF_PIXEL,
    ALIGN_CORNERS,
    ASYMMETRIC,
    CROP,
    TF_HALF_PIXEL,
    UNKNOWN_PLACE
} place;
typedef enum rounding { PREFER_FLOOR, PREFER_CEIL, FLOOR, CEIL, UNKNOWN_ROUNDING } rounding;

/* The resizing of an axis. to: the new size; 0: the axis does not change, or its size is open. exact: scale is to / from. */
typedef struct axis {
    int64_t from, to;
    int64_t open;             /* the new size of an axis of open size; 0: the factor says it */
    double scale, begin, end; /* begin, end: of the region of CROP, in 0..1 */
    bool exact;
} axis;

typedef struct resizing {
    method method;
    place place;
    rounding rounding;
    bool antialias, exclude;
    double cubic;
    int rank;
    axis axes[WEFT_MAX_RANK];
} resizing;

/* ---- attributes ---- */

/* Reads the modes. Before version 11 there is no coordinate transformation: `nearest` with factors above 1 rounds positions down, and the
 * result with other factors is not defined. */
static bool read_modes(resizing *r, wi_onnx_import *n, wi_onnx_node *node) {
    static const char *const methods[] = {"nearest", "linear", "cubic", NULL},
                             *const places[] = {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
                                 "align_corners", "asymmetric", "tf_crop_and_resize", "tf_half_pixel_for_nn",
                                 NULL},
                             *const roundings[] = {
                                 "round_prefer_floor", "round_prefer_ceil", "floor", "ceil", NULL};
    r->method = (method)wi_onnx_choice(node, "mode", methods);
    r->place = (place)wi_onnx_choice(node, "coordinate_transformation_mode", places);
    r->rounding = (rounding)wi_onnx_choice(node, "nearest_mode", roundings);
    r->antialias = wi_onnx_whole(node, "antialias", 0) != 0 && r->method != NEAREST;
    r->exclude = wi_onnx_whole(node, "exclude_outside", 0) != 0;
    r->cubic = wi_onnx_real(node, "cubic_coeff_a", -0.75);
    const bool old = n->version < 11 || strcmp(node->op_type, "Upsample") == 0;
    if (old) {
        r->place = ASYMMETRIC;
        r->rounding = FLOOR;
    }
    if (r->method == UNKNOWN_METHOD || r->place == UNKNOWN_PLACE || r->rounding == UNKNOWN_ROUNDING ||
        (old && r->method != NEAREST))
        return wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED, "this mode is not supported"), false;
    return true;
}

/* ---- sizes ---- */

/* Reads the sizes or factors of a node of any version. False, without an error: the node has neither. */
static bool read_numbers(
    wi_onnx_list *sizes, double *factors, int *count, wi_onnx_import *n, wi_onnx_node *node) {
    const bool old = strcmp(node->op_type, "Upsample") == 0 || n->version < 11;
    const WiOnnx__AttributeProto *const stored = wi_onnx_attribute(node, "scales");
    const wi_onnx_numbers *const known = wi_onnx_known(n, node, old ? 1 : 2);
    *count = 0;
    if (stored && stored->n_floats <= WEFT_MAX_RANK)
        for (size_t i = 0; i < stored->n_floats; i++) factors[(*count)++] = (double)stored->floats[i];
    else if (known && known->count > 0 && known->count <= WEFT_MAX_RANK)
        for (size_t i = 0; i < known->count; i++) factors[(*count)++] = known->data[i];
    if (*count > 0) return true;
    if (old || !wi_onnx_has(node, 3)) return false;
    *sizes = wi_onnx_get_sizes(n, node, 3, "the sizes");
    *count = sizes->count;
    for (int i = 0; i < *count; i++) sizes->of[i] = wi_onnx_dimension(n->graph, sizes->of[i]);
    return n->status == WEFT_OK && sizes->count > 0 && sizes->count <= WEFT_MAX_RANK;
}

/* Sets the factor of an axis, or its new size. ONNX Runtime multiplies size and factor as f32. */
static bool set_axis(axis *a, const weft_tensor *x, int d, double factor, int64_t size) {
    const int64_t from = wi_onnx_fixed_size(x, d);
    *a = (axis){.from = from, .scale = factor, .begin = 0, .end = 1};
    if (size == weft_tensor_dimension(x, d)) a->scale = 1;
    if (a->scale == 1 && (factor == 1 || size != 0)) return a->to = from, a->exact = true, true;
    if (from == 0) { /* an open size */
        const int64_t own = weft_tensor_dimension(x, d);
        int64_t times;
        if (size != 0 && wi_dim_divides(x->graph, size, own, &times)) a->scale = (double)times;
        a->open = size;
        return size != 0 || (a->scale > 0 && a->scale < 1024);
    }
    if (size == 0) size = factor > 0 && factor < 1e6 ? (int64_t)((float)factor * (float)from) : 0;
    if (factor == 0) a->scale = (double)size / (double)from;
    a->to = size;
    a->exact = a->scale * (double)from == (double)size || factor == 0;
    return size >= 1 && size <= MOST_ELEMENTS;
}

/* keep_aspect_ratio_policy: sets one factor for all resized axes, the largest with which no axis exceeds its size, or the smallest with which
 * no axis is below its size. */
static bool keep_ratio(resizing *r, const weft_tensor *x, const int *axes, int count, bool smallest) {
    double factor = r->axes[axes[0]].scale;
    for (int i = 0; i < count; i++) {
        const double other = r->axes[axes[i]].scale;
        if (r->axes[axes[i]].from == 0) return false;
        factor = smallest == (other < factor) ? other : factor;
    }
    for (int i = 0; i < count; i++) {
        axis *const a = &r->axes[axes[i]];
        const int64_t size = (int64_t)(factor * (double)a->from + 0.5);
        if (!set_axis(a, x, axes[i], factor, size > 0 ? size : 1)) return false;
        a->scale = factor;
        a->exact = factor * (double)a->from == (double)a->to;
    }
    return true;
}

/* Reads the region of tf_crop_and_resize: the beginnings along all axes, then the ends. */
static bool read_region(resizing *r, wi_onnx_import *n, wi_onnx_node *node, const int *axes, int count) {
    const wi_onnx_numbers *const region = wi_onnx_known(n, node, 1);
    if (!region || region->count != 2 * (size_t)count)
        return wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED, "it needs a constant region of interest"), false;
    for (int i = 0; i < count; i++) {
        r->axes[axes[i]].begin = region->data[i];
        r->axes[axes[i]].end = region->data[count + i];
        if (!(fabs(region->data[i]) < 1e6) || !(fabs(region->data[count + i]) < 1e6))
            return wi_onnx_fail(n, node, WEFT_ERROR_SHAPE, "its region of interest is out of range"), false;
    }
    return true;
}

static bool read_axes(resizing *r, wi_onnx_import *n, wi_onnx_node *node, const weft_tensor *x) {
    const wi_onnx_list listed = wi_onnx_wholes(node, "axes");
    wi_onnx_list sizes = {0};
    double factors[WEFT_MAX_RANK] = {0};
    int axes[WEFT_MAX_RANK] = {0}, count;
    r->rank = weft_tensor_rank(x);
    for (int d = 0; d < r->rank; d++) set_axis(&r->axes[d], x, d, 1, 0);
    if (!read_numbers(&sizes, factors, &count, n, node) || count != (listed.count ? listed.count : r->rank))
        return wi_onnx_fail(
                   n, node, WEFT_ERROR_UNSUPPORTED, "it needs a constant size or factor for each axis"),
               false;
    for (int i = 0; i < count; i++) {
        axes[i] = listed.count ? wi_onnx_axis(listed.of[i], r->rank) : i;
        if (axes[i] < 0 || axes[i] >= r->rank)
            return wi_onnx_fail(n, node, WEFT_ERROR_SHAPE, "there is no axis %d", axes[i]), false;
        if (!set_axis(&r->axes[axes[i]], x, axes[i], factors[i], sizes.of[i]))
            return wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED,
                       "the size or factor of axis %d is not supported", axes[i]),
                   false;
    }
    const bool larger = wi_onnx_says(node, "keep_aspect_ratio_policy", "not_larger"),
               smaller = wi_onnx_says(node, "keep_aspect_ratio_policy", "not_smaller");
    if ((larger || smaller) && sizes.count && !keep_ratio(r, x, axes, count, larger))
        return wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED,
                   "with its aspect ratio a side would be of open size, or too long"),
               false;
    return r->place != CROP || read_region(r, n, node, axes, count);
}

/* ---- weights ---- */

/* The position in x of element `to` of the result. ONNX Runtime computes in f32 if factors do not give an integer size, and with regions.
 * This function does the same, because the rounding decides which element is the nearest. */
static double position(const resizing *r, const axis *a, int64_t to) {
    const double o = (double)to, from = (double)a->from, size = a->exact ? (double)a->to : a->scale * from;
    const float factor = (float)a->scale, part = (float)(o + 0.5) / factor,
                offset = 0.5f * (float)from * (1 - (float)a->to / (factor * (float)from)),
                first = (float)a->begin * (float)(from - 1),
                region = (float)(a->end - a->begin) * (float)(from - 1);
    const double centre = a->exact ? (o + 0.5) * from / size - 0.5 : (double)(part - 0.5f);
    switch (r->place) {
    case ALIGN_CORNERS: return size == 1 ? 0 : o * (from - 1) / (size - 1);
    case ASYMMETRIC: return a->exact ? o * from / size : (double)((float)o / factor);
    case CROP: return (double)(first + (size == 1 ? region / 2 : (float)o * region / (float)(size - 1)));
    case PYTORCH_HALF_PIXEL: return size == 1 ? -0.5 : centre;
    case HALF_PIXEL_SYMMETRIC: return a->exact ? centre : (double)(offset + part - 0.5f);
    case TF_HALF_PIXEL: return centre + 0.5;
    case HALF_PIXEL:
    case UNKNOWN_PLACE: break;
    }
    return centre;
}

/* The index of the element of x that `nearest` reads for element `to` of the result. */
static int64_t nearest(const resizing *r, const axis *a, int64_t to) {
    const double at = position(r, a, to), below = floor(at), part = at - below;
    const bool up = r->rounding == PREFER_FLOOR  ? part > 0.5
                    : r->rounding == PREFER_CEIL ? part >= 0.5
                                                 : r->rounding == CEIL && part > 0;
    const double index = below + (up ? 1 : 0), last = (double)(a->from - 1);
    return (int64_t)(index < 0 ? 0 : index > last ? last : index);
}

static double weight(const resizing *r, double distance) {
    const double t = fabs(distance), c = r->cubic;
    if (r->method == LINEAR) return t < 1 ? 1 - t : 0;
    if (t <= 1) return ((c + 2) * t - (c + 3)) * t * t + 1;
    return t < 2 ? ((c * t - 5 * c) * t + 8 * c) * t - 4 * c : 0;
}

/* Adds the weights of element `to` to its column of a matrix (from, to). A weight of an element outside of x is added to the element at the
 * end, or with exclude_outside left out. */
static void fill_weights(double *column, const resizing *r, const axis *a, int64_t to) {
    const double at = position(r, a, to), narrow = r->antialias && a->scale < 1 ? a->scale : 1;
    const double reach = (r->method == LINEAR ? 1 : 2) / narrow;
    const int64_t first = (int64_t)ceil(at - reach), last = (int64_t)floor(at + reach);
    double sum = 0;
    for (int64_t i = first; i <= last; i++)
        if (!r->exclude || (i >= 0 && i < a->from)) sum += weight(r, ((double)i - at) * narrow);
    for (int64_t i = first; i <= last; i++) {
        if (r->exclude && (i < 0 || i >= a->from)) continue;
        const int64_t row = i < 0 ? 0 : i >= a->from ? a->from - 1 : i;
        column[row * a->to] += weight(r, ((double)i - at) * narrow) / sum;
    }
}

/* ---- building ---- */

static bool stays(const resizing *r, const axis *a) {
    return a->scale == 1 && a->to == a->from && (r->place != CROP || (a->begin == 0 && a->end == 1));
}

static weft_tensor *gather_axis(
    wi_onnx_import *n, wi_onnx_node *node, const resizing *r, weft_tensor *x, int d) {
    const axis *const a = &r->axes[d];
    wi_onnx_numbers index;
    if (!wi_onnx_zeros(&index, n, node, WEFT_I32, 1, &a->to)) return NULL;
    for (int64_t o = 0; o < a->to; o++) index.data[o] = (double)nearest(r, a, o);
    return weft_index_select(x, d, wi_onnx_array(n, &index));
}

static weft_tensor *multiply_axis(
    wi_onnx_import *n, wi_onnx_node *node, const resizing *r, weft_tensor *x, int d) {
    const axis *const a = &r->axes[d];
    const bool vector = weft_tensor_rank(x) == 1;
    wi_onnx_numbers matrix;
    if (a->from > MOST_WEIGHTS / a->to ||
        !wi_onnx_zeros(&matrix, n, node, WEFT_F32, 2, (int64_t[]){a->from, a->to}))
        return NULL;
    for (int64_t o = 0; o < a->to; o++) fill_weights(matrix.data + o, r, a, o);
    if (vector) x = weft_unsqueeze(x, 0);
    weft_tensor *const y = weft_matmul(weft_move_axis(x, d + vector, -1), wi_onnx_array(n, &matrix));
    return vector ? weft_squeeze_axes(y, (const int64_t[]){0, WEFT_END}) : weft_move_axis(y, -1, d);
}

/* Resizes an axis of open size by repeating each element, if `nearest` with this factor does exactly this. */
static weft_tensor *repeat_axis(const resizing *r, weft_tensor *x, int d) {
    int64_t dims[WEFT_MAX_RANK], repeats[WEFT_MAX_RANK];
    const bool centred = r->place <= PYTORCH_HALF_PIXEL && r->rounding <= PREFER_CEIL,
               begins = r->place == ASYMMETRIC && r->rounding == FLOOR;
    const double times = r->axes[d].scale;
    if (r->method != NEAREST || (!centred && !begins) || r->rank == WEFT_MAX_RANK || times < 2 ||
        times != floor(times))
        return NULL;
    for (int i = 0; i <= r->rank; i++) repeats[i] = i == d + 1 ? (int64_t)r->axes[d].scale : 1;
    wi_onnx_dims(x, dims);
    dims[d] = wi_dim_multiply(x->graph, dims[d], repeats[d + 1]);
    return weft_reshape_shape(weft_tile(weft_unsqueeze(x, d + 1), r->rank + 1, repeats), r->rank, dims);
}

/* Does Weft's resampling read the same positions as the node along all axes? */
static bool is_native(const resizing *r, const weft_tensor *x) {
    if (r->rank < 3 || r->rank > 5 || r->antialias || r->exclude || r->method == CUBIC ||
        weft_tensor_dtype(x) != WEFT_F32)
        return false;
    for (int d = 0; d < r->rank; d++) {
        const axis *const a = &r->axes[d];
        if (stays(r, a) && (d < 2 || a->from > 0)) continue;
        if (d < 2 || a->to == 0 || !a->exact) return false;
        if (r->method == LINEAR &&
            (r->place > ALIGN_CORNERS || (r->place == PYTORCH_HALF_PIXEL && a->to == 1)))
            return false;
        for (int64_t o = 0; r->method == NEAREST && o < a->to; o++)
            if (nearest(r, a, o) != o * a->from / a->to) return false;
    }
    return true;
}

/* The same with axes of open size, whose positions are Weft's whatever their sizes are. ONNX has another position than PyTorch, whose
 * place it names, for a result of one element; Weft computes what PyTorch computes. */
static bool is_native_open(const resizing *r, const weft_tensor *x) {
    const bool placed = r->method == NEAREST ? r->place == ASYMMETRIC && r->rounding == FLOOR
                                             : r->method == LINEAR && r->place <= ALIGN_CORNERS;
    bool open = false;
    for (int d = 0; d < r->rank; d++) {
        const bool is_open = r->axes[d].from == 0 && !stays(r, &r->axes[d]);
        if (d < 2 && !stays(r, &r->axes[d])) return false;
        open = open || is_open;
    }
    return open && placed && r->rank >= 3 && r->rank <= 5 && !r->antialias && !r->exclude &&
           weft_tensor_dtype(x) == WEFT_F32;
}

static weft_tensor *resample(const resizing *r, weft_tensor *x) {
    weft_resample_options options = {WEFT_RESAMPLE_OPTIONS_INIT,
        .mode = r->method == LINEAR ? WEFT_RESAMPLE_LINEAR : WEFT_RESAMPLE_NEAREST,
        .align_corners = r->method == LINEAR && r->place == ALIGN_CORNERS};
    for (int d = 2; d < r->rank; d++) {
        const axis *const a = &r->axes[d];
        options.sizes[d - 2] = a->from > 0 ? a->to : stays(r, a) ? weft_tensor_dimension(x, d) : a->open;
        if (options.sizes[d - 2] == 0) options.factors[d - 2] = a->scale;
    }
    return weft_resample(x, &options);
}

/* Sets the elements whose position is outside of x to extrapolation_value. */
static weft_tensor *extrapolate(wi_onnx_import *n, wi_onnx_node *node, const resizing *r, weft_tensor *y) {
    const double value = wi_onnx_real(node, "extrapolation_value", 0);
    for (int d = 0; d < r->rank; d++) {
        const axis *const a = &r->axes[d];
        int64_t dims[WEFT_MAX_RANK] = {a->to};
        wi_onnx_numbers outside;
        if (stays(r, a)) continue;
        for (int i = 1; i < r->rank - d; i++) dims[i] = 1;
        if (!wi_onnx_zeros(&outside, n, node, WEFT_BOOL, r->rank - d, dims)) return NULL;
        for (int64_t o = 0; o < a->to; o++)
            outside.data[o] = position(r, a, o) < 0 || position(r, a, o) > (double)(a->from - 1);
        y = weft_where(wi_onnx_array(n, &outside), weft_number(y, value), y);
    }
    return y;
}

static weft_tensor *build_resize(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0);
    resizing r = {0};
    if (!x || !read_modes(&r, n, node) || !read_axes(&r, n, node, x)) return NULL;
    if (is_native(&r, x) || is_native_open(&r, x)) return resample(&r, x);
    weft_tensor *y = x;
    for (int d = 0; d < r.rank && y; d++) {
        const axis *const a = &r.axes[d];
        if (stays(&r, a)) continue;
        if ((n->version < 11 && a->scale < 1) ||
            (r.place == PYTORCH_HALF_PIXEL && a->to == 1 && (r.antialias || r.method == CUBIC)))
            return wi_onnx_fail(
                n, node, WEFT_ERROR_UNSUPPORTED, "ONNX does not define the positions of this mode");
        y = a->to == 0            ? repeat_axis(&r, y, d)
            : r.method == NEAREST ? gather_axis(n, node, &r, y, d)
                                  : multiply_axis(n, node, &r, y, d);
    }
    if (!y)
        return wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED,
            "it is too large, or its mode is not supported along an axis of open size");
    return r.place == CROP ? extrapolate(n, node, &r, y) : y;
}

const wi_onnx_op wi_onnx_resize_ops[] = {
    {"Resize", .build = build_resize, .host = 1u << 1 | 1u << 2 | 1u << 3},
    {"Upsample", .build = build_resize, .host = 1u << 1}, {0}};
