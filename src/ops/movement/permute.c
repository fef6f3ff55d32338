/* Axes in another order: other strides over the same memory. */
#include "ops/op_table.h"

static bool permute_view(
    const weft_tensor *y, const wi_extent *x, const wi_layout *in, const wi_extent *out, wi_layout *layout) {
    (void)x;
    layout->offset = in->offset;
    for (int i = 0; i < out->rank; i++) layout->strides[i] = in->strides[y->attributes->permute.axes[i]];
    return true;
}

static void permute_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    static const uint32_t back[] = {0, WI_TO_MEMORY_ORDER, WI_FROM_MEMORY_ORDER};
    int8_t inverse[WEFT_MAX_RANK];
    for (int i = 0; i < y->shape.rank; i++) inverse[y->attributes->permute.axes[i]] = (int8_t)i;
    gradients[0] = wi_permute(g, inverse, back[y->attributes->permute.direction]);
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

static weft_tensor *permute_of_permute(
    wi_rewrite *rewrite, const weft_tensor *y, weft_tensor *const *inputs) {
    (void)rewrite;
    return wi_permute_through(inputs[0], y->attributes->permute.axes, y->attributes->permute.direction);
}

static bool swaps_last_two(const int8_t *order, int rank) {
    for (int i = 0; i < rank; i++) {
        const int wanted = i == rank - 2 ? rank - 1 : i == rank - 1 ? rank - 2 : i;
        if (order[i] != wanted) return false;
    }
    return rank >= 2;
}

/* What is stretched is seen in the order of memory before it is stretched. */
static weft_tensor *permute_of_expand(wi_rewrite *rewrite, const weft_tensor *y, weft_tensor *const *inputs) {
    (void)rewrite;
    if (y->attributes->permute.direction != WI_TO_MEMORY_ORDER || inputs[0]->op != &wi_op_expand) return NULL;
    weft_tensor *const x = inputs[0]->inputs[0];
    wi_shape wide = {.rank = y->shape.rank};
    const int more = wide.rank - x->shape.rank;
    for (int i = 0; i < wide.rank; i++) wide.dims[i] = i < more ? 1 : x->shape.dims[i - more];
    weft_tensor *const small = wi_permute_through(
        weft_reshape_shape(x, wide.rank, wide.dims), y->attributes->permute.axes, WI_TO_MEMORY_ORDER);
    return small ? weft_expand(small, y->shape.rank, y->shape.dims) : NULL;
}

static weft_tensor *transpose_last_two(weft_tensor *x) {
    int8_t order[WEFT_MAX_RANK];
    const int rank = x->shape.rank;
    for (int i = 0; i < rank; i++) order[i] = (int8_t)i;
    order[rank - 2] = (int8_t)(rank - 1);
    order[rank - 1] = (int8_t)(rank - 2);
    return wi_permute_through(x, order, 0);
}

/* (A·B)ᵀ = Bᵀ·Aᵀ: the product is stored as it is wanted, if nothing wants it otherwise. */
static weft_tensor *transposed_product(
    wi_rewrite *rewrite, const weft_tensor *y, weft_tensor *const *inputs) {
    const weft_tensor *const x = inputs[0];
    if (x->op != &wi_op_matmul || y->attributes->permute.direction == WI_FROM_MEMORY_ORDER ||
        !swaps_last_two(y->attributes->permute.axes, y->shape.rank) ||
        !wi_rewrite_has_one_reader(rewrite, y->inputs[0]))
        return NULL;
    return weft_matmul(transpose_last_two(x->inputs[1]), transpose_last_two(x->inputs[0]));
}

static const wi_rule permute_rules[] = {{"transposed product", WI_STAGE_MATCH, transposed_product},
    {"created in memory order", WI_STAGE_MATCH, wi_made_for_reader},
    {"permute of expand", WI_STAGE_FORM, permute_of_expand},
    {"permute of permute", WI_STAGE_FORM, permute_of_permute}, {0}};
const wi_op wi_op_permute = {.name = "permute",
    .kind = WI_VIEW,
    .attribute_bytes = sizeof(wi_permute_attributes),
    .view = permute_view,
    .backward = permute_backward,
    .rules = permute_rules};

weft_tensor *weft_permute_axes(weft_tensor *x, int rank, const int *axes) {
    weft_graph *graph = wi_inputs_graph("permute", &x, 1);
    if (!graph) return NULL;
    int8_t order[WEFT_MAX_RANK] = {0};
    char text[WI_SHAPE_TEXT];
    if (!read_order(x, rank, axes, order))
        return wi_graph_fail(graph, WEFT_ERROR_SHAPE,
            "permute: the %d axes given are not a permutation of those of %s", rank,
            wi_shape_print(&x->shape, text));
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
