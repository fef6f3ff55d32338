/* Unfold: the windows of an axis. A plan gathers them by an index that it computes; the gradient adds them up without one. */
#include "graph/sizes.h"
#include "ops/op_table.h"

static weft_tensor *unfold_lower(weft_tensor *y, bool inference) {
    weft_tensor *const x = y->inputs[0];
    const wi_slice_attributes *const a = &y->attributes->slice;
    const wi_shape windows = {.rank = 2, .dims = {y->shape.dims[a->axis], y->shape.dims[y->shape.rank - 1]}};
    (void)inference;
    weft_tensor *const first = weft_mul_number(wi_coordinate(x->graph, &windows, 0), (double)a->step);
    weft_tensor *const index = weft_add(first, wi_coordinate(x->graph, &windows, 1));
    return weft_move_axis(weft_index_select(x, a->axis, index), a->axis + 1, -1);
}

/* Adds the windows g (..., n, ..., size) to an axis of this length. Cut into blocks of `step` elements, the windows lie side by side, so
 * that block number b of all windows is one tensor of n · step elements, which begins at b · step. */
static weft_tensor *fold(weft_tensor *g, int axis, int64_t step, int64_t length) {
    const int64_t size = g->shape.dims[g->shape.rank - 1], blocks = (size + step - 1) / step;
    const int64_t room =
        wi_dim_add(g->graph, length, blocks * step); /* the last blocks may end behind the axis */
    weft_tensor *sum = NULL;
    g = wi_dilate_dims(weft_move_axis(g, -1, axis + 1), axis + 1, 0, 1, blocks * step);
    for (int64_t b = 0; b < blocks; b++) {
        weft_tensor *const block =
            weft_flatten_axes(wi_slice_dims(g, axis + 1, b * step, step, 1), axis, axis + 1);
        weft_tensor *const placed = wi_dilate_dims(block, axis, b * step, 1, room);
        sum = sum ? weft_add(sum, placed) : placed;
    }
    return wi_slice_dims(sum, axis, 0, length, 1);
}

static void unfold_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    const wi_slice_attributes *const a = &y->attributes->slice;
    gradients[0] = g ? fold(g, a->axis, a->step, y->inputs[0]->shape.dims[a->axis]) : NULL;
}

static weft_status unfold_fits(const weft_tensor *y, weft_tensor *const *inputs, const wi_shape *shape,
    const wi_attributes *attributes) {
    const int axis = attributes->slice.axis;
    (void)y;
    if (shape->dims[axis] >= 1) return WEFT_OK;
    WI_FAIL(WEFT_ERROR_SHAPE, "unfold: a window of %lld elements is larger than axis %d, which has %lld",
        (long long)shape->dims[shape->rank - 1], axis, (long long)inputs[0]->shape.dims[axis]);
}

const wi_op wi_op_unfold = {.name = "unfold",
    .kind = WI_COMPOSITE,
    .attribute_bytes = sizeof(wi_slice_attributes),
    .fits = unfold_fits,
    .lower = unfold_lower};

static weft_tensor *build_unfold(weft_tensor *x, int axis, int64_t size, int64_t step) {
    enum { MOST = 1 << 30 };
    if (!wi_inputs_graph("unfold", &x, 1)) return NULL;
    const int index = wi_axis_index(x, "unfold", axis);
    char text[WI_SHAPE_TEXT];
    if (index < 0) return NULL;
    if (size < 1 || size > MOST || step < 1 || step > MOST)
        return wi_graph_fail(x->graph, WEFT_ERROR_ARGUMENT, "unfold: size %lld or step %lld is not 1 or more",
            (long long)size, (long long)step);
    const int64_t length = wi_counted(x->graph, x->shape.dims[index]);
    if (x->shape.rank == WEFT_MAX_RANK || wi_position_is_less(x->graph, length, size))
        return wi_graph_fail(x->graph, WEFT_ERROR_SHAPE,
            "unfold: axis %d of %s has no window of %lld elements, or the result would have more than %d "
            "axes",
            index, wi_shape_print(x->graph, &x->shape, text), (long long)size, WEFT_MAX_RANK);
    wi_shape shape = x->shape;
    shape.dims[index] =
        wi_dim_add(x->graph, wi_dim_divide(x->graph, wi_position_add(x->graph, length, size, -1), step), 1);
    shape.dims[shape.rank++] = size;
    return wi_node(x->graph, &wi_op_unfold, &x, 1, x->dtype, &shape,
        &(wi_attributes){.slice = {.axis = index, .step = step}});
}

weft_tensor *weft_unfold(weft_tensor *x, int axis, int64_t size, int64_t step) {
    return WI_CALL(x, "weft_unfold", build_unfold(x, axis, size, step));
}

const wi_op_rules wi_unfold_rules[] = {{.op = &wi_op_unfold, .backward = unfold_backward}, {0}};
