/* Parts of axes: slice, split, flip and diagonal: see oracle.h and reference_slice.h. */
#include "oracle/draw.h"
#include "oracle/reference_slice.h"

enum { MOST_PARTS = 8 };

/* ---- slice: integers are the axis, the start, the end and the step ---- */

/* The input and an axis of it, whose place is returned; -1: there is none. */
static int draw_input_axis(oracle_draw *draw, oracle_call *call) {
    call->inputs[0] = draw_value(draw, DRAW_ANY, 1, 6);
    if (call->inputs[0] < 0) return -1;
    const int axis = draw_axis(draw, call->inputs[0]);
    call->integers[0] = draw_from_either_end(draw, axis, draw_rank(draw, call->inputs[0]));
    return axis;
}

/* Of an axis that is a number. The end may be the length of the program. */
static void draw_range(oracle_draw *draw, oracle_call *call, int64_t size) {
    const int64_t start = draw_chance(draw, 30) ? 0 : draw_below(draw, size);
    const int64_t end = draw_chance(draw, 30) ? size : start + 1 + draw_below(draw, size - start);
    call->integers[1] = draw_from_either_end(draw, start, size);
    call->integers[2] = end < size              ? draw_from_either_end(draw, end, size)
                        : draw_chance(draw, 50) ? WEFT_END
                                                : size;
    const int64_t any = start == 0 ? draw_any_size(draw, size / 3) : 0;
    if (any > 0 && !draw_is_number(any)) call->integers[1] = 0, call->integers[2] = any;
}

/* Of an axis that depends on the batch or the length, and has so many elements now. */
static void draw_free_range(oracle_draw *draw, oracle_call *call, int64_t size) {
    static const int64_t ranges[][2] = {
        {0, WEFT_END}, {1, WEFT_END}, {0, -1}, {-1, WEFT_END}, {-2, -1}, {-2, WEFT_END}};
    const int64_t *const range = ranges[size < 2 ? 0 : draw_below(draw, 6)];
    call->integers[1] = range[0];
    call->integers[2] = range[1];
}

ORACLE_DRAW(slice) {
    const int axis = draw_input_axis(draw, call);
    if (axis < 0) return false;
    const int64_t dim = draw_dim(draw, call->inputs[0], axis);
    call->integers[3] = 1;
    if (draw_is_number(dim))
        draw_range(draw, call, dim);
    else
        draw_free_range(draw, call, draw_array(draw, call->inputs[0])->dims[axis]);
    return true;
}
ORACLE_BUILD(slice) {
    ORACLE_UNUSED;
    return weft_slice(in[0], (int)call->integers[0], oracle_given_end(call->integers[1], sizes),
        oracle_given_end(call->integers[2], sizes));
}
static f64_array *evaluate_slice_step(
    const oracle_call *call, const f64_array *const *in, const oracle_sizes *sizes) {
    return f64_slice_step(in[0], call->integers[0], oracle_end(call->integers[1], sizes),
        oracle_end(call->integers[2], sizes), call->integers[3]);
}
ORACLE_EVALUATE(slice) {
    return evaluate_slice_step(call, in, sizes);
}
ORACLE_OP(slice, "weft_slice($0, $a0, $a1, $a2)");

/* On k times the batch a step divides k. */
static void draw_batch_step(oracle_draw *draw, oracle_call *call, int64_t times) {
    int64_t step = 1 + draw_below(draw, times);
    while (times % step != 0) step--;
    call->integers[1] = draw_below(draw, step);
    call->integers[2] = WEFT_END;
    call->integers[3] = step;
}

ORACLE_DRAW(slice_step) {
    const int axis = draw_input_axis(draw, call);
    if (axis < 0) return false;
    const int64_t dim = draw_dim(draw, call->inputs[0], axis);
    call->integers[3] = 1 + (draw_chance(draw, 80) ? draw_below(draw, 5) : draw_size(draw, 130));
    if (draw_is_number(dim)) {
        draw_range(draw, call, dim);
        if (call->integers[2] > 0 && !draw_is_number(call->integers[2])) call->integers[2] = WEFT_END;
    } else if (dim < 0) {
        draw_batch_step(draw, call, draw_is_number(-dim) ? -dim : 1);
    } else {
        draw_free_range(draw, call, draw_array(draw, call->inputs[0])->dims[axis]);
        call->integers[3] = 1;
    }
    return true;
}
ORACLE_BUILD(slice_step) {
    ORACLE_UNUSED;
    return weft_slice_step(in[0], (int)call->integers[0], oracle_given_end(call->integers[1], sizes),
        oracle_given_end(call->integers[2], sizes), call->integers[3]);
}
ORACLE_OP(slice_step, "weft_slice_step($0, $a0, $a1, $a2, $a3)");

/* ---- unfold: integers are the axis, the size and the step ---- */

ORACLE_DRAW(unfold) {
    call->inputs[0] = draw_value(draw, DRAW_ANY, 1, 5);
    if (call->inputs[0] < 0) return false;
    const int axis = draw_axis(draw, call->inputs[0]);
    const int64_t size = draw_array(draw, call->inputs[0])->dims[axis];
    call->integers[0] = draw_from_either_end(draw, axis, draw_rank(draw, call->inputs[0]));
    call->integers[1] = 1 + draw_below(draw, size < 7 ? size : 7);
    call->integers[2] = draw_is_fixed(draw, call->inputs[0], axis) ? 1 + draw_below(draw, 5) : 1;
    return true;
}
ORACLE_BUILD(unfold) {
    ORACLE_UNUSED;
    return weft_unfold(in[0], (int)call->integers[0], call->integers[1], call->integers[2]);
}
ORACLE_EVALUATE(unfold) {
    (void)sizes;
    return f64_unfold(in[0], call->integers[0], call->integers[1], call->integers[2]);
}
ORACLE_OP(unfold, "weft_unfold($0, $a0, $i1, $i2)");

/* ---- split: integers are the axis, which part is the result, and in how many ---- */

ORACLE_DRAW(split) {
    const int axis = draw_input_axis(draw, call);
    if (axis < 0) return false;
    const int64_t dim = draw_dim(draw, call->inputs[0], axis), size = dim < 0 ? -dim : dim;
    int64_t count = draw_is_number(size) ? 1 + draw_below(draw, MOST_PARTS) : 1;
    while (size % count != 0) count--;
    call->integers[1] = draw_below(draw, count);
    call->integers[2] = count;
    return true;
}
ORACLE_BUILD(split) {
    ORACLE_UNUSED;
    weft_tensor *parts[MOST_PARTS];
    (void)weft_split(in[0], (int)call->integers[0], (size_t)call->integers[2], parts);
    return parts[call->integers[1]];
}
ORACLE_EVALUATE(split) {
    (void)sizes;
    const int64_t size = in[0]->dims[oracle_axis(call->integers[0], in[0]->rank)] / call->integers[2];
    const int64_t start = call->integers[1] * size;
    return f64_slice_step(in[0], call->integers[0], start, start + size, 1);
}
ORACLE_OP(split, "(weft_split($0, $a0, $a2, parts), parts[$a1])");

/* ---- split_sizes: dims has the sizes ---- */

/* Cuts of a number, or of a multiple of the batch; negative sizes are multiples of it. */
static int cut(oracle_draw *draw, int64_t dim, int64_t *sizes) {
    int64_t left = dim < 0 ? -dim : dim;
    int count = 0;
    while (left > 1 && count < MOST_PARTS - 1 && draw_chance(draw, 70)) {
        const int64_t size = 1 + draw_below(draw, left - 1);
        sizes[count++] = dim < 0 ? -size : size;
        left -= size;
    }
    sizes[count++] = dim < 0 ? -left : left;
    return count;
}

ORACLE_DRAW(split_sizes) {
    const int axis = draw_input_axis(draw, call);
    if (axis < 0) return false;
    const int64_t dim = draw_dim(draw, call->inputs[0], axis);
    int count = 0;
    if (draw_is_number(dim < 0 ? -dim : dim)) {
        count = cut(draw, dim, call->dims);
    } else {
        const int64_t size = draw_array(draw, call->inputs[0])->dims[axis];
        const int64_t first = dim > 0 && size > 1 && draw_chance(draw, 60) ? 1 : 0;
        if (first) call->dims[count++] = first;
        call->dims[count++] = dim - first;
    }
    call->dims[count] = WEFT_END;
    call->integers[1] = draw_below(draw, count);
    return true;
}
ORACLE_BUILD(split_sizes) {
    ORACLE_UNUSED;
    weft_tensor *parts[MOST_PARTS];
    int64_t given[WEFT_MAX_RANK + 1];
    const int count = oracle_given_of(call->dims, sizes, given);
    (void)weft_split_sizes(in[0], (int)call->integers[0], given, (size_t)count, parts);
    return parts[call->integers[1]];
}
ORACLE_EVALUATE(split_sizes) {
    int64_t parts[WEFT_MAX_RANK + 1], start = 0;
    oracle_sizes_of(call->dims, sizes, parts);
    for (int64_t i = 0; i < call->integers[1]; i++) start += parts[i];
    return f64_slice_step(in[0], call->integers[0], start, start + parts[call->integers[1]], 1);
}
ORACLE_OP(split_sizes, "(weft_split_sizes($0, $a0, $l, $r, parts), parts[$a1])");

/* ---- flip ---- */

ORACLE_DRAW(flip) {
    call->inputs[0] = draw_value(draw, DRAW_ANY, 0, 6);
    if (call->inputs[0] < 0) return false;
    const int rank = draw_rank(draw, call->inputs[0]);
    int count = 0;
    for (int axis = 0; axis < rank; axis++)
        if (draw_chance(draw, 45)) call->dims[count++] = draw_from_either_end(draw, axis, rank);
    call->dims[count] = WEFT_END;
    return true;
}
ORACLE_BUILD(flip) {
    ORACLE_UNUSED;
    return weft_flip_axes(in[0], call->dims);
}
ORACLE_EVALUATE(flip) {
    (void)sizes;
    return f64_flip(in[0], call->dims);
}
ORACLE_OP(flip, "weft_flip_axes($0, $x)");

/* ---- diagonal: integers are two axes and the offset ---- */

/* Two axes of ordinary numbers, or of the same free size; false: a few tries found none. */
static bool draw_pair(oracle_draw *draw, int value, int *axis1, int *axis2) {
    const int rank = draw_rank(draw, value);
    for (int tries = 0; tries < 8; tries++) {
        *axis1 = draw_axis(draw, value);
        *axis2 = (*axis1 + 1 + (int)draw_below(draw, rank - 1)) % rank;
        if (draw_is_fixed(draw, value, *axis1) && draw_is_fixed(draw, value, *axis2)) return true;
        if (draw_dim(draw, value, *axis1) == draw_dim(draw, value, *axis2)) return true;
    }
    return false;
}

ORACLE_DRAW(diagonal) {
    int axis1, axis2;
    const int x = call->inputs[0] = draw_value(draw, DRAW_ANY, 2, 6);
    if (x < 0 || !draw_pair(draw, x, &axis1, &axis2)) return false;
    const int rank = draw_rank(draw, x);
    const int64_t rows = draw_dim(draw, x, axis1), columns = draw_dim(draw, x, axis2);
    call->integers[0] = draw_from_either_end(draw, axis1, rank);
    call->integers[1] = draw_from_either_end(draw, axis2, rank);
    if (draw_is_number(rows) && draw_chance(draw, 70))
        call->integers[2] = draw_below(draw, rows + columns - 1) - (rows - 1);
    return true;
}
ORACLE_BUILD(diagonal) {
    ORACLE_UNUSED;
    return weft_diagonal(in[0], call->integers[2], (int)call->integers[0], (int)call->integers[1]);
}
ORACLE_EVALUATE(diagonal) {
    (void)sizes;
    return f64_diagonal(in[0], call->integers[2], call->integers[0], call->integers[1]);
}
ORACLE_OP(diagonal, "weft_diagonal($0, $a2, $a0, $a1)");
