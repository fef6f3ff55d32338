/* Movement: permute and expand are other strides over the same memory and cost nothing; concat puts its inputs
 * side by side, where the planner lets them be computed in place. Reshapes are in reshape.c, what takes a part of an
 * axis is in slice.c, what makes axes longer in padding.c. */
#include "ops/op_table.h"
#include <string.h>

/* ---- permute ---- */

static bool permute_view(
    const weft_tensor *y, const wi_extent *x, const wi_layout *in, const wi_extent *out, wi_layout *layout) {
    (void)x;
    layout->offset = in->offset;
    for (int i = 0; i < out->rank; i++) layout->strides[i] = in->strides[y->attributes.order[i]];
    return true;
}

static void permute_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    static const uint32_t back[] = {0, WI_TO_MEMORY, WI_FROM_MEMORY};
    int8_t inverse[WEFT_MAX_RANK];
    for (int i = 0; i < y->shape.rank; i++) inverse[y->attributes.order[i]] = (int8_t)i;
    gradients[0] = wi_permute(g, inverse, back[y->attributes.flags]);
}

const wi_op wi_op_permute = {
    .name = "permute", .kind = WI_VIEW, .view = permute_view, .backward = permute_backward};

static bool read_order(const weft_tensor *x, int rank, const int *axes, wi_attributes *attributes) {
    uint32_t seen = 0;
    if (rank != x->shape.rank || (rank > 0 && !axes)) return false;
    for (int i = 0; i < rank; i++) {
        const int axis = axes[i] < 0 ? axes[i] + rank : axes[i];
        if (axis < 0 || axis >= rank || (seen >> axis & 1)) return false;
        seen |= 1u << axis;
        attributes->order[i] = (int8_t)axis;
    }
    return true;
}

static bool swaps_last_two(const wi_attributes *attributes, int rank) {
    for (int i = 0; i < rank; i++) {
        const int wanted = i == rank - 2 ? rank - 1 : i == rank - 1 ? rank - 2 : i;
        if (attributes->order[i] != wanted) return false;
    }
    return rank >= 2;
}

bool wi_order_moves(const wi_shape *shape, const int8_t *order) {
    int last = -1;
    for (int i = 0; i < shape->rank; i++) {
        if (shape->dims[order[i]] == 1) continue;
        if (order[i] < last) return true;
        last = order[i];
    }
    return false;
}

weft_tensor *wi_permute(weft_tensor *x, const int8_t *order, uint32_t flags) {
    if (!x) return NULL;
    const int rank = x->shape.rank;
    wi_attributes attributes = {.flags = flags};
    memcpy(attributes.order, order, (size_t)rank);
    /* (A·B)ᵀ = Bᵀ·Aᵀ: the product is stored as it is wanted. */
    if (x->op == &wi_op_matmul && flags != WI_FROM_MEMORY && swaps_last_two(&attributes, rank))
        return weft_matmul(weft_transpose(x->inputs[1]), weft_transpose(x->inputs[0]));
    if (x->op == &wi_op_permute) {
        for (int i = 0; i < rank; i++) attributes.order[i] = x->attributes.order[attributes.order[i]];
        x = x->inputs[0];
    }
    wi_shape shape = {.rank = rank};
    bool identity = true;
    for (int i = 0; i < rank; i++) {
        shape.dims[i] = x->shape.dims[attributes.order[i]];
        identity = identity && attributes.order[i] == i;
    }
    if (identity) return x;
    if (flags == WI_TO_MEMORY && !wi_order_moves(&x->shape, attributes.order))
        return weft_reshape_shape(x, rank, shape.dims);
    return wi_node(x->graph, &wi_op_permute, &x, 1, x->dtype, &shape, &attributes);
}

weft_tensor *weft_permute_axes(weft_tensor *x, int rank, const int *axes) {
    weft_graph *graph = wi_inputs_graph("permute", &x, 1);
    if (!graph) return NULL;
    wi_attributes attributes = {0};
    char text[WI_SHAPE_TEXT];
    if (!read_order(x, rank, axes, &attributes))
        return wi_graph_fail(graph, WEFT_ERROR_SHAPE,
            "permute: the %d axes given are no order of those of %s", rank, wi_shape_print(&x->shape, text));
    return wi_permute(x, attributes.order, 0);
}

weft_tensor *weft_permute_list_(weft_tensor *x, const int64_t *axes, bool unused) {
    (void)unused;
    int order[WEFT_MAX_RANK], rank = 0;
    for (; axes[rank] != WEFT_END; rank++)
        order[rank] = axes[rank] > -99 && axes[rank] < 99 ? (int)axes[rank] : 99;
    return weft_permute_axes(x, rank, order);
}

weft_tensor *weft_transpose(weft_tensor *x) {
    weft_graph *graph = wi_inputs_graph("transpose", &x, 1);
    if (!graph) return NULL;
    const int rank = x->shape.rank;
    char text[WI_SHAPE_TEXT];
    if (rank < 2)
        return wi_graph_fail(graph, WEFT_ERROR_SHAPE, "transpose: %s has fewer than two axes",
            wi_shape_print(&x->shape, text));
    int order[WEFT_MAX_RANK];
    for (int i = 0; i < rank; i++) order[i] = i;
    order[rank - 2] = rank - 1;
    order[rank - 1] = rank - 2;
    return weft_permute_axes(x, rank, order);
}

weft_tensor *weft_swap_axes(weft_tensor *x, int axis1, int axis2) {
    weft_graph *graph = wi_inputs_graph("swap_axes", &x, 1);
    if (!graph) return NULL;
    const int first = wi_axis_index(x, "swap_axes", axis1), second = wi_axis_index(x, "swap_axes", axis2);
    if (first < 0 || second < 0) return NULL;
    int order[WEFT_MAX_RANK];
    for (int i = 0; i < x->shape.rank; i++) order[i] = i == first ? second : i == second ? first : i;
    return weft_permute_axes(x, x->shape.rank, order);
}

weft_tensor *weft_move_axis(weft_tensor *x, int from, int to) {
    weft_graph *graph = wi_inputs_graph("move_axis", &x, 1);
    if (!graph) return NULL;
    const int source = wi_axis_index(x, "move_axis", from), target = wi_axis_index(x, "move_axis", to);
    if (source < 0 || target < 0) return NULL;
    int order[WEFT_MAX_RANK], next = 0;
    for (int i = 0; i < x->shape.rank; i++) {
        if (next == source) next++;
        order[i] = i == target ? source : next++;
    }
    return weft_permute_axes(x, x->shape.rank, order);
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

const wi_op wi_op_expand = {
    .name = "expand", .kind = WI_VIEW, .view = expand_view, .backward = expand_backward};

weft_tensor *weft_expand(weft_tensor *x, int rank, const int64_t *dims) {
    weft_graph *graph = wi_inputs_graph("expand", &x, 1);
    if (!graph) return NULL;
    wi_shape shape = {.rank = rank}, both;
    if (rank < 0 || rank > WEFT_MAX_RANK || (rank > 0 && !dims))
        return wi_graph_fail(graph, WEFT_ERROR_SHAPE, "expand: rank %d is not in 0..%d", rank, WEFT_MAX_RANK);
    for (int i = 0; i < rank; i++) shape.dims[i] = dims[i];
    char text_x[WI_SHAPE_TEXT], text_y[WI_SHAPE_TEXT];
    if (!wi_shape_broadcast(&x->shape, &shape, &both) || !wi_shape_equal(&both, &shape))
        return wi_graph_fail(graph, WEFT_ERROR_SHAPE, "expand: %s does not stretch to %s",
            wi_shape_print(&x->shape, text_x), wi_shape_print(&shape, text_y));
    if (wi_shape_equal(&x->shape, &shape)) return x;
    const wi_order order = wi_order_of(x);
    if (order.rank == rank && order.rank > 0) {
        const wi_shape lying = wi_shape_in_memory(&order, &shape);
        return wi_from_memory(&order, weft_expand(x->inputs[0], rank, lying.dims));
    }
    if (x->op == &wi_op_expand) x = x->inputs[0];
    return wi_node(graph, &wi_op_expand, &x, 1, x->dtype, &shape, NULL);
}

/* ---- concat, stack ---- */

enum { WI_MOST_JOINED = 4096 };

static void concat_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    int64_t start = 0;
    for (int i = 0; i < y->input_count; i++) {
        const int64_t length = y->inputs[i]->shape.dims[y->attributes.axis];
        gradients[i] = wi_slice_dims(g, y->attributes.axis, start, length, 1);
        start += length;
    }
}

const wi_op wi_op_concat = {.name = "concat", .kind = WI_JOIN, .backward = concat_backward};

static bool joins(const weft_tensor *a, const weft_tensor *b, int axis) {
    wi_shape shape = b->shape;
    if (a->dtype != b->dtype || a->shape.rank != b->shape.rank) return false;
    if ((a->shape.dims[axis] < 0) != (b->shape.dims[axis] < 0)) return false;
    shape.dims[axis] = a->shape.dims[axis];
    return wi_shape_equal(&a->shape, &shape);
}

/* All lie, or are seen, in the order of the first that has one. */
static weft_tensor *concat_in_order(const wi_order *order, weft_tensor *const *xs, size_t count, int axis) {
    weft_tensor **lying = wi_arena_take(&xs[0]->graph->arena, count * sizeof *lying);
    if (!lying) return wi_graph_fail_recorded(xs[0]->graph, WEFT_ERROR_MEMORY);
    for (size_t i = 0; i < count; i++) lying[i] = wi_to_memory(order, xs[i]);
    return wi_from_memory(order, weft_concat(lying, count, order->axes[axis]));
}

weft_tensor *weft_concat(weft_tensor *const *xs, size_t count, int axis) {
    if (!xs || count == 0 || count > WI_MOST_JOINED) {
        weft_graph *graph = xs && count && xs[0] ? xs[0]->graph : NULL;
        return graph ? wi_graph_fail(
                           graph, WEFT_ERROR_ARGUMENT, "concat: %zu tensors are none or too many", count)
                     : NULL;
    }
    weft_graph *graph = wi_inputs_graph("concat", xs, (int)count);
    if (!graph) return NULL;
    const int index = wi_axis_index(xs[0], "concat", axis);
    if (index < 0) return NULL;
    wi_shape shape = xs[0]->shape;
    char text_a[WI_SHAPE_TEXT], text_b[WI_SHAPE_TEXT];
    for (size_t i = 1; i < count; i++) {
        if (!joins(xs[0], xs[i], index))
            return wi_graph_fail(graph, WEFT_ERROR_SHAPE, "concat: %s %s and %s %s do not join along axis %d",
                weft_dtype_name(xs[0]->dtype), wi_shape_print(&xs[0]->shape, text_a),
                weft_dtype_name(xs[i]->dtype), wi_shape_print(&xs[i]->shape, text_b), index);
        shape.dims[index] += xs[i]->shape.dims[index];
    }
    if (count == 1) return xs[0];
    for (size_t i = 0; i < count; i++) {
        const wi_order order = wi_order_of(xs[i]);
        if (order.rank) return concat_in_order(&order, xs, count, index);
    }
    const wi_attributes attributes = {.axis = index};
    return wi_node(graph, &wi_op_concat, xs, (int)count, xs[0]->dtype, &shape, &attributes);
}

weft_tensor *weft_stack(weft_tensor *const *xs, size_t count, int axis) {
    if (!xs || count == 0) return NULL;
    if (count > WI_MOST_JOINED) return weft_concat(xs, count, axis); /* which refuses */
    weft_graph *graph = wi_inputs_graph("stack", xs, (int)count);
    if (!graph) return NULL;
    weft_tensor **parts = wi_arena_take(&graph->arena, count * sizeof *parts);
    if (!parts) return wi_graph_fail_recorded(graph, WEFT_ERROR_MEMORY);
    char text_a[WI_SHAPE_TEXT], text_b[WI_SHAPE_TEXT];
    for (size_t i = 0; i < count; i++) {
        if (xs[i]->dtype != xs[0]->dtype || !wi_shape_equal(&xs[i]->shape, &xs[0]->shape))
            return wi_graph_fail(graph, WEFT_ERROR_SHAPE, "stack: %s %s and %s %s are not alike",
                weft_dtype_name(xs[0]->dtype), wi_shape_print(&xs[0]->shape, text_a),
                weft_dtype_name(xs[i]->dtype), wi_shape_print(&xs[i]->shape, text_b));
        parts[i] = weft_unsqueeze(xs[i], axis);
        if (!parts[i]) return NULL;
    }
    return weft_concat(parts, count, axis);
}
