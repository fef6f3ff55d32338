/* The rules of padded reads: pad, roll, tile and dilate. */
#include "graph/sizes.h"
#include "ops/movement/movement.h"
#include "ops/op_table.h"

/* A padded constant is a choice between two numbers by the index, which needs no memory. */
static weft_tensor *outside_number(wi_rewrite *rewrite, const weft_tensor *y, weft_tensor *const *inputs) {
    (void)rewrite;
    weft_tensor *const x = inputs[0];
    const wi_shape *const shape = &y->shape;
    const wi_padding_attributes *const padding = &y->attributes->padding;
    double value;
    int power;
    if (!wi_is_constant(x, &value, &power) || !wi_dtype_computes(x->dtype)) return NULL;
    weft_tensor *number = wi_constant_batch_power(x->graph, x->dtype, value, power);
    weft_tensor *outside = weft_number(x, padding->outside), *cut = number;
    for (int axis = 0; axis < shape->rank; axis++) {
        const int64_t before = padding->before[axis], size = x->shape.dims[axis];
        if (padding->mode[axis] == WI_PADDING_INTERIOR) return NULL;
        if (padding->mode[axis] != WI_PADDING_CONSTANT) continue;
        if (before < 0 || size < 0) return NULL;
        weft_tensor *at = wi_coordinate(x->graph, shape, axis);
        cut = weft_where(weft_less(at, weft_number(at, (double)before)), outside, cut);
        cut = weft_where(weft_less(at, weft_number(at, (double)(before + size))), cut, outside);
    }
    return weft_expand(cut, shape->rank, shape->dims);
}

static wi_attributes padding_in_memory(const wi_memory_order *order, const wi_padding_attributes *padding) {
    wi_attributes in_memory = {.padding = *padding};
    for (int i = 0; i < order->rank; i++) {
        in_memory.padding.mode[order->axes[i]] = padding->mode[i];
        in_memory.padding.before[order->axes[i]] = padding->before[i];
    }
    return in_memory;
}

static weft_tensor *padding_in_order(wi_rewrite *rewrite, const weft_tensor *y, weft_tensor *const *inputs) {
    (void)rewrite;
    const wi_memory_order order = wi_memory_order_of(inputs[0]);
    if (order.rank == 0) return NULL;
    weft_tensor *const memory = inputs[0]->inputs[0];
    const wi_shape stored = wi_shape_in_memory(&order, &y->shape);
    const wi_attributes in_memory = padding_in_memory(&order, &y->attributes->padding);
    return wi_from_memory(&order, wi_node(y->graph, y->op, &memory, 1, y->dtype, &stored, &in_memory));
}

static const wi_rule padding_rewrites[] = {{"padded constant", WI_STAGE_FORM, outside_number},
    {"memory order", WI_STAGE_FORM, padding_in_order}, {0}};

/* ---- stored value, dilate ---- */

static void same_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    (void)y;
    gradients[0] = g;
}

static void dilate_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    const wi_padding_attributes *const a = &y->attributes->padding;
    int axis = 0;
    while (a->mode[axis] == WI_PADDING_NONE) axis++;
    gradients[0] = wi_slice_dims(g, axis, a->before[axis], y->inputs[0]->shape.dims[axis], a->step);
}

/* ---- pad ---- */

/* The gradient of padding along an axis: the gradient of the inner elements, to which the gradients of their copies in
 * the padding are added. */
static weft_tensor *unpad_axis(weft_tensor *g, int axis, wi_padding_mode mode, int64_t before, int64_t dim) {
    weft_graph *const graph = g->graph;
    const int64_t size = wi_counted(graph, dim), end = wi_position_add(graph, before, size, 1),
                  after = wi_position_add(graph, wi_counted(graph, g->shape.dims[axis]), end, -1);
    weft_tensor *sum = wi_slice_dims(g, axis, before, dim, 1);
    weft_tensor *left = before ? wi_slice_dims(g, axis, 0, before, 1) : NULL;
    weft_tensor *right = after ? wi_slice_dims(g, axis, end, after, 1) : NULL;
    const int64_t axes[] = {axis, WEFT_END};
    int64_t left_at = 0, right_at = 0;
    switch (mode) {
    case WI_PADDING_EDGE:
        left = wi_sum_keep(left, 1u << axis);
        right = wi_sum_keep(right, 1u << axis);
        right_at = wi_position_add(graph, size, 1, -1);
        break;
    case WI_PADDING_REFLECT:
        left = left ? weft_flip_axes(left, axes) : NULL;
        right = right ? weft_flip_axes(right, axes) : NULL;
        left_at = 1;
        right_at = wi_position_add(graph, wi_position_add(graph, size, after, -1), 1, -1);
        break;
    case WI_PADDING_WRAP: left_at = wi_position_add(graph, size, before, -1); break;
    case WI_PADDING_NONE:
    case WI_PADDING_CONSTANT:
    case WI_PADDING_INTERIOR: return sum;
    }
    if (left) sum = weft_add(sum, wi_dilate_dims(left, axis, left_at, 1, dim));
    if (right) sum = weft_add(sum, wi_dilate_dims(right, axis, right_at, 1, dim));
    return sum;
}

static void pad_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    const wi_padding_attributes *const a = &y->attributes->padding;
    for (int axis = 0; g && axis < y->shape.rank; axis++) {
        if (a->mode[axis])
            g = unpad_axis(
                g, axis, (wi_padding_mode)a->mode[axis], a->before[axis], y->inputs[0]->shape.dims[axis]);
    }
    gradients[0] = g;
}

/* ---- roll ---- */

static void roll_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    for (int axis = 0; axis < y->shape.rank; axis++)
        g = weft_roll(g, axis, -y->attributes->padding.before[axis]);
    gradients[0] = g;
}

/* Merges shifts along several axes into one node. */
static weft_tensor *roll_of_roll(wi_rewrite *rewrite, const weft_tensor *y, weft_tensor *const *inputs) {
    (void)rewrite;
    const weft_tensor *x = inputs[0];
    while (x->op == &wi_op_in_memory) x = x->inputs[0];
    if (x->op != &wi_op_roll) return NULL;
    int64_t before[WEFT_MAX_RANK];
    for (int i = 0; i < y->shape.rank; i++)
        before[i] = x->attributes->padding.before[i] + y->attributes->padding.before[i];
    return wi_roll(x->inputs[0]->inputs[0], before);
}

static const wi_rule roll_rewrites[] = {{"roll of roll", WI_STAGE_FORM, roll_of_roll},
    {"padded constant", WI_STAGE_FORM, outside_number}, {"memory order", WI_STAGE_FORM, padding_in_order},
    {0}};

/* ---- tile ---- */

/* Sums the repeats of all axes at once: splits each tiled axis into two and reduces the first. */
static weft_tensor *sum_repeats(weft_tensor *g, const wi_shape *shape) {
    wi_shape split = {0};
    uint32_t repeats = 0;
    for (int i = 0; i < shape->rank; i++) {
        if (g->shape.dims[i] != shape->dims[i]) {
            repeats |= 1u << split.rank;
            split.dims[split.rank++] = g->shape.dims[i] / shape->dims[i];
        }
        split.dims[split.rank++] = shape->dims[i];
    }
    weft_tensor *sum = wi_sum_keep(weft_reshape_shape(g, split.rank, split.dims), repeats);
    return sum ? weft_reshape_shape(sum, shape->rank, shape->dims) : NULL;
}

/* Sums the repeats of one axis if the rank does not allow more axes: merges the axes before it, and those behind it. */
static weft_tensor *sum_repeats_of(weft_tensor *g, int axis, int64_t size) {
    wi_shape shape = g->shape, narrow;
    shape.dims[axis] = size;
    weft_tensor *flat = g;
    int at = axis;
    if (axis + 2 < g->shape.rank) flat = weft_flatten_axes(flat, axis + 1, -1);
    if (axis > 1) {
        flat = weft_flatten_axes(flat, 0, axis - 1);
        at = 1;
    }
    if (!flat) return NULL;
    narrow = flat->shape;
    narrow.dims[at] = size;
    weft_tensor *sum = sum_repeats(flat, &narrow);
    return sum ? weft_reshape_shape(sum, shape.rank, shape.dims) : NULL;
}

static void tile_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    const wi_shape *shape = &y->inputs[0]->shape;
    int tiled = 0;
    for (int i = 0; i < shape->rank; i++) tiled += shape->dims[i] != g->shape.dims[i];
    if (shape->rank + tiled <= WEFT_MAX_RANK) {
        gradients[0] = sum_repeats(g, shape);
        return;
    }
    for (int i = 0; g && i < shape->rank; i++) {
        if (g->shape.dims[i] != shape->dims[i]) g = sum_repeats_of(g, i, shape->dims[i]);
    }
    gradients[0] = g;
}

const wi_op_rules wi_padding_rules[] = {
    {.op = &wi_op_in_memory, .backward = same_backward, .rewrites = wi_memory_order_rewrites},
    {.op = &wi_op_dilate, .backward = dilate_backward, .rewrites = padding_rewrites},
    {.op = &wi_op_pad, .backward = pad_backward, .rewrites = padding_rewrites},
    {.op = &wi_op_roll, .backward = roll_backward, .rewrites = roll_rewrites},
    {.op = &wi_op_tile, .backward = tile_backward, .rewrites = padding_rewrites}, {0}};
