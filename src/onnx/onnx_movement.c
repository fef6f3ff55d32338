/* Shapes, slices and indices of ONNX. */
#include "onnx/onnx_build.h"
#include <string.h>

/* ---- other shapes ---- */

/* How many elements; false: too many for 64 bits. */
static bool count_elements(weft_graph *graph, int64_t *all, int rank, const int64_t *dims) {
    *all = 1;
    for (int d = 0; d < rank && *all != INT64_MAX; d++) *all = wi_dim_multiply(graph, *all, dims[d]);
    return *all != INT64_MAX;
}

static weft_tensor *fail_to_fit(wi_onnx_import *n, wi_onnx_node *node, const weft_tensor *x, int rank,
    const int64_t *dims, int inferred) {
    char from[WI_SHAPE_TEXT], to[WI_SHAPE_TEXT];
    wi_shape shape = {.rank = rank};
    memcpy(shape.dims, dims, (size_t)rank * sizeof *dims);
    wi_shape_print(n->graph, &shape, to);
    wi_shape_print(n->graph, &x->shape, from);
    if (inferred < 0)
        return wi_onnx_fail(
            n, node, WEFT_ERROR_SHAPE, "%s does not have the number of elements of %s", to, from);
    return wi_onnx_fail(n, node, WEFT_ERROR_SHAPE,
        "no size of axis %d makes %s have the number of elements of %s", inferred, to, from);
}

/* In the new shape, 0 means the dimension of x, and -1 the dimension that follows from the number of elements. */
static weft_tensor *build_reshape(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0);
    const wi_onnx_list shape =
        wi_onnx_has(node, 1) ? wi_onnx_get_sizes(n, node, 1, "the shape") : wi_onnx_wholes(node, "shape");
    int64_t dims[WEFT_MAX_RANK], own[WEFT_MAX_RANK], all, known;
    const bool zero_is_zero = wi_onnx_whole(node, "allowzero", 0) != 0;
    int inferred = -1;
    if (!x || n->status != WEFT_OK) return NULL;
    if (shape.count > WEFT_MAX_RANK)
        return wi_onnx_fail(n, node, WEFT_ERROR_SHAPE, "the shape has %d dimensions", shape.count);
    wi_onnx_dims(x, own);
    for (int d = 0; d < shape.count; d++) {
        const bool same = shape.of[d] == 0 && !zero_is_zero;
        if (shape.of[d] < -1 || (shape.of[d] == -1 && inferred >= 0) || (same && d >= weft_tensor_rank(x)))
            return wi_onnx_fail(
                n, node, WEFT_ERROR_SHAPE, "the shape has %lld as dimension %d", (long long)shape.of[d], d);
        dims[d] = same ? own[d] : shape.of[d] == -1 ? 1 : wi_onnx_dimension(n->graph, shape.of[d]);
        if (shape.of[d] == -1) inferred = d;
    }
    if (!count_elements(n->graph, &all, weft_tensor_rank(x), own) ||
        !count_elements(n->graph, &known, shape.count, dims) ||
        (inferred >= 0 && !wi_dim_divides(n->graph, all, known, &dims[inferred])))
        return fail_to_fit(n, node, x, shape.count, dims, inferred);
    return weft_reshape_shape(x, shape.count, dims);
}

static weft_tensor *build_flatten(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0);
    int64_t dims[WEFT_MAX_RANK], flat[2] = {1, 1};
    if (!x) return NULL;
    wi_onnx_dims(x, dims);
    const int rank = weft_tensor_rank(x), axis = wi_onnx_axis(wi_onnx_whole(node, "axis", 1), rank);
    for (int d = 0; d < rank; d++) flat[d >= axis] = wi_dim_multiply(n->graph, flat[d >= axis], dims[d]);
    return weft_reshape_shape(x, 2, flat);
}

static weft_tensor *build_squeeze(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0);
    wi_onnx_list axes =
        wi_onnx_has(node, 1) ? wi_onnx_get_list(n, node, 1, "axes") : wi_onnx_wholes(node, "axes");
    if (!x || n->status != WEFT_OK || axes.count > WEFT_MAX_RANK) return NULL;
    axes.of[axes.count] = WEFT_END;
    return weft_squeeze_axes(x, axes.of);
}

/* The axes of the node are axes of the result. */
static weft_tensor *build_unsqueeze(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *x = wi_onnx_get(n, node, 0);
    const wi_onnx_list axes =
        wi_onnx_has(node, 1) ? wi_onnx_get_list(n, node, 1, "axes") : wi_onnx_wholes(node, "axes");
    bool isnew[WEFT_MAX_RANK] = {false};
    if (!x || n->status != WEFT_OK) return NULL;
    const int rank = weft_tensor_rank(x) + axes.count;
    for (int i = 0; i < axes.count; i++) {
        const int axis = wi_onnx_axis(axes.of[i], rank);
        if (rank > WEFT_MAX_RANK || axis < 0 || axis >= rank)
            return wi_onnx_fail(n, node, WEFT_ERROR_SHAPE, "there is no axis %lld", (long long)axes.of[i]);
        isnew[axis] = true;
    }
    for (int d = 0; d < rank; d++)
        if (isnew[d]) x = weft_unsqueeze(x, d);
    return x;
}

static weft_tensor *build_transpose(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0);
    const wi_onnx_list perm = wi_onnx_wholes(node, "perm");
    int axes[WEFT_MAX_RANK];
    if (!x) return NULL;
    const int rank = weft_tensor_rank(x);
    if (perm.count > 0 && perm.count != rank)
        return wi_onnx_fail(
            n, node, WEFT_ERROR_SHAPE, "the number of axes in perm is %d, expected %d", perm.count, rank);
    for (int d = 0; d < rank; d++) axes[d] = perm.count ? (int)perm.of[d] : rank - 1 - d;
    return weft_permute_axes(x, rank, axes);
}

/* x and the shape broadcast to each other: if a dimension of the shape is 1, the result has the dimension of x. */
static weft_tensor *build_expand(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0);
    const wi_onnx_list shape = wi_onnx_get_sizes(n, node, 1, "the shape");
    int64_t dims[WEFT_MAX_RANK];
    if (!x || n->status != WEFT_OK) return NULL;
    const int own = weft_tensor_rank(x), rank = own > shape.count ? own : shape.count;
    if (rank > WEFT_MAX_RANK)
        return wi_onnx_fail(n, node, WEFT_ERROR_SHAPE, "the shape has %d dimensions", rank);
    for (int d = 0; d < rank; d++) {
        const int64_t mine = d >= rank - own ? weft_tensor_dimension(x, d - (rank - own)) : 1;
        const int64_t asked = d >= rank - shape.count ? shape.of[d - (rank - shape.count)] : 1;
        dims[d] = asked == 1 ? mine : wi_onnx_dimension(n->graph, asked);
    }
    return weft_expand(x, rank, dims);
}

/* Repeats an axis a number of times that only plans know. */
static weft_tensor *tile_open(weft_tensor *x, int axis, int64_t times) {
    const int rank = weft_tensor_rank(x);
    int64_t dims[WEFT_MAX_RANK + 1];
    wi_onnx_dims(x, dims);
    const int64_t size = dims[axis];
    if (size == 1) return dims[axis] = times, weft_expand(x, rank, dims);
    memmove(dims + axis + 1, dims + axis, (size_t)(rank - axis) * sizeof *dims);
    dims[axis] = times;
    x = weft_expand(weft_unsqueeze(x, axis), rank + 1, dims);
    memmove(dims + axis, dims + axis + 1, (size_t)(rank - axis) * sizeof *dims);
    dims[axis] = x ? wi_dim_multiply(x->graph, times, size) : 1;
    return weft_reshape_shape(x, rank, dims);
}

static weft_tensor *build_tile(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *x = wi_onnx_get(n, node, 0);
    wi_onnx_list repeats = wi_onnx_get_sizes(n, node, 1, "repeats");
    if (!x || n->status != WEFT_OK) return NULL;
    for (int d = 0; d < repeats.count && repeats.count == weft_tensor_rank(x); d++) {
        if (!wi_onnx_is_symbol(repeats.of[d])) continue;
        if (wi_onnx_fixed_size(x, d) == 0)
            return wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED,
                "the size of axis %d depends on an open size of the network's inputs, and so do its repeats: "
                "give one of these sizes when the file is loaded",
                d);
        x = tile_open(x, d, wi_onnx_dimension(n->graph, repeats.of[d]));
        repeats.of[d] = 1;
    }
    return weft_tile(x, repeats.count, repeats.of);
}

/* ---- parts ---- */

/* Sets an output without elements, because the part of x has size 0 along an axis. Weft has no empty tensors, so the output is an empty
 * array of the host. */
static weft_tensor *set_empty(
    wi_onnx_import *n, wi_onnx_node *node, size_t index, const weft_tensor *x, int axis) {
    wi_onnx_numbers *const none = wi_arena_take(&n->arena, sizeof *none + sizeof *none->data);
    if (!none) return wi_onnx_fail(n, node, WEFT_ERROR_MEMORY, "out of memory");
    *none = (wi_onnx_numbers){
        .dtype = weft_tensor_dtype(x), .rank = weft_tensor_rank(x), .data = (double *)(none + 1)};
    for (int d = 0; d < none->rank; d++) {
        none->dims[d] = d == axis ? 0 : wi_onnx_fixed_size(x, d);
        if (d != axis && none->dims[d] == 0)
            return wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED,
                "an empty part of a tensor needs fixed sizes along its other axes");
    }
    wi_onnx_set_numbers(n, node, index, none);
    return NULL;
}

static weft_tensor *build_concat(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor **const parts = wi_arena_take(&n->arena, (node->n_input + 1) * sizeof(weft_tensor *));
    size_t count = 0;
    for (size_t i = 0; parts && i < node->n_input; i++) {
        const wi_onnx_numbers *const known = wi_onnx_known(n, node, i);
        if (!known || known->count > 0) parts[count++] = wi_onnx_get(n, node, i);
    }
    const int axis = count > 0 && n->status == WEFT_OK ? wi_onnx_axis_of(n, node, parts[0], 1) : -1;
    return axis >= 0 ? weft_concat(parts, count, axis) : NULL;
}

/* Reads the sizes of the parts. If none are given, the parts are equal, except that the last one may be smaller. False: the sizes do not add
 * up to the axis. */
static bool read_parts(wi_onnx_list *sizes, wi_onnx_node *node, int64_t all, size_t count) {
    const int64_t part = (all + (int64_t)count - 1) / (int64_t)count;
    const int given = sizes->count;
    int64_t rest = all;
    if (given > 0 && (size_t)given != count) return false;
    if (wi_onnx_whole(node, "num_outputs", (int64_t)count) != (int64_t)count) return false;
    for (size_t i = 0; i < count; i++) {
        if (given == 0) sizes->of[i] = i + 1 < count ? part : rest;
        if (sizes->of[i] < 0 || sizes->of[i] > rest) return false;
        rest -= sizes->of[i];
    }
    return rest == 0;
}

static weft_tensor *build_split(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0), *parts[4 * WEFT_MAX_RANK];
    wi_onnx_list sizes =
        wi_onnx_has(node, 1) ? wi_onnx_get_list(n, node, 1, "sizes") : wi_onnx_wholes(node, "split");
    const size_t count = node->n_output;
    const int axis = x && n->status == WEFT_OK ? wi_onnx_axis_of(n, node, x, 0) : -1;
    if (axis < 0) return NULL;
    if (count > sizeof parts / sizeof *parts || count == 0)
        return wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED,
            "the number of its outputs is %zu, expected 1 to %zu", count, sizeof parts / sizeof *parts);
    const int64_t all = wi_onnx_fixed_size(x, axis);
    if (all == 0 && sizes.count == 0) {
        if (weft_split(x, axis, count, parts) != WEFT_OK) return NULL;
        for (size_t i = 1; i < count; i++) wi_onnx_set(n, node, i, parts[i]);
        return parts[0];
    }
    if (all == 0)
        return wi_onnx_fail(
            n, node, WEFT_ERROR_UNSUPPORTED, "an axis of open size can only be split into equal parts");
    if (!read_parts(&sizes, node, all, count))
        return wi_onnx_fail(
            n, node, WEFT_ERROR_SHAPE, "the sizes of its parts do not add up to axis %d", axis);
    int64_t begin = 0;
    for (size_t i = 0; i < count; begin += sizes.of[i++]) {
        if (sizes.of[i] == 0)
            set_empty(n, node, i, x, axis);
        else
            wi_onnx_set(n, node, i, weft_slice(x, axis, begin, begin + sizes.of[i]));
    }
    return NULL;
}

/* Slices one axis. With a negative step, the axis is flipped first. If the slice is empty, returns x, and *empty is the axis. */
static weft_tensor *slice_axis(
    weft_tensor *x, int axis, int64_t start, int64_t end, int64_t step, int *empty) {
    const int64_t size = weft_tensor_dimension(x, axis);
    const int64_t low = step < 0 ? -1 : 0, high = step < 0 ? size - 1 : size;
    start = start < 0 ? start + size : start;
    end = end < 0 ? (end < -size ? low : end + size) : end;
    start = start < low ? low : start > high ? high : start;
    end = end < low ? low : end > high ? high : end;
    step = step < -INT32_MAX ? -INT32_MAX : step;
    if (step > 0 ? start >= end : start <= end) return *empty = axis, x;
    if (step > 0) return weft_slice_step(x, axis, start, end, step);
    x = weft_flip_axes(x, (const int64_t[]){axis, WEFT_END});
    return weft_slice_step(x, axis, size - 1 - start, size - 1 - end, -step);
}

/* In starts and ends, larger numbers mean "to the end". */
enum { LARGEST_SIZE = 1 << 29 };

/* A position whose sign depends on sizes, such as 7 - length, counts from the front; plans whose sizes make it negative are refused. For
 * Weft it then is a handle above 0. */
static int64_t from_front(weft_graph *graph, int64_t position) {
    wi_polynomial p;
    const bool unsure = wi_onnx_is_symbol(position) && position < 0 &&
                        wi_polynomial_of(graph, position, false, &p) && wi_polynomial_most(graph, &p) >= 0;
    return unsure ? wi_polynomial_dim(graph, &p, true) : position;
}

/* Slices an axis whose size, or with a start or end whose value, only plans know. ONNX clips a range that exceeds the axis; in Weft it is an
 * error of the plan. */
static weft_tensor *slice_open(wi_onnx_import *n, wi_onnx_node *node, weft_tensor *x, int axis, int64_t start,
    int64_t end, int64_t step) {
    const int64_t size = wi_onnx_symbol(n->graph, weft_tensor_dimension(x, axis));
    const bool open_start = wi_onnx_is_symbol(start), open_end = wi_onnx_is_symbol(end);
    if (step < 1 || (start < INT32_MIN && !open_start) || (end < INT32_MIN && !open_end))
        return wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED,
            "along an axis of open size, a slice needs a step of 1 or more and bounds that fit into i32");
    start = from_front(n->graph, start);
    end = from_front(n->graph, end);
    const bool to_end = end == size || (end >= LARGEST_SIZE && !open_end);
    return weft_slice_step(x, axis, start, to_end ? WEFT_END : end, step);
}

/* Starts, ends and axes are attributes up to version 9, and inputs from version 10 on. */
static weft_tensor *build_slice(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *x = wi_onnx_get(n, node, 0);
    const bool old = wi_onnx_attribute(node, "starts") != NULL;
    const wi_onnx_list starts =
        old ? wi_onnx_wholes(node, "starts") : wi_onnx_get_sizes(n, node, 1, "starts");
    const wi_onnx_list ends = old ? wi_onnx_wholes(node, "ends") : wi_onnx_get_sizes(n, node, 2, "ends");
    const wi_onnx_list axes = old                    ? wi_onnx_wholes(node, "axes")
                              : wi_onnx_has(node, 3) ? wi_onnx_get_list(n, node, 3, "axes")
                                                     : (wi_onnx_list){0};
    const wi_onnx_list steps =
        wi_onnx_has(node, 4) ? wi_onnx_get_list(n, node, 4, "steps") : (wi_onnx_list){0};
    int empty = -1;
    for (int i = 0; x && n->status == WEFT_OK && i < starts.count; i++) {
        const int axis = wi_onnx_axis(i < axes.count ? axes.of[i] : i, weft_tensor_rank(x));
        const int64_t step = i < steps.count ? steps.of[i] : 1;
        if (axis < 0 || axis >= weft_tensor_rank(x) || i >= ends.count || step == 0)
            return wi_onnx_fail(n, node, WEFT_ERROR_SHAPE, "its axes, ends or steps do not match its starts");
        const bool open = wi_onnx_is_symbol(wi_onnx_symbol(n->graph, weft_tensor_dimension(x, axis))) ||
                          wi_onnx_is_symbol(starts.of[i]) || wi_onnx_is_symbol(ends.of[i]);
        x = open ? slice_open(n, node, x, axis, starts.of[i], ends.of[i], step)
                 : slice_axis(x, axis, starts.of[i], ends.of[i], step, &empty);
    }
    if (x && empty >= 0 && n->status == WEFT_OK) return set_empty(n, node, 0, x, empty);
    return n->status == WEFT_OK ? x : NULL;
}

const wi_onnx_op wi_onnx_movement_ops[] = {{"Reshape", .build = build_reshape, .host = 1u << 1},
    {"Flatten", .build = build_flatten}, {"Squeeze", .build = build_squeeze, .host = 1u << 1},
    {"Unsqueeze", .build = build_unsqueeze, .host = 1u << 1}, {"Transpose", .build = build_transpose},
    {"Expand", .build = build_expand, .host = 1u << 1}, {"Tile", .build = build_tile, .host = 1u << 1},
    {"Concat", .build = build_concat}, {"Split", .build = build_split, .host = 1u << 1},
    {"Slice", .build = build_slice, .host = 1u << 1 | 1u << 2 | 1u << 3 | 1u << 4}, {0}};
