/* Finds the cut of each node that reads a variable in pieces, or whose value is assigned to one (contract in order_pieces.h). */
#include "base/integers.h"
#include "graph/weft_graph.h"
#include "ops/op_descriptors.h"
#include "plan/rewrite/order_pieces.h"

static int64_t *new_places(const wi_piecing *c, int count) {
    return wi_arena_take(c->request->arena, ((size_t)count + 1) * sizeof(int64_t));
}

bool wi_is_too_large(const wi_piecing *c, const weft_tensor *node) {
    for (int i = 0; i < node->shape.rank; i++)
        if (node->shape.dims[i] < 0) return false;
    return wi_node_bytes(node, c->request->batch) > (double)c->largest;
}

/* ---- sources ---- */

/* The flat tensor of the first piece has the same block number as the flat tensor of the whole variable; the shape tells them apart. */
bool wi_is_in_pieces(const weft_tensor *node) {
    if (!node->variable && node->op != &wi_op_flat) return false;
    const weft_graph *const graph = node->graph;
    const size_t block = wi_graph_block_of(node);
    return graph->blocks[block].pieces > 1 &&
           (node->variable ||
               (size_t)node->shape.dims[0] * WI_FLAT_ROW_BYTES == wi_graph_block_bytes(graph, block));
}

static int first_long_axis(const wi_shape *shape) {
    int axis = 0;
    while (axis < shape->rank && shape->dims[axis] == 1) axis++;
    return axis;
}

weft_status wi_cut_of_source(const wi_piecing *c, const weft_tensor *node, wi_cut *cut) {
    const wi_block *const block = &node->graph->blocks[wi_graph_block_of(node)];
    const int axis = first_long_axis(&node->shape), count = (int)block->pieces;
    const int64_t length = node->shape.dims[axis];
    int64_t inner = (int64_t)weft_dtype_size(node->dtype), *const at = new_places(c, count);
    if (!at) return WEFT_ERROR_MEMORY;
    for (int i = axis + 1; i < node->shape.rank; i++) inner *= node->shape.dims[i];
    for (int i = 0; i <= count; i++) at[i] = wi_min64((int64_t)i * ((int64_t)block->bytes / inner), length);
    *cut = (wi_cut){axis, count, at};
    return WEFT_OK;
}

/* ---- views ---- */

static int64_t elements_of(const wi_shape *shape, int begin, int end) {
    int64_t count = 1;
    for (int i = begin; i < end; i++) count *= shape->dims[i];
    return count;
}

/* The axis of the shape that has this number of elements before it; -1: there is none. */
static int axis_behind(const wi_shape *shape, int64_t elements) {
    int64_t before = 1;
    for (int i = 0; i < shape->rank; i++) {
        if (before == elements && shape->dims[i] != 1) return i;
        before *= shape->dims[i];
    }
    return -1;
}

/* The cut of a reshape's result. It exists if every piece begins at a whole index of one axis of the result. */
static weft_status cut_of_shape(
    const wi_piecing *c, const wi_shape *from, const wi_shape *to, const wi_cut *given, wi_cut *cut) {
    const int axis = axis_behind(to, wi_elements_before(from, given->axis));
    const int64_t inner = elements_of(from, given->axis + 1, from->rank);
    int64_t *const at = new_places(c, given->count);
    if (!at) return WEFT_ERROR_MEMORY;
    const int64_t own = axis < 0 ? 1 : elements_of(to, axis + 1, to->rank);
    for (int i = 0; i < given->count; i++) {
        if (axis < 0 || given->at[i] * inner % own != 0) return WEFT_OK;
        at[i] = given->at[i] * inner / own;
    }
    at[given->count] = to->dims[axis]; /* the last piece includes the gap at the end of flat parameters */
    *cut = (wi_cut){axis, given->count, at};
    return WEFT_OK;
}

/* The cut of a slice: each of its pieces is in one piece of the input; a piece of the input that the slice does not touch gives none. */
static weft_status cut_of_slice(const wi_piecing *c, const weft_tensor *y, const wi_cut *given, wi_cut *cut) {
    const wi_slice_attributes *const a = &y->attributes->slice;
    const int64_t length = y->shape.dims[a->axis];
    if (a->axis != given->axis) {
        *cut = *given;
        return WEFT_OK;
    }
    if (a->step < 1 || length < 1 || a->start < 0) return WEFT_OK;
    int64_t *const at = new_places(c, given->count);
    if (!at) return WEFT_ERROR_MEMORY;
    int count = 0;
    for (int i = 1; i <= given->count; i++) {
        const int64_t past = wi_divide_up(wi_max64(given->at[i] - a->start, 0), a->step);
        const int64_t end = wi_min64(past, length);
        if (end > at[count]) at[++count] = end;
    }
    *cut = (wi_cut){given->axis, count, at};
    return WEFT_OK;
}

static int permuted_axis(const weft_tensor *y, int axis) {
    for (int i = 0; i < y->shape.rank; i++)
        if (y->attributes->permute.axes[i] == axis) return i;
    return -1;
}

weft_status wi_cut_of_view(const wi_piecing *c, const weft_tensor *y, const wi_cut *given, wi_cut *cut) {
    const weft_tensor *const x = y->inputs[0];
    *cut = (wi_cut){0};
    if (y->op == &wi_op_reshape) return cut_of_shape(c, &x->shape, &y->shape, given, cut);
    if (y->op == &wi_op_flat_gradients)
        return y->input_count == 1 ? cut_of_shape(c, &x->shape, &y->shape, given, cut) : WEFT_OK;
    if (y->op == &wi_op_slice) return cut_of_slice(c, y, given, cut);
    if (y->op == &wi_op_diagonal) return WEFT_OK;
    if (y->op == &wi_op_flip && (y->attributes->over.axes >> given->axis & 1)) return WEFT_OK;
    *cut = *given;
    if (y->op == &wi_op_permute) cut->axis = permuted_axis(y, given->axis);
    if (y->op == &wi_op_expand) cut->axis += y->shape.rank - x->shape.rank;
    return WEFT_OK;
}

/* ---- wanted cuts ---- */

/* The cut of a variable in pieces or of a view of one; count 0 for other nodes. */
static weft_status cut_of_variable(const wi_piecing *c, const weft_tensor *node, wi_cut *cut) {
    wi_cut of_input;
    *cut = (wi_cut){0};
    if (wi_is_in_pieces(node)) return wi_cut_of_source(c, node, cut);
    if (node->op->kind != WI_VIEW) return WEFT_OK;
    WI_TRY(cut_of_variable(c, node->inputs[0], &of_input));
    return of_input.count ? wi_cut_of_view(c, node, &of_input, cut) : WEFT_OK;
}

static void want(const wi_piecing *c, const weft_tensor *node, wi_cut cut) {
    wi_cut *const own = wi_wanted_cut(c, node);
    if (own->count == 0 && cut.count) *own = cut;
}

/* The axis of the view's input that has the same indices as this axis of the view; -1: there is none. */
static int axis_viewed(const weft_tensor *y, int axis) {
    if (y->op == &wi_op_permute) return y->attributes->permute.axes[axis];
    if (y->op == &wi_op_expand) return wi_axis_within(y->inputs[0], &y->shape, axis);
    const bool moves = (y->op == &wi_op_slice && y->attributes->slice.axis == axis) ||
                       (y->op == &wi_op_flip && (y->attributes->over.axes >> axis & 1)) ||
                       y->op == &wi_op_diagonal;
    return moves ? -1 : axis;
}

static weft_status want_of_view(const wi_piecing *c, const weft_tensor *y, const wi_cut *own) {
    weft_tensor *const x = y->inputs[0];
    wi_cut cut = *own;
    if (y->op == &wi_op_reshape || y->op == &wi_op_flat_gradients) {
        cut.count = 0;
        if (y->input_count == 1) WI_TRY(cut_of_shape(c, &y->shape, &x->shape, own, &cut));
    } else {
        cut.axis = axis_viewed(y, own->axis);
        if (cut.axis < 0) cut.count = 0;
    }
    want(c, x, cut);
    return WEFT_OK;
}

static weft_status pass_on(const wi_piecing *c, const weft_tensor *y) {
    const wi_cut *const own = wi_wanted_cut(c, y);
    wi_cut cut;
    if (y->op == &wi_op_assign) {
        WI_TRY(cut_of_variable(c, y->inputs[0], &cut));
        want(c, y->inputs[1], cut);
    }
    if (own->count == 0) return WEFT_OK;
    if (y->op->kind == WI_VIEW || y->op == &wi_op_flat_gradients) return want_of_view(c, y, own);
    for (int i = 0; i < y->input_count && y->op->kind == WI_MAP && !y->op->reads_padded; i++) {
        cut = *own;
        cut.axis = wi_axis_within(y->inputs[i], &y->shape, own->axis);
        if (cut.axis >= 0) want(c, y->inputs[i], cut);
    }
    return WEFT_OK;
}

weft_status wi_find_wanted_cuts(const wi_piecing *c) {
    for (size_t i = c->order->count; i-- > 0;) WI_TRY(pass_on(c, c->order->nodes[i]));
    return WEFT_OK;
}

weft_status wi_cut_to_fit(const wi_piecing *c, const weft_tensor *node, wi_cut *cut) {
    const int axis = first_long_axis(&node->shape);
    const int64_t length = axis < node->shape.rank ? node->shape.dims[axis] : 0;
    const int64_t rows =
        (int64_t)((double)length * ((double)c->largest / wi_node_bytes(node, c->request->batch)));
    *cut = (wi_cut){0};
    if (length < 0 || rows < 1) return WEFT_OK;
    const int count = (int)wi_divide_up(length, rows);
    int64_t *const at = new_places(c, count);
    if (!at) return WEFT_ERROR_MEMORY;
    for (int i = 0; i <= count; i++) at[i] = wi_min64(i * rows, length);
    *cut = (wi_cut){axis, count, at};
    return WEFT_OK;
}
