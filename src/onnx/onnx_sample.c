/* Operators of ONNX that interpolate images: GridSample, AffineGrid, RoiAlign, DeformConv. For each position, the elements around it are
 * gathered, multiplied by weights and added. */
#include "onnx/onnx_window.h"
#include <string.h>

typedef enum outside { ZEROS, BORDER, REFLECTION } outside;

/* How an image is sampled. The image is (N, G, C, I), where I is all spatial axes merged. Positions along each spatial axis are (N, G, 1, P),
 * counted in elements. */
typedef struct sampler {
    int axes, taps; /* taps: elements that are read along an axis; 1: nearest, 2: linear, 4: cubic */
    int64_t size[3];
    outside outside;
    bool aligned; /* positions are reflected at the centres of the outermost elements, not at their borders */
} sampler;

/* ---- positions ---- */

/* Reflects positions at both ends of low .. high until they are inside. */
static weft_tensor *reflect(weft_tensor *p, double low, double high) {
    const double range = high - low;
    if (range == 0) return weft_full(weft_tensor_graph(p), WEFT_F32, low, 0, NULL);
    weft_tensor *const t = weft_remainder_number(weft_sub_number(p, low), 2 * range);
    return weft_add_number(weft_minimum(t, weft_number_sub(2 * range, t)), low);
}

/* Moves positions outside of an axis inside, by clamping or reflection. The bits of positions inside do not change. */
static weft_tensor *move_inside(const sampler *s, int d, weft_tensor *p) {
    const double low = s->aligned ? 0 : -0.5, high = (double)s->size[d] - 1 - low,
                 last = (double)s->size[d] - 1;
    if (s->outside == ZEROS) return p;
    weft_tensor *const beyond = weft_logical_or(weft_less_number(p, low), weft_greater_number(p, high));
    return weft_where(beyond, s->outside == BORDER ? weft_clamp(p, 0, last) : reflect(p, low, high), p);
}

/* The weight of tap number `tap` along an axis. t: the distance of the position from the next lower element, in 0..1. */
static weft_tensor *tap_weight(const sampler *s, int tap, weft_tensor *t) {
    const double c = -0.75;
    if (s->taps == 1) return NULL;
    if (s->taps == 2) return tap == 0 ? weft_number_sub(1, t) : t;
    if (tap >= 2) t = weft_number_sub(1, t);
    if (tap == 0 || tap == 3) t = weft_add_number(t, 1);
    /* Horner's forms of Keys' polynomials for distances in 1..2 and in 0..1. */
    if (tap == 0 || tap == 3)
        return weft_add_number(
            weft_mul(weft_add_number(weft_mul(weft_add_number(weft_mul_number(t, c), -5 * c), t), 8 * c), t),
            -4 * c);
    return weft_add_number(weft_mul(weft_mul(weft_add_number(weft_mul_number(t, c + 2), -(c + 3)), t), t), 1);
}

/* The index of a tap, as i32, moved inside the axis. *inside: was it inside before? NULL if elements outside do not count as 0. */
static weft_tensor *tap_index(const sampler *s, int d, weft_tensor *at, weft_tensor **inside) {
    const double last = (double)s->size[d] - 1;
    *inside = s->outside == ZEROS
                  ? weft_logical_and(weft_greater_equal_number(at, 0), weft_less_equal_number(at, last))
                  : NULL;
    if (s->outside == REFLECTION) at = move_inside(s, d, at);
    return weft_cast(weft_clamp(at, 0, last), WEFT_I32);
}

static weft_tensor *times(weft_tensor *a, weft_tensor *b) {
    return a && b ? weft_mul(a, b) : a ? a : b;
}

/* Samples x at the positions p[axis] → (N, G, C, P). */
static weft_tensor *sample(const sampler *s, weft_tensor *x, weft_tensor *const *p) {
    weft_tensor *index[3][4], *weight[3][4], *sum = NULL;
    int64_t dims[4];
    int count = 1;
    for (int d = 0; d < s->axes; d++) {
        /* As in PyTorch, cubic sampling at a border moves the index of each tap inside, and not the position. */
        const bool moves = s->taps < 4 || s->outside != BORDER;
        weft_tensor *const own = s->taps == 1 ? weft_round(p[d]) : p[d], *const at =
                                                                             moves ? move_inside(s, d, own)
                                                                                   : own;
        weft_tensor *const base = s->taps == 1 ? at : weft_floor(at), *const t = weft_sub(at, base);
        for (int k = 0; k < s->taps; k++) {
            weft_tensor *inside;
            index[d][k] = tap_index(s, d, weft_add_number(base, s->taps == 4 ? k - 1 : k), &inside);
            weight[d][k] = times(tap_weight(s, k, t), inside ? weft_cast(inside, WEFT_F32) : NULL);
        }
        count *= s->taps;
    }
    wi_onnx_dims(x, dims);
    dims[3] = weft_tensor_dimension(p[0], 3);
    for (int i = 0; i < count; i++) {
        weft_tensor *at = NULL, *factor = NULL;
        for (int d = 0, rest = i; d < s->axes; d++, rest /= s->taps) {
            weft_tensor *const tap = index[d][rest % s->taps];
            at = at ? weft_add(weft_mul_number(at, (double)s->size[d]), tap) : tap;
            factor = times(factor, weight[d][rest % s->taps]);
        }
        weft_tensor *const value = times(weft_gather(x, 3, weft_expand(at, 4, dims)), factor);
        sum = sum ? weft_add(sum, value) : value;
    }
    return sum;
}

/* Reads the sizes of the spatial axes. False: there are not 2 or 3 of them, or a size is open; an error is recorded. */
static bool read_sizes(sampler *s, wi_onnx_import *n, wi_onnx_node *node, const weft_tensor *x) {
    s->axes = weft_tensor_rank(x) - 2;
    bool fixed = s->axes >= 1 && s->axes <= 3;
    for (int d = 0; fixed && d < s->axes; d++) {
        s->size[d] = wi_onnx_fixed_size(x, d + 2);
        fixed = s->size[d] > 0;
    }
    if (!fixed)
        wi_onnx_fail(
            n, node, WEFT_ERROR_UNSUPPORTED, "it needs an image with 1 to 3 spatial axes of fixed size");
    return fixed;
}

/* Reshapes (N, C, spatial...) to (N, groups, C / groups, I). */
static weft_tensor *flat_image(weft_tensor *x, int64_t groups) {
    weft_tensor *const flat = weft_flatten_axes(x, 2, -1);
    const int64_t dims[] = {weft_tensor_dimension(flat, 0), groups, weft_tensor_dimension(flat, 1) / groups,
        weft_tensor_dimension(flat, 2)};
    return weft_reshape_shape(flat, 4, dims);
}

/* ---- grids ---- */

/* -1 and 1 are the ends of an axis; x is the last axis of the image, and the first number of a position. */
static weft_tensor *build_grid_sample(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0), *const grid = wi_onnx_get(n, node, 1);
    static const char *const modes[] = {"bilinear", "linear", "nearest", "bicubic", "cubic", NULL},
                             *const paddings[] = {"zeros", "border", "reflection", NULL};
    static const int taps[] = {2, 2, 1, 4, 4, 0};
    const int mode = wi_onnx_choice(node, "mode", modes),
              padding = wi_onnx_choice(node, "padding_mode", paddings);
    sampler s = {.taps = taps[mode],
        .outside = (outside)padding,
        .aligned = wi_onnx_whole(node, "align_corners", 0) != 0};
    weft_tensor *p[3];
    int64_t dims[WEFT_MAX_RANK];
    if (n->status != WEFT_OK || !read_sizes(&s, n, node, x)) return NULL;
    const int rank = s.axes + 2;
    if (weft_tensor_rank(grid) != rank || weft_tensor_dimension(grid, -1) != s.axes || s.taps == 0 ||
        padding == 3 || (s.taps == 4 && s.axes > 2))
        return wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED, "its grid or its mode does not match the image");
    for (int d = 0; d < s.axes; d++) {
        const int64_t at = s.axes - 1 - d;
        const double size = (double)s.size[d];
        weft_tensor *const own = weft_flatten_axes(weft_slice(grid, -1, at, at + 1), 1, -1);
        weft_tensor *const unit = weft_add_number(own, 1);
        p[d] = s.aligned ? weft_mul_number(weft_mul_number(unit, 0.5), size - 1)
                         : weft_mul_number(weft_sub_number(weft_mul_number(unit, size), 1), 0.5);
        p[d] = weft_unsqueeze(weft_unsqueeze(p[d], 1), 1);
    }
    wi_onnx_dims(x, dims);
    for (int d = 0; d < s.axes; d++) dims[d + 2] = weft_tensor_dimension(grid, d + 1);
    return weft_reshape_shape(sample(&s, flat_image(x, 1), p), rank, dims);
}

/* Multiplies theta, (N, 2, 3) or (N, 3, 4), by the positions of all elements of an image of the given size. */
static weft_tensor *build_affine_grid(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const theta = wi_onnx_get(n, node, 0);
    const wi_onnx_list size = wi_onnx_get_sizes(n, node, 1, "the size");
    const bool aligned = wi_onnx_whole(node, "align_corners", 0) != 0;
    wi_onnx_numbers grid;
    int64_t all[2] = {1, size.count - 1}, dims[5] = {0};
    if (n->status != WEFT_OK) return NULL;
    const int axes = size.count - 2;
    if ((axes != 2 && axes != 3) || weft_tensor_rank(theta) != 3 || weft_tensor_dimension(theta, 1) != axes)
        return wi_onnx_fail(n, node, WEFT_ERROR_SHAPE, "its size does not match theta");
    for (int d = 0; d < axes; d++) {
        if (size.of[d + 2] < 1 || size.of[d + 2] > 1 << 15 || (aligned && size.of[d + 2] == 1))
            return wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED, "this size is not supported");
        all[0] *= size.of[d + 2];
        dims[d + 1] = size.of[d + 2];
    }
    if (!wi_onnx_zeros(&grid, n, node, WEFT_F32, 2, all)) return NULL;
    for (int64_t i = 0; i < all[0]; i++) {
        int64_t rest = i;
        for (int d = axes - 1; d >= 0; d--) {
            const double at = (double)(rest % dims[d + 1]), count = (double)dims[d + 1];
            rest /= dims[d + 1];
            grid.data[i * all[1] + axes - 1 - d] =
                aligned ? 2 * at / (count - 1) - 1 : (2 * at + 1) / count - 1;
        }
        grid.data[i * all[1] + axes] = 1;
    }
    dims[0] = weft_tensor_dimension(theta, 0);
    dims[axes + 1] = axes;
    return weft_reshape_shape(weft_matmul(wi_onnx_array(n, &grid), weft_transpose(theta)), axes + 2, dims);
}

/* ---- regions ---- */

typedef struct region_axis {
    weft_tensor *low, *high, *part, *inside; /* (R, samples): indices, the part of `high`, and 0 outside */
} region_axis;

/* Computes the positions of samples along an axis of each region: `count` samples in each of the `bins`. rois: (R, 4); begin: the column of
 * rois with the beginning of the region along this axis. */
static region_axis sample_regions(wi_onnx_import *n, wi_onnx_node *node, weft_tensor *rois, int begin,
    int64_t size, int64_t bins, int64_t count) {
    const bool half =
        n->version >= 16 && !wi_onnx_says(node, "coordinate_transformation_mode", "output_half_pixel");
    const double scale = wi_onnx_real(node, "spatial_scale", 1), last = (double)size - 1;
    weft_tensor *edges[2];
    wi_onnx_numbers parts;
    if (!wi_onnx_zeros(&parts, n, node, WEFT_F32, 1, (int64_t[]){bins * count})) return (region_axis){0};
    for (size_t i = 0; i < parts.count; i++) parts.data[i] = ((double)i + 0.5) / (double)parts.count;
    for (int e = 0; e < 2; e++)
        edges[e] = weft_sub_number(
            weft_mul_number(weft_slice(rois, 1, begin + 2 * e, begin + 2 * e + 1), scale), half ? 0.5 : 0);
    weft_tensor *extent = weft_sub(edges[1], edges[0]);
    if (!half) extent = weft_maximum_number(extent, 1);
    weft_tensor *const at = weft_add(edges[0], weft_mul(extent, wi_onnx_array(n, &parts)));
    weft_tensor *const inner = weft_clamp(at, 0, last), *const base = weft_floor(inner);
    return (region_axis){weft_cast(base, WEFT_I32),
        weft_cast(weft_minimum_number(weft_add_number(base, 1), last), WEFT_I32), weft_sub(inner, base),
        weft_cast(
            weft_logical_and(weft_greater_equal_number(at, -1), weft_less_equal_number(at, (double)size)),
            WEFT_F32)};
}

/* One of the four elements around each sample, multiplied by its weight: (R, rows, columns, C). */
static weft_tensor *corner(weft_tensor *table, weft_tensor *image, const region_axis *y, const region_axis *x,
    int which, int64_t width) {
    weft_tensor *const row = weft_add(image, which & 2 ? y->high : y->low);
    weft_tensor *const at = weft_add(weft_mul_number(weft_unsqueeze(row, 2), (double)width),
        weft_unsqueeze(which & 1 ? x->high : x->low, 1));
    weft_tensor *const down = weft_mul(which & 2 ? y->part : weft_number_sub(1, y->part), y->inside);
    weft_tensor *const right = weft_mul(which & 1 ? x->part : weft_number_sub(1, x->part), x->inside);
    weft_tensor *const weight = weft_mul(weft_unsqueeze(down, 2), weft_unsqueeze(right, 1));
    return weft_mul(weft_index_select(table, 0, at), weft_unsqueeze(weight, 3));
}

/* As in ONNX, mode max returns the largest of the weighted corners, not the largest interpolated sample. */
static weft_tensor *build_roi_align(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0), *const rois = wi_onnx_get(n, node, 1),
                       *const image = wi_onnx_get(n, node, 2);
    const int64_t rows = wi_onnx_whole(node, "output_height", 1),
                  columns = wi_onnx_whole(node, "output_width", 1),
                  count = wi_onnx_whole(node, "sampling_ratio", 0);
    static const char *const modes[] = {"avg", "max", NULL};
    const int mode = wi_onnx_choice(node, "mode", modes);
    const bool maximum = mode == 1;
    sampler s = {0};
    if (n->status != WEFT_OK || !read_sizes(&s, n, node, x)) return NULL;
    if (s.axes != 2 || mode == 2 || weft_tensor_rank(rois) != 2 || weft_tensor_dimension(rois, 1) != 4 ||
        weft_tensor_rank(image) != 1 || rows < 1 || columns < 1 || count < 1 || rows > 1024 ||
        columns > 1024 || count > 64)
        return wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED,
            "it needs rois (R, 4), and a sampling_ratio of at least 1: without one it depends on the rois");
    const region_axis across = sample_regions(n, node, rois, 0, s.size[1], columns, count),
                      down = sample_regions(n, node, rois, 1, s.size[0], rows, count);
    if (n->status != WEFT_OK) return NULL;
    /* The pixels as rows (N·H·W, C) of a table. */
    weft_tensor *const table = weft_flatten_axes(weft_channels_last(x), 0, 2);
    weft_tensor *const first = weft_mul_number(weft_unsqueeze(image, 1), (double)s.size[0]);
    weft_tensor *all = NULL;
    for (int i = 0; i < 4; i++) {
        weft_tensor *const own = corner(table, first, &down, &across, i, s.size[1]);
        all = !all ? own : maximum ? weft_maximum(all, own) : weft_add(all, own);
    }
    const int64_t dims[] = {
        weft_tensor_dimension(all, 0), rows, count, columns, count, weft_tensor_dimension(x, 1)};
    const int64_t axes[] = {2, 4, WEFT_END};
    weft_tensor *const samples = weft_reshape_shape(all, 6, dims);
    return weft_channels_first(
        maximum ? weft_max_axes(samples, axes, false) : weft_mean_axes(samples, axes, false));
}

/* ---- deformable convolution ---- */

/* The positions along an axis of all elements of all windows: (1, 1, 1, elements of a window · windows). */
static weft_tensor *window_positions(
    wi_onnx_import *n, wi_onnx_node *node, const wi_onnx_window *w, int axis, const int64_t *windows) {
    const int64_t dims[] = {1, 1, 1, w->size[0] * w->size[1] * windows[0] * windows[1]};
    wi_onnx_numbers at;
    if (!wi_onnx_zeros(&at, n, node, WEFT_F32, 4, dims)) return NULL;
    for (int64_t i = 0; i < dims[3]; i++) {
        const int64_t place = i % (windows[0] * windows[1]), tap = i / (windows[0] * windows[1]);
        const int64_t o = axis ? place % windows[1] : place / windows[1],
                      k = axis ? tap % w->size[1] : tap / w->size[1];
        at.data[i] = (double)(o * w->stride[axis] + k * w->dilation[axis] - w->before[axis]);
    }
    return wi_onnx_array(n, &at);
}

/* A convolution in which each element of each window is read at an additional offset, and multiplied by a mask if there is one: the elements
 * are sampled, then multiplied by the weight as a matrix. */
static weft_tensor *build_deform_conv(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0), *const weight = wi_onnx_get(n, node, 1),
                       *const offset = wi_onnx_get(n, node, 2), *const bias = wi_onnx_optional(n, node, 3),
                       *const mask = wi_onnx_optional(n, node, 4);
    const int64_t groups = wi_onnx_whole(node, "group", 1), shifts = wi_onnx_whole(node, "offset_group", 1);
    sampler s = {.taps = 2};
    wi_onnx_window w;
    if (n->status != WEFT_OK || !read_sizes(&s, n, node, x) || !wi_onnx_window_read(&w, n, node, x, weight))
        return NULL;
    const int64_t batch = weft_tensor_dimension(x, 0), channels = weft_tensor_dimension(x, 1),
                  filters = weft_tensor_dimension(weight, 0), taps = w.axes == 2 ? w.size[0] * w.size[1] : 0;
    int64_t windows[2] = {0};
    for (int d = 0; w.axes == 2 && d < 2; d++)
        windows[d] = (s.size[d] + w.before[d] + w.after[d] - wi_onnx_window_reach(&w, d)) / w.stride[d] + 1;
    const int64_t area = windows[0] * windows[1];
    if (w.axes != 2 || groups < 1 || shifts < 1 || channels % groups || channels % shifts ||
        filters % groups || weft_tensor_rank(offset) != 4 ||
        weft_tensor_dimension(offset, 1) != shifts * taps * 2 ||
        weft_tensor_dimension(offset, 2) != windows[0] || weft_tensor_dimension(offset, 3) != windows[1])
        return wi_onnx_fail(n, node, WEFT_ERROR_SHAPE,
            "its shapes do not match, or the image does not have two spatial axes");
    weft_tensor *p[2], *const all = weft_reshape_shape(offset, 5, (int64_t[]){batch, shifts, taps, 2, area});
    for (int d = 0; d < 2; d++) {
        weft_tensor *const own =
            weft_reshape_shape(weft_slice(all, 3, d, d + 1), 4, (int64_t[]){batch, shifts, 1, taps * area});
        p[d] = weft_add(own, window_positions(n, node, &w, d, windows));
    }
    weft_tensor *columns = sample(&s, flat_image(x, shifts), p);
    if (mask)
        columns = weft_mul(columns, weft_reshape_shape(mask, 4, (int64_t[]){batch, shifts, 1, taps * area}));
    const int64_t depth = channels / groups * taps;
    columns = weft_reshape_shape(columns, 4, (int64_t[]){batch, groups, depth, area});
    weft_tensor *const matrix =
        weft_reshape_shape(weight, 4, (int64_t[]){1, groups, filters / groups, depth});
    weft_tensor *const y = weft_reshape_shape(
        weft_matmul(matrix, columns), 4, (int64_t[]){batch, filters, windows[0], windows[1]});
    return bias ? weft_add(y, weft_reshape_shape(bias, 3, (int64_t[]){filters, 1, 1})) : y;
}

const wi_onnx_op wi_onnx_sample_ops[] = {{"GridSample", .build = build_grid_sample},
    {"AffineGrid", .build = build_affine_grid, .host = 1u << 1}, {"RoiAlign", .build = build_roi_align},
    {"DeformConv", .build = build_deform_conv, .weights = 1u << 1 | 1u << 3}, {0}};
