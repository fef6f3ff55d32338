/* Triangles, masks, one-hot rows, and tensors that depend only on the index: maps of coordinates, which are fused with their readers
 * and need no memory. */
#include "graph/sizes.h"
#include "ops/op_table.h"
#include <math.h>

/* ---- triangles ---- */

/* Replaces some elements of the last two axes by 0. If `below`, keeps the elements with column <= row + diagonal,
 * otherwise the elements with column > row + diagonal. */
static weft_tensor *triangle(const char *op, weft_tensor *x, int64_t diagonal, bool below) {
    weft_graph *graph = wi_inputs_graph(op, &x, 1);
    if (!graph) return NULL;
    char text[WI_SHAPE_TEXT];
    const int rank = x->shape.rank;
    if (rank < 2)
        return wi_graph_fail(graph, WEFT_ERROR_SHAPE, "%s: %s has fewer than two axes", op,
            wi_shape_print(x->graph, &x->shape, text));
    if (!wi_takes_dtype(x, op, WI_TAKES_FLOATS | WI_TAKES_INTEGERS)) return NULL;
    const int64_t most = INT32_MAX / 2; /* larger than any axis */
    const int64_t offset = diagonal > most ? most : diagonal < -most ? -most : diagonal;
    weft_tensor *row = wi_coordinate(graph, &x->shape, rank - 2);
    weft_tensor *column = wi_coordinate(graph, &x->shape, rank - 1);
    weft_tensor *is_below = weft_less_equal(column, weft_add(row, weft_number(row, (double)offset)));
    weft_tensor *zero = weft_number(x, 0);
    return below ? weft_where(is_below, x, zero) : weft_where(is_below, zero, x);
}

weft_tensor *weft_tril(weft_tensor *x, int64_t diagonal) {
    return WI_CALL(x, "weft_tril", triangle("tril", x, diagonal, true));
}

weft_tensor *weft_triu(weft_tensor *x, int64_t diagonal) {
    return WI_CALL(
        x, "weft_triu", triangle("triu", x, diagonal > INT64_MIN ? diagonal - 1 : diagonal, false));
}

/* ---- masks ---- */

static weft_tensor *build_masked_fill(weft_tensor *x, weft_tensor *mask, double value) {
    weft_tensor *inputs[] = {x, mask};
    weft_graph *graph = wi_inputs_graph("masked_fill", inputs, 2);
    if (!graph) return NULL;
    if (mask->dtype != WEFT_BOOL || !wi_dtype_computes(x->dtype))
        return wi_graph_fail(graph, WEFT_ERROR_DTYPE, "masked_fill: takes (%s, bool), not (%s, %s)",
            wi_dtypes_text(WI_TAKES_FLOATS | WI_TAKES_INTEGERS), weft_dtype_name(x->dtype),
            weft_dtype_name(mask->dtype));
    if (!wi_takes_number(graph, "masked_fill", value)) return NULL;
    wi_shape both;
    char text_x[WI_SHAPE_TEXT], text_mask[WI_SHAPE_TEXT];
    if (!wi_shape_broadcast(&x->shape, &mask->shape, &both) || !wi_shape_equal(&both, &x->shape))
        return wi_graph_fail(graph, WEFT_ERROR_SHAPE, "masked_fill: the mask %s does not broadcast to %s",
            wi_shape_print(mask->graph, &mask->shape, text_mask),
            wi_shape_print(x->graph, &x->shape, text_x));
    return weft_where(mask, weft_number(x, value), x);
}

weft_tensor *weft_masked_fill(weft_tensor *x, weft_tensor *mask, double value) {
    return WI_CALL(x, "weft_masked_fill", build_masked_fill(x, mask, value));
}

static weft_tensor *build_one_hot(weft_tensor *labels, int64_t classes, weft_dtype dtype) {
    weft_graph *graph = wi_inputs_graph("one_hot", &labels, 1);
    if (!graph) return NULL;
    char text[WI_SHAPE_TEXT];
    if (labels->dtype != WEFT_I32)
        return wi_graph_fail(
            graph, WEFT_ERROR_DTYPE, "one_hot: takes i32 labels, not %s", weft_dtype_name(labels->dtype));
    if (classes < 1 || classes > INT32_MAX / 2 || labels->shape.rank == WEFT_MAX_RANK)
        return wi_graph_fail(graph, WEFT_ERROR_SHAPE,
            "one_hot: classes is %lld and the labels are %s; expected 1 or more classes, and labels of rank "
            "%d at most",
            (long long)classes, wi_shape_print(labels->graph, &labels->shape, text), WEFT_MAX_RANK - 1);
    wi_shape shape = labels->shape;
    shape.dims[shape.rank++] = classes;
    weft_tensor *place = wi_coordinate(graph, &shape, shape.rank - 1);
    return weft_cast(weft_equal(place, weft_unsqueeze(labels, -1)), dtype);
}

weft_tensor *weft_one_hot(weft_tensor *labels, int64_t classes, weft_dtype dtype) {
    return WI_CALL(labels, "weft_one_hot", build_one_hot(labels, classes, dtype));
}

/* ---- functions of the index ---- */

static bool is_whole(double value) {
    return value == floor(value) && fabs(value) <= INT32_MAX;
}

static weft_tensor *steps_from(
    weft_graph *graph, weft_dtype dtype, double start, double step, int64_t count) {
    const wi_shape shape = {.rank = 1, .dims = {count}};
    weft_tensor *index = weft_cast(wi_coordinate(graph, &shape, 0), wi_format_of(dtype)->compute);
    return weft_cast(weft_add(weft_mul(index, weft_number(index, step)), weft_number(index, start)), dtype);
}

/* Up to an end that only plans know. */
static weft_tensor *symbolic_arange(
    weft_graph *graph, weft_dtype dtype, double start, int64_t end, double step) {
    const bool of_batch = start == 0 && step == 1 && end < 0;
    if (!wi_takes_number(graph, "arange", start) || !wi_takes_number(graph, "arange", step)) return NULL;
    if (!wi_dtype_valid(dtype) || !wi_dtype_computes(dtype) || !is_whole(start) || !is_whole(step) ||
        step < 1)
        return wi_graph_fail(graph, WEFT_ERROR_ARGUMENT,
            "arange: from %g in steps of %g as %s: up to a size that plans choose, start and step must be "
            "whole "
            "numbers, step at least 1, and the dtype one that computes",
            start, step, wi_dtype_valid(dtype) ? weft_dtype_name(dtype) : "no dtype");
    if (of_batch) return steps_from(graph, dtype, start, step, end);
    const int64_t span = wi_position_add(graph, end, (int64_t)(start - step + 1), -1);
    return steps_from(graph, dtype, start, step, wi_dim_divide(graph, span, (int64_t)step));
}

/* Is `end` a multiple of WEFT_BATCH, of a range that numbers the rows of a batch? WEFT_BATCH is negative, so that no other range from 0
 * in steps of 1 ends there. */
static bool numbers_batch(double start, double end, double step) {
    return start == 0 && step == 1 && end < 0 && is_whole(end);
}

static weft_tensor *build_arange(weft_graph *graph, weft_dtype dtype, double start, double end, double step) {
    if (!graph) return NULL;
    if (fabs(end) < 0x1p63 && wi_is_symbolic((int64_t)end))
        return symbolic_arange(graph, dtype, start, (int64_t)end, step);
    const bool of_batch = numbers_batch(start, end, step);
    const double count = of_batch ? -end : ceil((end - start) / step);
    if (!wi_dtype_valid(dtype) || !wi_dtype_computes(dtype))
        return wi_graph_fail(graph, WEFT_ERROR_DTYPE, "arange: creates %s, not %s",
            wi_dtypes_text(WI_TAKES_FLOATS | WI_TAKES_INTEGERS), weft_dtype_name(dtype));
    if (!(count >= 1 && count <= INT32_MAX / 2))
        return wi_graph_fail(graph, WEFT_ERROR_ARGUMENT,
            "arange: from %g to %g in steps of %g has no elements, or too many; only the range from 0 in "
            "steps "
            "of 1 may end at a multiple of WEFT_BATCH",
            start, end, step);
    if (!wi_takes_number(graph, "arange", start) || !wi_takes_number(graph, "arange", step)) return NULL;
    if (dtype == WEFT_I32 && (!is_whole(start) || !is_whole(step) || !is_whole(start + (count - 1) * step)))
        return wi_graph_fail(graph, WEFT_ERROR_ARGUMENT,
            "arange: from %g in steps of %g not all elements are whole numbers that fit into an i32", start,
            step);
    return steps_from(graph, dtype, start, step, (int64_t)(of_batch ? end : count));
}

weft_tensor *weft_arange(weft_graph *graph, weft_dtype dtype, double start, double end, double step) {
    return WI_CALL_IN(graph, "weft_arange", build_arange(graph, dtype, start, end, step));
}

static weft_tensor *build_full(
    weft_graph *graph, weft_dtype dtype, double value, int rank, const int64_t *dims) {
    if (!graph || !wi_takes_number(graph, "full", value)) return NULL;
    weft_tensor *number = weft_constant(graph, dtype, value);
    return number ? weft_expand(number, rank, dims) : NULL;
}

weft_tensor *weft_full(weft_graph *graph, weft_dtype dtype, double value, int rank, const int64_t *dims) {
    return WI_CALL_IN(graph, "weft_full", build_full(graph, dtype, value, rank, dims));
}

static weft_tensor *build_eye(weft_graph *graph, weft_dtype dtype, int64_t rows, int64_t columns) {
    if (!graph) return NULL;
    const wi_shape shape = {.rank = 2, .dims = {rows, columns}};
    return weft_cast(weft_equal(wi_coordinate(graph, &shape, 0), wi_coordinate(graph, &shape, 1)), dtype);
}

weft_tensor *weft_eye(weft_graph *graph, weft_dtype dtype, int64_t rows, int64_t columns) {
    return WI_CALL_IN(graph, "weft_eye", build_eye(graph, dtype, rows, columns));
}
