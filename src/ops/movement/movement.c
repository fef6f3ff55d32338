/* Movement: reshape and expand are other strides over the same memory and cost nothing; concat puts its
 * inputs side by side, where the planner lets them be computed in place. Axes in another order are in
 * permute.c, what takes a part of an axis in slice.c, what makes axes longer in padding.c. */
#include "ops/op_table.h"
#include <string.h>

/* ---- reshape ---- */

/* A run of input axes [i, i_end) and of output axes [j, j_end) with the same number of elements. */
typedef struct run {
    int i, i_end, j, j_end;
} run;

static bool next_run(run *r, const wi_extent *x, const wi_extent *out) {
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

/* The input axes of a run must lie in memory as one: then its output axes split that one. */
static bool split_run(
    const run *r, const wi_extent *x, const wi_layout *in, const wi_extent *out, wi_layout *layout) {
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
    run r = {0};
    while (next_run(&r, x, out)) {
        if (!split_run(&r, x, in, out, layout)) return false;
    }
    return true;
}

static void reshape_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    const wi_shape *shape = &y->inputs[0]->shape;
    gradients[0] = weft_reshape_shape(g, shape->rank, shape->dims);
}

/* ---- reshape of a view that keeps an order of memory ---- */

/* Where in memory the run lies: *first is the memory axis of its first axis; false when its axes do not lie
 * one after the other. */
static bool run_in_memory(const run *r, const wi_extent *x, const wi_memory_order *order, int *first) {
    int at[WEFT_MAX_RANK]; /* the tensor's axis of each axis of memory */
    for (int i = 0; i < order->rank; i++) at[order->axes[i]] = i;
    int last = -1;
    for (int k = r->i; k < r->i_end; k++) {
        if (wi_size_is(x->dims[k], 1)) continue;
        const int here = order->axes[k];
        if (last < 0) *first = here;
        if (last >= here) return false;
        for (int m = last + 1; last >= 0 && m < here; m++) {
            if (!wi_size_is(x->dims[at[m]], 1)) return false;
        }
        last = here;
    }
    return last >= 0;
}

/* x is a view of memory in another order. When each group of axes that the reshape merges or splits lies
 * there side by side, the memory is reshaped instead, and the result is a view that keeps its order, too: (N,
 * C, H, W) over (N, H, W, C) to (N, C, HW) over (N, HW, C). */
static weft_tensor *reshape_in_order(wi_rewrite *rewrite, const weft_tensor *y, weft_tensor *const *inputs) {
    (void)rewrite;
    const weft_tensor *const x = inputs[0];
    const wi_shape *const shape = &y->shape;
    const wi_memory_order order = wi_memory_order_of(x);
    if (order.rank == 0) return NULL;
    weft_tensor *memory = x->inputs[0];
    if (!wi_memory_order_moves(&memory->shape, order.axes))
        return weft_reshape_shape(memory, shape->rank, shape->dims);
    const wi_extent from = wi_extent_of(&x->shape, 1), to = wi_extent_of(shape, 1);
    int begins[WEFT_MAX_RANK], ends[WEFT_MAX_RANK]; /* the result's axes at each axis of memory */
    for (int i = 0; i < order.rank; i++) begins[i] = ends[i] = 0;
    int next = 0, first = 0;
    run r = {0};
    while (next_run(&r, &from, &to)) {
        if (!run_in_memory(&r, &from, &order, &first)) return NULL;
        begins[first] = next; /* axes of size 1 go with those that they stand before */
        ends[first] = next = r.j_end;
    }
    ends[first] = shape->rank;
    wi_shape lying = {.rank = shape->rank};
    int8_t axes[WEFT_MAX_RANK];
    int place = 0;
    for (int i = 0; i < order.rank; i++) {
        for (int j = begins[i]; j < ends[i]; j++) {
            lying.dims[place] = shape->dims[j];
            axes[j] = (int8_t)place++;
        }
    }
    return wi_permute_through(weft_reshape_shape(memory, lying.rank, lying.dims), axes, WI_FROM_MEMORY_ORDER);
}

static weft_tensor *reshape_of_reshape(
    wi_rewrite *rewrite, const weft_tensor *y, weft_tensor *const *inputs) {
    (void)rewrite;
    weft_tensor *const x = inputs[0];
    return x->op == &wi_op_reshape ? weft_reshape_shape(x->inputs[0], y->shape.rank, y->shape.dims) : NULL;
}

static weft_tensor *reshape_again(const weft_tensor *y, weft_tensor *const *inputs, const wi_shape *shape,
    const wi_attributes *attributes) {
    (void)y, (void)attributes;
    return weft_reshape_shape(inputs[0], shape->rank, shape->dims);
}

static const wi_rule reshape_rules[] = {{"reshape of reshape", WI_STAGE_FORM, reshape_of_reshape},
    {"memory order", WI_STAGE_FORM, reshape_in_order}, {0}};
const wi_op wi_op_reshape = {.name = "reshape",
    .kind = WI_VIEW,
    .view = reshape_view,
    .backward = reshape_backward,
    .remake = reshape_again,
    .rules = reshape_rules};

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
    if (wi_shape_check(&shape, "reshape") != WEFT_OK) return wi_graph_fail_recorded(graph, WEFT_ERROR_SHAPE);
    wi_shape_count(&x->shape, &count_x, &power_x);
    wi_shape_count(&shape, &count_y, &power_y);
    if (count_x == INT64_MAX)
        return wi_graph_fail(graph, WEFT_ERROR_SHAPE,
            "reshape: too many axes of %s depend on %s to count its elements",
            wi_shape_print(&x->shape, text_x), wi_length_word(graph));
    if (count_x != count_y || power_x != power_y)
        return wi_graph_fail(graph, WEFT_ERROR_SHAPE, "reshape: %s and %s have different numbers of elements",
            wi_shape_print(&x->shape, text_x), wi_shape_print(&shape, text_y));
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
        return wi_graph_fail(
            x->graph, WEFT_ERROR_SHAPE, "flatten: %s has no batch axis", wi_shape_print(&x->shape, text));
    /* (batch) becomes (batch, 1). */
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
            wi_shape_print(&x->shape, text), first);
    uint32_t axes = 0;
    for (int i = first; i <= last; i++) axes |= 1u << i;
    int64_t count;
    int power;
    wi_axes_count(x, axes, &count, &power);
    if (power > 1)
        return wi_graph_fail(graph, WEFT_ERROR_SHAPE, "flatten: %s would need a dimension of batch^%d",
            wi_shape_print(&x->shape, text), power);
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
                wi_shape_print(&x->shape, text));
    wi_shape shape = {0};
    for (int i = 0; i < x->shape.rank; i++) {
        if (!(dropped >> i & 1)) shape.dims[shape.rank++] = x->shape.dims[i];
    }
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
            wi_shape_print(&x->shape, text), axis, WEFT_MAX_RANK);
    wi_shape shape = {.rank = rank + 1};
    for (int i = 0; i <= rank; i++)
        shape.dims[i] = i < index ? x->shape.dims[i] : i == index ? 1 : x->shape.dims[i - 1];
    return weft_reshape_shape(x, shape.rank, shape.dims);
}

/* ---- expand ---- */

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

static void expand_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    gradients[0] = wi_sum_to(g, &y->inputs[0]->shape);
}

static weft_tensor *expand_of_expand(wi_rewrite *rewrite, const weft_tensor *y, weft_tensor *const *inputs) {
    (void)rewrite;
    weft_tensor *const x = inputs[0];
    return x->op == &wi_op_expand ? weft_expand(x->inputs[0], y->shape.rank, y->shape.dims) : NULL;
}

static weft_tensor *expand_in_order(wi_rewrite *rewrite, const weft_tensor *y, weft_tensor *const *inputs) {
    (void)rewrite;
    const wi_memory_order order = wi_memory_order_of(inputs[0]);
    if (order.rank == 0 || order.rank != y->shape.rank) return NULL;
    const wi_shape lying = wi_shape_in_memory(&order, &y->shape);
    return wi_from_memory(&order, weft_expand(inputs[0]->inputs[0], lying.rank, lying.dims));
}

static weft_tensor *expand_again(const weft_tensor *y, weft_tensor *const *inputs, const wi_shape *shape,
    const wi_attributes *attributes) {
    (void)y, (void)attributes;
    return weft_expand(inputs[0], shape->rank, shape->dims);
}

static const wi_rule expand_rules[] = {{"memory order", WI_STAGE_FORM, expand_in_order},
    {"expand of expand", WI_STAGE_FORM, expand_of_expand}, {0}};
const wi_op wi_op_expand = {.name = "expand",
    .kind = WI_VIEW,
    .view = expand_view,
    .backward = expand_backward,
    .remake = expand_again,
    .names_size = true,
    .rules = expand_rules};

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
            wi_shape_print(&x->shape, text_x), wi_shape_print(&shape, text_y));
    if (wi_shape_equal(&x->shape, &shape)) return x;
    return wi_node(graph, &wi_op_expand, &x, 1, x->dtype, &shape, NULL);
}

/* ---- concat, stack ---- */

enum { WI_MOST_JOINED = 4096 };

/* Does the axis depend on the batch in some of them, and in others not? Their sum is counted, as a plan knows it. */
static bool mixes_batch(weft_tensor *const *xs, size_t count, int axis) {
    bool of_batch = false, of_numbers = false;
    for (size_t i = 0; i < count; i++) {
        of_batch = of_batch || xs[i]->shape.dims[axis] < 0;
        of_numbers = of_numbers || xs[i]->shape.dims[axis] >= 0;
    }
    return of_batch && of_numbers;
}

static int64_t size_along(const weft_tensor *x, int axis, bool counts) {
    return counts ? wi_counted(x->graph, x->shape.dims[axis]) : x->shape.dims[axis];
}

static void concat_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    const int axis = y->attributes->along.axis;
    const bool mixes = mixes_batch(y->inputs, (size_t)y->input_count, axis);
    int64_t start = 0;
    for (int i = 0; i < y->input_count; i++) {
        gradients[i] = wi_slice_dims(g, axis, start, y->inputs[i]->shape.dims[axis], 1);
        start += size_along(y->inputs[i], axis, mixes);
    }
}

/* All lie, or are seen, in the order of the first that has one. */
static weft_tensor *concat_in_order(wi_rewrite *rewrite, const weft_tensor *y, weft_tensor *const *inputs) {
    wi_memory_order order = {0};
    for (int i = 0; i < y->input_count && order.rank == 0; i++) order = wi_memory_order_of(inputs[i]);
    if (order.rank == 0) return NULL;
    const size_t count = (size_t)y->input_count;
    weft_tensor **lying = wi_arena_take(&y->graph->arena, count * sizeof *lying);
    if (!lying) return wi_graph_fail_recorded(y->graph, WEFT_ERROR_MEMORY);
    for (size_t i = 0; i < count; i++) lying[i] = wi_to_memory(rewrite, &order, inputs[i]);
    return wi_from_memory(&order, weft_concat(lying, count, order.axes[y->attributes->along.axis]));
}

static const wi_rule concat_rules[] = {{"memory order", WI_STAGE_FORM, concat_in_order}, {0}};
const wi_op wi_op_concat = {.name = "concat",
    .kind = WI_JOIN,
    .attribute_bytes = sizeof(wi_along_attributes),
    .backward = concat_backward,
    .rules = concat_rules};

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
                           "concat: count is %zu, which is more tensors than one concat can join; join them "
                           "in several calls",
                           count)
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
                weft_dtype_name(xs[0]->dtype), wi_shape_print(&xs[0]->shape, text_a),
                weft_dtype_name(xs[i]->dtype), wi_shape_print(&xs[i]->shape, text_b), index);
    }
    const bool mixes = mixes_batch(xs, count, index);
    if (mixes && !wi_length_is_batch(graph, "concat")) return NULL;
    shape.dims[index] = 0;
    for (size_t i = 0; i < count; i++) shape.dims[index] += size_along(xs[i], index, mixes);
    if (count == 1) return xs[0];
    const wi_attributes attributes = {.along = {.axis = index}};
    return wi_node(graph, &wi_op_concat, xs, (int)count, xs[0]->dtype, &shape, &attributes);
}

static weft_tensor *build_stack(weft_tensor *const *xs, size_t count, int axis) {
    if (!xs || count == 0) return NULL;
    if (count > WI_MOST_JOINED) return weft_concat(xs, count, axis); /* which refuses */
    weft_graph *graph = wi_inputs_graph("stack", xs, (int)count);
    if (!graph || !share_dtype(graph, "stack", xs, count)) return NULL;
    weft_tensor **parts = wi_arena_take(&graph->arena, count * sizeof *parts);
    if (!parts) return wi_graph_fail_recorded(graph, WEFT_ERROR_MEMORY);
    char text_a[WI_SHAPE_TEXT], text_b[WI_SHAPE_TEXT];
    for (size_t i = 0; i < count; i++) {
        if (!wi_shape_equal(&xs[i]->shape, &xs[0]->shape))
            return wi_graph_fail(graph, WEFT_ERROR_SHAPE,
                "stack: %s %s and %s %s differ; all tensors must have one dtype and shape",
                weft_dtype_name(xs[0]->dtype), wi_shape_print(&xs[0]->shape, text_a),
                weft_dtype_name(xs[i]->dtype), wi_shape_print(&xs[i]->shape, text_b));
        parts[i] = weft_unsqueeze(xs[i], axis);
        if (!parts[i]) return NULL;
    }
    return weft_concat(parts, count, axis);
}

weft_tensor *weft_stack(weft_tensor *const *xs, size_t count, int axis) {
    return WI_CALL(xs && count ? xs[0] : NULL, "weft_stack", build_stack(xs, count, axis));
}
