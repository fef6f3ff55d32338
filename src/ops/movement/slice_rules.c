/* The rules of slice, flip and diagonal. */
#include "ops/movement/movement.h"
#include "ops/op_table.h"

/* ---- slice ---- */

static void slice_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    const wi_slice_attributes *const a = &y->attributes->slice;
    gradients[0] = wi_dilate_dims(g, a->axis, a->start, a->step, y->inputs[0]->shape.dims[a->axis]);
}

static weft_tensor *slice_in_order(wi_rewrite *rewrite, const weft_tensor *y, weft_tensor *const *inputs) {
    (void)rewrite;
    const wi_memory_order order = wi_memory_order_of(inputs[0]);
    const wi_slice_attributes *const a = &y->attributes->slice;
    if (order.rank == 0) return NULL;
    return wi_from_memory(&order,
        wi_slice_dims(inputs[0]->inputs[0], order.axes[a->axis], a->start, y->shape.dims[a->axis], a->step));
}

/* Slices the input of an expand instead of its larger result. */
static weft_tensor *slice_of_expand(wi_rewrite *rewrite, const weft_tensor *y, weft_tensor *const *inputs) {
    (void)rewrite;
    const wi_slice_attributes *const a = &y->attributes->slice;
    if (inputs[0]->op != &wi_op_expand) return NULL;
    weft_tensor *x = inputs[0]->inputs[0];
    const int axis = a->axis - (y->shape.rank - x->shape.rank);
    const bool stretched = axis < 0 || x->shape.dims[axis] != inputs[0]->shape.dims[a->axis];
    if (!stretched) x = wi_slice_dims(x, axis, a->start, y->shape.dims[a->axis], a->step);
    return x ? weft_expand(x, y->shape.rank, y->shape.dims) : NULL;
}

static const wi_rule slice_rewrites[] = {{"slice of expand", WI_STAGE_FORM, slice_of_expand},
    {"memory order", WI_STAGE_FORM, slice_in_order}, {0}};

/* ---- flip ---- */

static void flip_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    gradients[0] = wi_flip(g, y->attributes->over.axes);
}

static weft_tensor *flip_of_flip(wi_rewrite *rewrite, const weft_tensor *y, weft_tensor *const *inputs) {
    (void)rewrite;
    const weft_tensor *const x = inputs[0];
    return x->op == &wi_op_flip ? wi_flip(x->inputs[0], x->attributes->over.axes ^ y->attributes->over.axes)
                                : NULL;
}

static weft_tensor *flip_in_order(wi_rewrite *rewrite, const weft_tensor *y, weft_tensor *const *inputs) {
    (void)rewrite;
    const wi_memory_order order = wi_memory_order_of(inputs[0]);
    const uint32_t axes = wi_axes_in_memory(&order, y->attributes->over.axes);
    return order.rank ? wi_from_memory(&order, wi_flip(inputs[0]->inputs[0], axes)) : NULL;
}

static const wi_rule flip_rewrites[] = {
    {"flip of flip", WI_STAGE_FORM, flip_of_flip}, {"memory order", WI_STAGE_FORM, flip_in_order}, {0}};

/* ---- diagonal ---- */

/* Expands g (..., length) along columns, moves it to its rows in (..., rows, columns), and masks it with row + offset = column. */
static void diagonal_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    const wi_shape *shape = &y->inputs[0]->shape;
    const int axis1 = y->attributes->diagonal.rows, axis2 = y->attributes->diagonal.columns,
              row = shape->rank - 2;
    const int64_t offset = y->attributes->diagonal.offset;
    wi_shape wide = g->shape;
    wide.dims[wide.rank++] = shape->dims[axis2];
    weft_tensor *at_rows = weft_expand(weft_unsqueeze(g, -1), wide.rank, wide.dims);
    at_rows = wi_dilate_dims(at_rows, row, offset < 0 ? -offset : 0, 1, shape->dims[axis1]);
    wide.dims[row] = shape->dims[axis1];
    weft_tensor *rows = wi_coordinate(g->graph, &wide, row),
                *columns = wi_coordinate(g->graph, &wide, row + 1);
    weft_tensor *hit = weft_equal(weft_add(rows, weft_number(rows, (double)offset)), columns);
    weft_tensor *full = weft_where(hit, at_rows, weft_number(g, 0));
    int order[WEFT_MAX_RANK], next = 0;
    for (int i = 0; i < shape->rank; i++) order[i] = i == axis1 ? row : i == axis2 ? row + 1 : next++;
    gradients[0] = weft_permute_axes(full, shape->rank, order);
}

const wi_op_rules wi_slice_rules[] = {
    {.op = &wi_op_slice, .backward = slice_backward, .rewrites = slice_rewrites},
    {.op = &wi_op_flip, .backward = flip_backward, .rewrites = flip_rewrites},
    {.op = &wi_op_diagonal, .backward = diagonal_backward}, {0}};
