/* Reshape and expand, which are views, and concat, whose inputs the planner computes directly in the memory of the result. */
#include "ops/movement/movement.h"
#include "graph/sizes.h"
#include "ops/op_table.h"
#include <string.h>

/* ---- reshape ---- */

bool wi_reshape_next_run(wi_reshape_run *r, const wi_extent *x, const wi_extent *out) {
    while (r->i_end < x->rank && wi_size_is(x->dims[r->i_end], 1)) r->i_end++;
    while (r->j_end < out->rank && wi_size_is(out->dims[r->j_end], 1)) r->j_end++;
    r->i = r->i_end;
    r->j = r->j_end;
    if (r->i == x->rank || r->j == out->rank) return false;
    int64_t in_count = x->dims[r->i_end++].general, out_count = out->dims[r->j_end++].general;
    while (in_count != out_count) {
        if (in_count < out_count)
            in_count *= x->dims[r->i_end++].general;
        else
            out_count *= out->dims[r->j_end++].general;
    }
    return true;
}

/* Writes the strides of the output axes of a run, which divide the merged input axes. False: strides do not allow
 * merging the input axes into one. */
static bool split_run(const wi_reshape_run *r, const wi_extent *x, const wi_layout *in, const wi_extent *out,
    wi_layout *layout) {
    int last = -1;
    for (int k = r->i_end - 1; k >= r->i; k--) {
        if (wi_size_is(x->dims[k], 1)) continue;
        if (last >= 0 && !wi_size_equal(in->strides[k], wi_size_mul(in->strides[last], x->dims[last])))
            return false;
        last = k;
    }
    wi_size stride = wi_size_of(0);
    for (int k = r->i_end - 1; k >= r->i; k--) {
        if (wi_size_is(x->dims[k], 1)) continue;
        stride = in->strides[k];
        break;
    }
    for (int k = r->j_end - 1; k >= r->j; k--) {
        layout->strides[k] = stride;
        stride = wi_size_mul(stride, out->dims[k]);
    }
    return true;
}

static bool reshape_view(
    const weft_tensor *y, const wi_extent *x, const wi_layout *in, const wi_extent *out, wi_layout *layout) {
    (void)y;
    *layout = (wi_layout){.offset = in->offset};
    wi_reshape_run r = {0};
    while (wi_reshape_next_run(&r, x, out)) {
        if (!split_run(&r, x, in, out, layout)) return false;
    }
    return true;
}

static weft_tensor *reshape_again(const weft_tensor *y, weft_tensor *const *inputs, const wi_shape *shape,
    const wi_attributes *attributes) {
    (void)y, (void)attributes;
    return weft_reshape_shape(inputs[0], shape->rank, shape->dims);
}

const wi_op wi_op_reshape = {
    .name = "reshape", .kind = WI_VIEW, .view = reshape_view, .remake = reshape_again};

weft_tensor *weft_reshape_shape(weft_tensor *x, int rank, const int64_t *dims) {
    weft_graph *graph = wi_inputs_graph("reshape", &x, 1);
    if (!graph) return NULL;
    if (rank < 0 || rank > WEFT_MAX_RANK || (rank > 0 && !dims))
        return wi_graph_fail(
            graph, WEFT_ERROR_SHAPE, "reshape: rank %d is not in 0..%d", rank, WEFT_MAX_RANK);
    wi_shape shape = {.rank = rank};
    for (int i = 0; i < rank; i++) shape.dims[i] = dims[i];
    if (wi_shape_equal(&shape, &x->shape)) return x;
    int64_t count_x, count_y;
    int power_x, power_y;
    char text_x[WI_SHAPE_TEXT], text_y[WI_SHAPE_TEXT];
    if (wi_shape_check(graph, &shape, "reshape") != WEFT_OK)
        return wi_graph_fail_recorded(graph, WEFT_ERROR_SHAPE);
    wi_shape_count(x->graph, &x->shape, &count_x, &power_x);
    wi_shape_count(graph, &shape, &count_y, &power_y);
    if (count_x == INT64_MAX)
        return wi_graph_fail(graph, WEFT_ERROR_SHAPE,
            "reshape: the elements of %s cannot be counted: too many sizes depend on the plan",
            wi_shape_print(x->graph, &x->shape, text_x));
    if (count_x != count_y || power_x != power_y)
        return wi_graph_fail(graph, WEFT_ERROR_SHAPE, "reshape: %s and %s have different numbers of elements",
            wi_shape_print(x->graph, &x->shape, text_x), wi_shape_print(graph, &shape, text_y));
    return wi_node(graph, &wi_op_reshape, &x, 1, x->dtype, &shape, NULL);
}

weft_tensor *weft_reshape_list_(weft_tensor *x, const int64_t *dims, bool unused) {
    (void)unused;
    int rank = 0;
    while (dims[rank] != WEFT_END) rank++;
    return weft_reshape_shape(x, rank, dims);
}

weft_tensor *weft_flatten(weft_tensor *x) {
    char text[WI_SHAPE_TEXT];
    if (x && x->shape.rank < 1)
        return wi_graph_fail(x->graph, WEFT_ERROR_SHAPE, "flatten: %s has no batch axis",
            wi_shape_print(x->graph, &x->shape, text));
    return x && x->shape.rank == 1 ? weft_unsqueeze(x, 1) : weft_flatten_axes(x, 1, -1);
}

weft_tensor *weft_flatten_axes(weft_tensor *x, int start, int end) {
    weft_graph *graph = wi_inputs_graph("flatten", &x, 1);
    if (!graph) return NULL;
    const int first = wi_axis_index(x, "flatten", start), last = wi_axis_index(x, "flatten", end);
    if (first < 0 || last < 0) return NULL;
    char text[WI_SHAPE_TEXT];
    if (last < first)
        return wi_graph_fail(graph, WEFT_ERROR_SHAPE,
            "flatten: the last axis, %d of %s, comes before the first, %d", last,
            wi_shape_print(x->graph, &x->shape, text), first);
    uint32_t axes = 0;
    for (int i = first; i <= last; i++) axes |= 1u << i;
    int64_t count;
    int power;
    wi_axes_count(x, axes, &count, &power);
    if (power > 1)
        return wi_graph_fail(graph, WEFT_ERROR_SHAPE, "flatten: %s would need a dimension of batch^%d",
            wi_shape_print(x->graph, &x->shape, text), power);
    wi_shape shape = {.rank = x->shape.rank - (last - first)};
    for (int i = 0; i < shape.rank; i++) shape.dims[i] = x->shape.dims[i <= first ? i : i + last - first];
    shape.dims[first] = power ? -count : count;
    return weft_reshape_shape(x, shape.rank, shape.dims);
}

weft_tensor *weft_squeeze_axes(weft_tensor *x, const int64_t *axes) {
    weft_graph *graph = wi_inputs_graph("squeeze", &x, 1);
    if (!graph) return NULL;
    uint32_t dropped = 0;
    const bool all = !axes || *axes == WEFT_END;
    char text[WI_SHAPE_TEXT];
    for (int i = 0; all && i < x->shape.rank; i++) dropped |= (uint32_t)(x->shape.dims[i] == 1) << i;
    if (!all && !wi_axes_mask(x, "squeeze", axes, &dropped)) return NULL;
    for (int i = 0; i < x->shape.rank; i++)
        if ((dropped >> i & 1) && x->shape.dims[i] != 1)
            return wi_graph_fail(graph, WEFT_ERROR_SHAPE, "squeeze: axis %d of %s is not of size 1", i,
                wi_shape_print(x->graph, &x->shape, text));
    const wi_shape shape = wi_shape_without(&x->shape, dropped);
    return weft_reshape_shape(x, shape.rank, shape.dims);
}

weft_tensor *weft_squeeze_list_(weft_tensor *x, const int64_t *axes, bool unused) {
    (void)unused;
    return weft_squeeze_axes(x, axes);
}

weft_tensor *weft_unsqueeze(weft_tensor *x, int axis) {
    weft_graph *graph = wi_inputs_graph("unsqueeze", &x, 1);
    if (!graph) return NULL;
    const int rank = x->shape.rank, index = axis < 0 ? axis + rank + 1 : axis;
    char text[WI_SHAPE_TEXT];
    if (index < 0 || index > rank || rank == WEFT_MAX_RANK)
        return wi_graph_fail(graph, WEFT_ERROR_SHAPE,
            "unsqueeze: %s has no place for a new axis %d; the rank is at most %d",
            wi_shape_print(x->graph, &x->shape, text), axis, WEFT_MAX_RANK);
    wi_shape shape = {.rank = rank + 1};
    for (int i = 0; i <= rank; i++)
        shape.dims[i] = i < index ? x->shape.dims[i] : i == index ? 1 : x->shape.dims[i - 1];
    return weft_reshape_shape(x, shape.rank, shape.dims);
}

/* ---- expand ---- */

bool wi_same_view(
    const weft_tensor *y, const wi_extent *x, const wi_layout *in, const wi_extent *out, wi_layout *layout) {
    (void)y, (void)x, (void)out;
    *layout = *in;
    return true;
}

static bool expand_view(
    const weft_tensor *y, const wi_extent *x, const wi_layout *in, const wi_extent *out, wi_layout *layout) {
    (void)y;
    *layout = (wi_layout){.offset = in->offset};
    for (int i = 1; i <= x->rank; i++) {
        const bool stretched = !wi_size_equal(x->dims[x->rank - i], out->dims[out->rank - i]);
        layout->strides[out->rank - i] = stretched ? wi_size_of(0) : in->strides[x->rank - i];
    }
    return true;
}

static weft_tensor *expand_again(const weft_tensor *y, weft_tensor *const *inputs, const wi_shape *shape,
    const wi_attributes *attributes) {
    (void)y, (void)attributes;
    return weft_expand(inputs[0], shape->rank, shape->dims);
}

const wi_op wi_op_expand = {.name = "expand", .kind = WI_VIEW, .view = expand_view, .remake = expand_again};

weft_tensor *weft_expand(weft_tensor *x, int rank, const int64_t *dims) {
    weft_graph *graph = wi_inputs_graph("expand", &x, 1);
    if (!graph) return NULL;
    wi_shape shape = {.rank = rank}, both;
    if (rank < 0 || rank > WEFT_MAX_RANK || (rank > 0 && !dims))
        return wi_graph_fail(graph, WEFT_ERROR_SHAPE, "expand: rank %d is not in 0..%d", rank, WEFT_MAX_RANK);
    for (int i = 0; i < rank; i++) shape.dims[i] = dims[i];
    char text_x[WI_SHAPE_TEXT], text_y[WI_SHAPE_TEXT];
    if (!wi_shape_broadcast(&x->shape, &shape, &both) || !wi_shape_equal(&both, &shape))
        return wi_graph_fail(graph, WEFT_ERROR_SHAPE, "expand: %s does not broadcast to %s",
            wi_shape_print(x->graph, &x->shape, text_x), wi_shape_print(graph, &shape, text_y));
    if (wi_shape_equal(&x->shape, &shape)) return x;
    return wi_node(graph, &wi_op_expand, &x, 1, x->dtype, &shape, NULL);
}

/* ---- concat, stack ---- */

enum { WI_MOST_JOINED = 4096 };

const wi_op wi_op_concat = {
    .name = "concat", .kind = WI_JOIN, .attribute_bytes = sizeof(wi_along_attributes)};

static bool joins(const weft_tensor *a, const weft_tensor *b, int axis) {
    wi_shape shape = b->shape;
    if (a->shape.rank != b->shape.rank) return false;
    shape.dims[axis] = a->shape.dims[axis];
    return wi_shape_equal(&a->shape, &shape);
}

static bool share_dtype(weft_graph *graph, const char *op, weft_tensor *const *xs, size_t count) {
    for (size_t i = 1; i < count; i++) {
        if (xs[i]->dtype == xs[0]->dtype) continue;
        wi_graph_fail(graph, WEFT_ERROR_DTYPE,
            "%s: takes tensors of one dtype, not %s and %s; weft_cast converts", op,
            weft_dtype_name(xs[0]->dtype), weft_dtype_name(xs[i]->dtype));
        return false;
    }
    return true;
}

weft_tensor *weft_concat(weft_tensor *const *xs, size_t count, int axis) {
    if (!xs || count == 0 || count > WI_MOST_JOINED) {
        weft_graph *graph = xs && count && xs[0] ? xs[0]->graph : NULL;
        return graph ? wi_graph_fail(graph, WEFT_ERROR_ARGUMENT,
                           "concat: count is %zu, but a call joins at most %d tensors; join them in several "
                           "calls",
                           count, WI_MOST_JOINED)
                     : NULL;
    }
    weft_graph *graph = wi_inputs_graph("concat", xs, (int)count);
    if (!graph) return NULL;
    if (!share_dtype(graph, "concat", xs, count)) return NULL;
    const int index = wi_axis_index(xs[0], "concat", axis);
    if (index < 0) return NULL;
    wi_shape shape = xs[0]->shape;
    char text_a[WI_SHAPE_TEXT], text_b[WI_SHAPE_TEXT];
    for (size_t i = 1; i < count; i++) {
        if (!joins(xs[0], xs[i], index))
            return wi_graph_fail(graph, WEFT_ERROR_SHAPE,
                "concat: %s %s and %s %s cannot be joined along axis %d: the other axes must be equal",
                weft_dtype_name(xs[0]->dtype), wi_shape_print(xs[0]->graph, &xs[0]->shape, text_a),
                weft_dtype_name(xs[i]->dtype), wi_shape_print(xs[i]->graph, &xs[i]->shape, text_b), index);
    }
    for (size_t i = 1; i < count; i++)
        shape.dims[index] = wi_dim_add(graph, shape.dims[index], xs[i]->shape.dims[index]);
    if (count == 1) return xs[0];
    const wi_attributes attributes = {.along = {.axis = index}};
    return wi_node(graph, &wi_op_concat, xs, (int)count, xs[0]->dtype, &shape, &attributes);
}

static weft_tensor *build_stack(weft_tensor *const *xs, size_t count, int axis) {
    if (!xs || count == 0) return NULL;
    if (count > WI_MOST_JOINED) return weft_concat(xs, count, axis); /* records the error */
    weft_graph *graph = wi_inputs_graph("stack", xs, (int)count);
    if (!graph || !share_dtype(graph, "stack", xs, count)) return NULL;
    weft_tensor **parts = wi_arena_take(&graph->arena, count * sizeof *parts);
    if (!parts) return wi_graph_fail_recorded(graph, WEFT_ERROR_MEMORY);
    char text_a[WI_SHAPE_TEXT], text_b[WI_SHAPE_TEXT];
    for (size_t i = 0; i < count; i++) {
        if (!wi_shape_equal(&xs[i]->shape, &xs[0]->shape))
            return wi_graph_fail(graph, WEFT_ERROR_SHAPE,
                "stack: %s %s and %s %s differ; all tensors must have one dtype and shape",
                weft_dtype_name(xs[0]->dtype), wi_shape_print(xs[0]->graph, &xs[0]->shape, text_a),
                weft_dtype_name(xs[i]->dtype), wi_shape_print(xs[i]->graph, &xs[i]->shape, text_b));
        parts[i] = weft_unsqueeze(xs[i], axis);
        if (!parts[i]) return NULL;
    }
    return weft_concat(parts, count, axis);
}

weft_tensor *weft_stack(weft_tensor *const *xs, size_t count, int axis) {
    return WI_CALL(xs && count ? xs[0] : NULL, "weft_stack", build_stack(xs, count, axis));
}
