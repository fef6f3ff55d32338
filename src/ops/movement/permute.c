/* Permute, a view with the axes in another order, and functions that call it. */
#include "ops/movement/memory_order.h"
#include "ops/op_table.h"

static bool permute_view(
    const weft_tensor *y, const wi_extent *x, const wi_layout *in, const wi_extent *out, wi_layout *layout) {
    (void)x;
    layout->offset = in->offset;
    for (int i = 0; i < out->rank; i++) layout->strides[i] = in->strides[y->attributes->permute.axes[i]];
    return true;
}

static bool read_order(const weft_tensor *x, int rank, const int *axes, int8_t *order) {
    uint32_t seen = 0;
    if (rank != x->shape.rank || (rank > 0 && !axes)) return false;
    for (int i = 0; i < rank; i++) {
        const int axis = axes[i] < 0 ? axes[i] + rank : axes[i];
        if (axis < 0 || axis >= rank || (seen >> axis & 1)) return false;
        seen |= 1u << axis;
        order[i] = (int8_t)axis;
    }
    return true;
}

bool wi_memory_order_moves(const wi_shape *shape, const int8_t *order) {
    int last = -1;
    for (int i = 0; i < shape->rank; i++) {
        if (shape->dims[order[i]] == 1) continue;
        if (order[i] < last) return true;
        last = order[i];
    }
    return false;
}

weft_tensor *wi_permute(weft_tensor *x, const int8_t *order, uint32_t direction) {
    if (!x) return NULL;
    const int rank = x->shape.rank;
    wi_attributes attributes = {.permute = {.direction = direction}};
    wi_shape shape = {.rank = rank};
    bool identity = true;
    for (int i = 0; i < rank; i++) {
        attributes.permute.axes[i] = order[i];
        shape.dims[i] = x->shape.dims[order[i]];
        identity = identity && order[i] == i;
    }
    return identity ? x : wi_node(x->graph, &wi_op_permute, &x, 1, x->dtype, &shape, &attributes);
}

weft_tensor *wi_permute_through(weft_tensor *x, const int8_t *order, uint32_t direction) {
    if (!x) return NULL;
    int8_t through[WEFT_MAX_RANK];
    const bool permuted = x->op == &wi_op_permute;
    for (int i = 0; i < x->shape.rank; i++)
        through[i] = permuted ? x->attributes->permute.axes[order[i]] : order[i];
    if (permuted) x = x->inputs[0];
    if (direction != WI_TO_MEMORY_ORDER || wi_memory_order_moves(&x->shape, through))
        return wi_permute(x, through, direction);
    wi_shape shape = {.rank = x->shape.rank};
    for (int i = 0; i < shape.rank; i++) shape.dims[i] = x->shape.dims[through[i]];
    return weft_reshape_shape(x, shape.rank, shape.dims);
}

const wi_op wi_op_permute = {.name = "permute",
    .kind = WI_VIEW,
    .attribute_bytes = sizeof(wi_permute_attributes),
    .view = permute_view};

weft_tensor *weft_permute_axes(weft_tensor *x, int rank, const int *axes) {
    weft_graph *graph = wi_inputs_graph("permute", &x, 1);
    if (!graph) return NULL;
    int8_t order[WEFT_MAX_RANK] = {0};
    char text[WI_SHAPE_TEXT];
    if (!read_order(x, rank, axes, order))
        return wi_graph_fail(graph, WEFT_ERROR_SHAPE,
            "permute: the %d axes given are not a permutation of those of %s", rank,
            wi_shape_print(x->graph, &x->shape, text));
    return wi_permute(x, order, 0);
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
            wi_shape_print(x->graph, &x->shape, text));
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
