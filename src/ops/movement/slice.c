/* Slice, split, flip and diagonal: views, whose strides may be negative. */
#include "graph/sizes.h"
#include "ops/movement/movement.h"
#include "ops/op_table.h"

/* ---- slice ---- */

static bool slice_view(
    const weft_tensor *y, const wi_extent *x, const wi_layout *in, const wi_extent *out, wi_layout *layout) {
    (void)out;
    const wi_slice_attributes *const a = &y->attributes->slice;
    const int axis = a->axis;
    wi_size start = wi_size_of(a->start);
    if (a->start < 0) { /* start and the size of the axis are multiples of the batch */
        const int64_t batch = x->dims[axis].actual / -y->inputs[0]->shape.dims[axis];
        start = (wi_size){-a->start * WI_GENERAL_BATCH, -a->start * batch};
    }
    *layout = *in;
    layout->offset = wi_size_add(in->offset, wi_size_mul(start, in->strides[axis]));
    layout->strides[axis] = wi_size_mul(in->strides[axis], wi_size_of(a->step));
    return true;
}

/* The constructor has checked slices of multiples of the batch, which are valid for any batch. */
static weft_status slice_fits(const weft_tensor *y, weft_tensor *const *inputs, const wi_shape *shape,
    const wi_attributes *attributes) {
    const wi_slice_attributes *const a = &attributes->slice;
    const int64_t size = inputs[0]->shape.dims[a->axis],
                  end = a->start + (shape->dims[a->axis] - 1) * a->step + 1;
    char text[WI_SHAPE_TEXT];
    (void)y;
    if (size < 0 || (a->start >= 0 && end <= size)) return WEFT_OK;
    WI_FAIL(WEFT_ERROR_SHAPE, "slice: %lld..%lld of axis %d is outside '%s' %s", (long long)a->start,
        (long long)end, a->axis, weft_tensor_name(inputs[0]),
        wi_shape_print(inputs[0]->graph, &inputs[0]->shape, text));
}

static weft_tensor *slice_again(const weft_tensor *y, weft_tensor *const *inputs, const wi_shape *shape,
    const wi_attributes *attributes) {
    const wi_slice_attributes *const a = &attributes->slice;
    (void)y;
    return wi_slice_dims(inputs[0], a->axis, a->start, shape->dims[a->axis], a->step);
}

const wi_op wi_op_slice = {.name = "slice",
    .kind = WI_VIEW,
    .attribute_bytes = sizeof(wi_slice_attributes),
    .dimensions = WI_DIMENSION(wi_slice_attributes, start),
    .fits = slice_fits,
    .remake = slice_again,
    .view = slice_view};

/* A slice of a coordinate is computed from another coordinate, because a view needs a coordinate that is stored. */
static weft_tensor *slice_coordinate(
    weft_tensor *x, const wi_shape *shape, int axis, int64_t start, int64_t step) {
    const int along = x->attributes->along.axis;
    weft_tensor *const part = wi_coordinate(x->graph, shape, along);
    if (along != axis) return part;
    weft_tensor *const apart = step == 1 ? part : weft_mul_number(part, (double)step);
    return start == 0 ? apart : weft_add_number(apart, (double)start);
}

weft_tensor *wi_slice_dims(weft_tensor *x, int axis, int64_t start, int64_t length, int64_t step) {
    if (!x) return NULL;
    wi_shape shape = x->shape;
    if (shape.dims[axis] == length) return x;
    shape.dims[axis] = length;
    if (x->op == &wi_op_coordinate && start >= 0 && !wi_is_symbolic(start))
        return slice_coordinate(x, &shape, axis, start, step);
    const wi_attributes attributes = {.slice = {.axis = axis, .start = start, .step = step}};
    return wi_node(x->graph, &wi_op_slice, &x, 1, x->dtype, &shape, &attributes);
}

/* The elements from start to end - 1; negative numbers count from the end. Plans check what depends on their sizes. */
static weft_tensor *slice_number(weft_tensor *x, int axis, int64_t start, int64_t end, int64_t step) {
    weft_graph *const graph = x->graph;
    const int64_t size = wi_counted(graph, x->shape.dims[axis]),
                  to = end == WEFT_END ? size
                       : end < 0       ? wi_position_add(graph, end, size, 1)
                                       : end;
    int64_t from = start < 0 ? wi_position_add(graph, start, size, 1) : start;
    char text[WI_SHAPE_TEXT];
    if (from == INT64_MAX || to == INT64_MAX || wi_position_is_less(graph, from, 0) ||
        wi_position_is_less(graph, size, to) ||
        wi_position_is_less(graph, to, wi_position_add(graph, from, 1, 1)))
        return wi_graph_fail(graph, WEFT_ERROR_SHAPE, "slice: %lld..%lld of axis %d is empty or outside %s",
            (long long)start, (long long)(end == WEFT_END ? size : end), axis,
            wi_shape_print(x->graph, &x->shape, text));
    wi_polynomial p; /* of a start such as 7 - length, which plans check */
    if (from < 0) from = wi_polynomial_of(graph, from, false, &p) ? wi_polynomial_dim(graph, &p, true) : from;
    const int64_t last =
        wi_dim_divide(graph, wi_position_add(graph, wi_position_add(graph, to, from, -1), 1, -1), step);
    return wi_slice_dims(x, axis, from, wi_dim_add(graph, last, 1), step);
}

/* Every step-th element of an axis of size k · batch has the size k / step · batch if step divides k. */
static weft_tensor *slice_batch(weft_tensor *x, int axis, int64_t start, int64_t end, int64_t step) {
    int64_t size;
    const bool is_whole = end == WEFT_END && start >= 0 && start < step;
    return is_whole && wi_dim_divides(x->graph, x->shape.dims[axis], step, &size)
               ? wi_slice_dims(x, axis, start, size, step)
               : slice_number(x, axis, start, end, step);
}

static weft_tensor *build_slice_step(weft_tensor *x, int axis, int64_t start, int64_t end, int64_t step) {
    weft_graph *graph = wi_inputs_graph("slice", &x, 1);
    if (!graph) return NULL;
    const int index = wi_axis_index(x, "slice", axis);
    if (index < 0) return NULL;
    if (step < 1)
        return wi_graph_fail(graph, WEFT_ERROR_ARGUMENT,
            "slice: step %lld of axis %d is not 1 or more; weft_flip "
            "reverses an axis",
            (long long)step, index);
    return x->shape.dims[index] < 0 ? slice_batch(x, index, start, end, step)
                                    : slice_number(x, index, start, end, step);
}

weft_tensor *weft_slice_step(weft_tensor *x, int axis, int64_t start, int64_t end, int64_t step) {
    return WI_CALL(x, "weft_slice_step", build_slice_step(x, axis, start, end, step));
}

weft_tensor *weft_slice(weft_tensor *x, int axis, int64_t start, int64_t end) {
    return weft_slice_step(x, axis, start, end, 1);
}

/* ---- split ---- */

/* The sizes are dimensions: multiples of the batch for a batch axis, numbers for others. */
static weft_status check_sizes(const weft_tensor *x, int axis, const int64_t *sizes, size_t count) {
    const int64_t size = x->shape.dims[axis];
    int64_t sum = 0;
    char text[WI_SHAPE_TEXT];
    bool fits = count > 0;
    for (size_t i = 0; fits && i < count; i++) {
        fits = sizes[i] != 0 && wi_magnitude(sizes[i]) < INT64_MAX;
        if (fits) sum = wi_dim_add(x->graph, sum, sizes[i]);
    }
    if (fits && sum == size) return WEFT_OK;
    wi_graph_fail(x->graph, WEFT_ERROR_SHAPE, "split: the %zu sizes do not add up to axis %d of %s", count,
        axis, wi_shape_print(x->graph, &x->shape, text));
    return weft_graph_status(x->graph);
}

static weft_status split_begin(weft_tensor *x, int axis, size_t count, weft_tensor **outputs, int *index) {
    for (size_t i = 0; outputs && i < count; i++) outputs[i] = NULL;
    if (!x || !outputs) WI_FAIL(WEFT_ERROR_ARGUMENT, "split: x or outputs is NULL");
    WI_TRY(weft_graph_status(x->graph));
    *index = wi_axis_index(x, "split", axis);
    return weft_graph_status(x->graph);
}

static weft_status split_sizes(
    weft_tensor *x, int axis, const int64_t *sizes, size_t count, weft_tensor **outputs) {
    int index = 0;
    WI_TRY(split_begin(x, axis, count, outputs, &index));
    if (!sizes) {
        wi_graph_fail(x->graph, WEFT_ERROR_ARGUMENT, "split: sizes is NULL");
        return weft_graph_status(x->graph);
    }
    WI_TRY(check_sizes(x, index, sizes, count));
    int64_t start = 0;
    for (size_t i = 0; i < count; i++) {
        outputs[i] = wi_slice_dims(x, index, start, sizes[i], 1);
        start = wi_dim_add(x->graph, start, sizes[i]);
    }
    return weft_graph_status(x->graph);
}

weft_status weft_split_sizes(
    weft_tensor *x, int axis, const int64_t *sizes, size_t count, weft_tensor **outputs) {
    return WI_STATUS_CALL(
        weft_tensor_graph(x), "weft_split_sizes", split_sizes(x, axis, sizes, count, outputs));
}

static weft_status split(weft_tensor *x, int axis, size_t count, weft_tensor **outputs) {
    int index = 0;
    WI_TRY(split_begin(x, axis, count, outputs, &index));
    const int64_t size = x->shape.dims[index];
    char text[WI_SHAPE_TEXT];
    int64_t part;
    if (count == 0 || count > (size_t)wi_magnitude(size) ||
        !wi_dim_divides(x->graph, size, (int64_t)count, &part)) {
        wi_graph_fail(x->graph, WEFT_ERROR_SHAPE, "split: axis %d of %s cannot be split into %zu equal parts",
            index, wi_shape_print(x->graph, &x->shape, text), count);
        return weft_graph_status(x->graph);
    }
    for (size_t i = 0; i < count; i++) outputs[i] = wi_slice_dims(x, index, part * (int64_t)i, part, 1);
    return weft_graph_status(x->graph);
}

weft_status weft_split(weft_tensor *x, int axis, size_t count, weft_tensor **outputs) {
    return WI_STATUS_CALL(weft_tensor_graph(x), "weft_split", split(x, axis, count, outputs));
}

/* ---- flip ---- */

static bool flip_view(
    const weft_tensor *y, const wi_extent *x, const wi_layout *in, const wi_extent *out, wi_layout *layout) {
    (void)out;
    *layout = *in;
    for (int i = 0; i < x->rank; i++) {
        if (!(y->attributes->over.axes >> i & 1)) continue;
        const wi_size last = wi_size_add(x->dims[i], wi_size_of(-1));
        layout->offset = wi_size_add(layout->offset, wi_size_mul(last, in->strides[i]));
        layout->strides[i] = wi_size_mul(in->strides[i], wi_size_of(-1));
    }
    return true;
}

weft_tensor *wi_flip(weft_tensor *x, uint32_t axes) {
    if (!x || axes == 0) return x;
    const wi_attributes attributes = {.over = {.axes = axes}};
    return wi_node(x->graph, &wi_op_flip, &x, 1, x->dtype, &x->shape, &attributes);
}

const wi_op wi_op_flip = {
    .name = "flip", .kind = WI_VIEW, .attribute_bytes = sizeof(wi_over_attributes), .view = flip_view};

weft_tensor *weft_flip_axes(weft_tensor *x, const int64_t *axes) {
    if (!wi_inputs_graph("flip", &x, 1)) return NULL;
    uint32_t mask;
    if (!wi_axes_mask(x, "flip", axes, &mask)) return NULL;
    return wi_flip(x, mask ? mask : (1u << x->shape.rank) - 1);
}

weft_tensor *weft_flip_list_(weft_tensor *x, const int64_t *axes, bool unused) {
    (void)unused;
    return weft_flip_axes(x, axes);
}

/* ---- diagonal ---- */

/* 0: there is no such diagonal. Two batch axes of one size have only the main diagonal. */
static int64_t diagonal_length(int64_t rows, int64_t columns, int64_t offset) {
    if (rows < 0 || columns < 0) return rows == columns && offset == 0 ? rows : 0;
    if (offset <= -rows || offset >= columns) return 0;
    const int64_t down = offset < 0 ? rows + offset : rows, along = offset < 0 ? columns : columns - offset;
    return down < along ? down : along;
}

static bool diagonal_view(
    const weft_tensor *y, const wi_extent *x, const wi_layout *in, const wi_extent *out, wi_layout *layout) {
    const int rows = y->attributes->diagonal.rows, columns = y->attributes->diagonal.columns;
    const int64_t offset = y->attributes->diagonal.offset;
    const wi_size away = wi_size_of(offset < 0 ? -offset : offset);
    int next = 0;
    *layout = (wi_layout){
        .offset = wi_size_add(in->offset, wi_size_mul(away, in->strides[offset < 0 ? rows : columns]))};
    for (int i = 0; i < x->rank; i++) {
        if (i != rows && i != columns) layout->strides[next++] = in->strides[i];
    }
    layout->strides[out->rank - 1] = wi_size_add(in->strides[rows], in->strides[columns]);
    return true;
}

static weft_status diagonal_fits(const weft_tensor *y, weft_tensor *const *inputs, const wi_shape *shape,
    const wi_attributes *attributes) {
    const wi_diagonal_attributes *const a = &attributes->diagonal;
    const int64_t *const dims = inputs[0]->shape.dims;
    (void)y;
    if (shape->dims[shape->rank - 1] == diagonal_length(dims[a->rows], dims[a->columns], a->offset))
        return WEFT_OK;
    WI_FAIL(WEFT_ERROR_SHAPE, "diagonal: at this size the diagonal does not exist or has another length");
}

const wi_op wi_op_diagonal = {.name = "diagonal",
    .kind = WI_VIEW,
    .attribute_bytes = sizeof(wi_diagonal_attributes),
    .view = diagonal_view,
    .fits = diagonal_fits};

weft_tensor *weft_diagonal(weft_tensor *x, int64_t offset, int axis1, int axis2) {
    weft_graph *graph = wi_inputs_graph("diagonal", &x, 1);
    if (!graph) return NULL;
    const int first = wi_axis_index(x, "diagonal", axis1), second = wi_axis_index(x, "diagonal", axis2);
    if (first < 0 || second < 0) return NULL;
    char text[WI_SHAPE_TEXT];
    if (first == second)
        return wi_graph_fail(graph, WEFT_ERROR_SHAPE, "diagonal: axis %d of %s is given twice", first,
            wi_shape_print(x->graph, &x->shape, text));
    const int64_t length = diagonal_length(x->shape.dims[first], x->shape.dims[second], offset);
    if (length == 0)
        return wi_graph_fail(graph, WEFT_ERROR_SHAPE,
            "diagonal: axes %d and %d of %s have no diagonal with offset %lld (a batch axis only with "
            "another batch axis of the same size and offset 0)",
            first, second, wi_shape_print(x->graph, &x->shape, text), (long long)offset);
    wi_shape shape = wi_shape_without(&x->shape, 1u << first | 1u << second);
    shape.dims[shape.rank++] = length;
    const wi_attributes attributes = {.diagonal = {.rows = first, .columns = second, .offset = offset}};
    return wi_node(graph, &wi_op_diagonal, &x, 1, x->dtype, &shape, &attributes);
}
