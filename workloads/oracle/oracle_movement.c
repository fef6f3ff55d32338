/* Movement: views with other shapes or orders of axes, concat and stack: see oracle.h and reference_movement.h. */
#include "oracle/draw.h"
#include "oracle/reference_movement.h"
#include <string.h>

enum { MOST_JOINED = 4 };

/* ---- drawing ---- */

static bool draw_any(oracle_draw *draw, oracle_call *call, int least_rank, int most_rank) {
    return (call->inputs[0] = draw_value(draw, DRAW_ANY, least_rank, most_rank)) >= 0;
}

/* integers[which]: an axis of the first input, from either end. */
static void draw_axis_into(oracle_draw *draw, oracle_call *call, int which) {
    const int rank = draw_rank(draw, call->inputs[0]);
    call->integers[which] = draw_from_either_end(draw, draw_axis(draw, call->inputs[0]), rank);
}

/* ---- reshape: a few edits of the shape ---- */

static void insert_dim(int64_t *dims, int *rank, int at, int64_t dim) {
    memmove(dims + at + 1, dims + at, (size_t)(*rank - at) * sizeof *dims);
    dims[at] = dim;
    ++*rank;
}

static void remove_dim(int64_t *dims, int *rank, int at) {
    memmove(dims + at, dims + at + 1, (size_t)(*rank - at - 1) * sizeof *dims);
    --*rank;
}

/* Two axes become one, unless both depend on the batch or both on the length. */
static void merge_dims(int64_t *dims, int *rank, int at) {
    const bool free = !draw_is_number(dims[at]) && !draw_is_number(dims[at + 1]);
    if (free && (dims[at] < 0) == (dims[at + 1] < 0)) return;
    dims[at] *= dims[at + 1];
    remove_dim(dims, rank, at + 1);
}

/* One axis becomes two, where it is a number or a number times the batch. */
static void split_dim(oracle_draw *draw, int64_t *dims, int *rank, int at) {
    const int64_t size = dims[at] < 0 ? -dims[at] : dims[at];
    int64_t divisors[64], count = 0;
    for (int64_t d = 1; d <= size && count < 64 && draw_is_number(size); d++)
        if (size % d == 0) divisors[count++] = d;
    if (count == 0) return;
    const int64_t outer = divisors[draw_below(draw, count)], inner = size / outer;
    const bool first = draw_chance(draw, 50), batch = dims[at] < 0;
    dims[at] = batch && !first ? -inner : inner;
    insert_dim(dims, rank, at, batch && first ? -outer : outer);
}

static void edit_shape(oracle_draw *draw, int64_t *dims, int *rank) {
    const int64_t kind = draw_below(draw, 4);
    if (kind == 0 && *rank > 1) merge_dims(dims, rank, (int)draw_below(draw, *rank - 1));
    if (kind == 1 && *rank > 0 && *rank < 6) split_dim(draw, dims, rank, (int)draw_below(draw, *rank));
    if (kind == 2 && *rank < 6) insert_dim(dims, rank, (int)draw_below(draw, *rank + 1), 1);
    if (kind == 3 && *rank > 0) {
        const int at = (int)draw_below(draw, *rank);
        if (dims[at] == 1) remove_dim(dims, rank, at);
    }
}

ORACLE_DRAW(reshape) {
    if (!draw_any(draw, call, 0, 6)) return false;
    draw_dims(draw, call->inputs[0], call->dims);
    int rank = draw_rank(draw, call->inputs[0]);
    for (int64_t edits = 1 + draw_below(draw, 6); edits > 0; edits--) edit_shape(draw, call->dims, &rank);
    call->dims[rank] = WEFT_END;
    return true;
}
ORACLE_BUILD(reshape) {
    ORACLE_UNUSED;
    int64_t dims[WEFT_MAX_RANK + 1];
    const int rank = oracle_given_of(call->dims, sizes, dims);
    return weft_reshape_shape(in[0], rank, dims);
}
ORACLE_EVALUATE(reshape) {
    int64_t dims[WEFT_MAX_RANK + 1];
    const int rank = oracle_sizes_of(call->dims, sizes, dims);
    return f64_reshape(in[0], rank, dims);
}
ORACLE_OP(reshape, "weft_reshape_shape($0, $d)");

/* ---- permute ---- */

ORACLE_DRAW(permute) {
    if (!draw_any(draw, call, 0, 6)) return false;
    const int rank = draw_rank(draw, call->inputs[0]);
    for (int i = 0; i < rank; i++) {
        const int other = (int)draw_below(draw, i + 1);
        call->dims[i] = call->dims[other];
        call->dims[other] = draw_from_either_end(draw, i, rank);
    }
    call->dims[rank] = WEFT_END;
    return true;
}
ORACLE_BUILD(permute) {
    ORACLE_UNUSED;
    int axes[WEFT_MAX_RANK];
    const int rank = f64_list_length(call->dims);
    for (int i = 0; i < rank; i++) axes[i] = (int)call->dims[i];
    return weft_permute_axes(in[0], rank, axes);
}
ORACLE_EVALUATE(permute) {
    (void)sizes;
    return f64_permute_axes(in[0], call->dims);
}
ORACLE_OP(permute, "weft_permute_list_($0, $x, false)");

/* ---- expand: axes of 1 become longer, and axes come before ---- */

ORACLE_DRAW(expand) {
    if (!draw_any(draw, call, 0, 5)) return false;
    int64_t dims[WEFT_MAX_RANK + 1];
    draw_dims(draw, call->inputs[0], dims);
    int rank = draw_rank(draw, call->inputs[0]);
    while (rank < 6 && draw_chance(draw, 40)) insert_dim(dims, &rank, 0, 1);
    dims[rank] = WEFT_END;
    for (int i = 0; i < rank; i++) {
        const int64_t left = draw_most(draw) / draw_count_of(draw, dims);
        if (dims[i] == 1 && left > 1 && draw_chance(draw, 75)) dims[i] = draw_any_size(draw, left);
    }
    memcpy(call->dims, dims, sizeof dims);
    return true;
}
ORACLE_BUILD(expand) {
    ORACLE_UNUSED;
    int64_t dims[WEFT_MAX_RANK + 1];
    const int rank = oracle_given_of(call->dims, sizes, dims);
    return weft_expand(in[0], rank, dims);
}
ORACLE_EVALUATE(expand) {
    int64_t dims[WEFT_MAX_RANK + 1];
    const int rank = oracle_sizes_of(call->dims, sizes, dims);
    return f64_expand(in[0], rank, dims);
}
ORACLE_OP(expand, "weft_expand($0, $d)");

/* ---- concat, stack: integers[0] is the axis, integers[1] how many ---- */

ORACLE_DRAW(concat) {
    if (!draw_any(draw, call, 1, 5)) return false;
    int64_t dims[WEFT_MAX_RANK + 1];
    const int axis = draw_axis(draw, call->inputs[0]), rank = draw_rank(draw, call->inputs[0]);
    call->integers[0] = draw_from_either_end(draw, axis, rank);
    call->integers[1] = 1 + draw_below(draw, MOST_JOINED);
    for (int i = 1; i < call->integers[1]; i++) {
        draw_dims(draw, call->inputs[0], dims);
        if (draw_chance(draw, 60)) {
            dims[axis] = 1;
            dims[axis] = draw_any_size(draw, draw_most(draw) / draw_count_of(draw, dims));
        }
        call->inputs[i] = draw_alike(draw, call->inputs[0], dims);
        if (call->inputs[i] < 0) return false;
    }
    return true;
}
ORACLE_BUILD(concat) {
    ORACLE_UNUSED;
    return weft_concat(in, (size_t)call->integers[1], (int)call->integers[0]);
}
ORACLE_EVALUATE(concat) {
    (void)sizes;
    return f64_concat(in, (size_t)call->integers[1], (int)call->integers[0]);
}
ORACLE_OP(concat, "weft_concat((weft_tensor *[]){$0, $1, $2, $3}, $a1, $a0)");

ORACLE_DRAW(stack) {
    if (!draw_any(draw, call, 0, 5)) return false;
    int64_t dims[WEFT_MAX_RANK + 1];
    draw_dims(draw, call->inputs[0], dims);
    const int rank = draw_rank(draw, call->inputs[0]) + 1;
    call->integers[0] = draw_from_either_end(draw, draw_below(draw, rank), rank);
    call->integers[1] = 1 + draw_below(draw, MOST_JOINED);
    for (int i = 1; i < call->integers[1]; i++)
        if ((call->inputs[i] = draw_alike(draw, call->inputs[0], dims)) < 0) return false;
    return true;
}
ORACLE_BUILD(stack) {
    ORACLE_UNUSED;
    return weft_stack(in, (size_t)call->integers[1], (int)call->integers[0]);
}
ORACLE_EVALUATE(stack) {
    (void)sizes;
    return f64_stack(in, (size_t)call->integers[1], call->integers[0]);
}
ORACLE_OP(stack, "weft_stack((weft_tensor *[]){$0, $1, $2, $3}, $a1, $a0)");

/* ---- without attributes ---- */

#define PLAIN_VIEW(op, least_rank, most_rank, result)                                                        \
    ORACLE_DRAW(op) {                                                                                        \
        return draw_any(draw, call, least_rank, most_rank);                                                  \
    }                                                                                                        \
    ORACLE_BUILD(op) {                                                                                       \
        ORACLE_UNUSED;                                                                                       \
        return weft_##op(in[0]);                                                                             \
    }                                                                                                        \
    ORACLE_EVALUATE(op) {                                                                                    \
        (void)call, (void)sizes;                                                                             \
        return result;                                                                                       \
    }                                                                                                        \
    ORACLE_OP(op, "weft_" #op "($0)");

PLAIN_VIEW(transpose, 2, 6, f64_transpose(in[0]))
PLAIN_VIEW(flatten, 1, 6, f64_flatten(in[0]))
PLAIN_VIEW(channels_last, 2, 5, f64_move_axis(in[0], 1, -1))
PLAIN_VIEW(channels_first, 2, 5, f64_move_axis(in[0], -1, 1))

/* ---- with one or two axes ---- */

ORACLE_DRAW(flatten_axes) {
    if (!draw_any(draw, call, 1, 6)) return false;
    const int rank = draw_rank(draw, call->inputs[0]);
    const int64_t first = draw_below(draw, rank), last = first + draw_below(draw, rank - first);
    call->integers[0] = draw_from_either_end(draw, first, rank);
    call->integers[1] = draw_from_either_end(draw, last, rank);
    return true;
}
ORACLE_DRAW(unsqueeze) {
    if (!draw_any(draw, call, 0, 6)) return false;
    const int rank = draw_rank(draw, call->inputs[0]) + 1;
    call->integers[0] = draw_from_either_end(draw, draw_below(draw, rank), rank);
    return true;
}
static bool draw_two_axes(oracle_draw *draw, oracle_call *call) {
    if (!draw_any(draw, call, 1, 6)) return false;
    draw_axis_into(draw, call, 0);
    draw_axis_into(draw, call, 1);
    return true;
}
ORACLE_DRAW(swap_axes) {
    return draw_two_axes(draw, call);
}
ORACLE_DRAW(move_axis) {
    return draw_two_axes(draw, call);
}

#define AXIS_1     call->integers[0]
#define AXIS_2     call->integers[0], call->integers[1]
#define GIVEN_1    (int)call->integers[0]
#define GIVEN_2    (int)call->integers[0], (int)call->integers[1]
#define LINE_1(op) "weft_" #op "($0, $a0)"
#define LINE_2(op) "weft_" #op "($0, $a0, $a1)"
#define AXIS_VIEW(op, count)                                                                                 \
    ORACLE_BUILD(op) {                                                                                       \
        ORACLE_UNUSED;                                                                                       \
        return weft_##op(in[0], GIVEN_##count);                                                              \
    }                                                                                                        \
    ORACLE_EVALUATE(op) {                                                                                    \
        (void)sizes;                                                                                         \
        return f64_##op(in[0], AXIS_##count);                                                                \
    }                                                                                                        \
    ORACLE_OP(op, LINE_##count(op));

AXIS_VIEW(flatten_axes, 2)
AXIS_VIEW(unsqueeze, 1)
AXIS_VIEW(swap_axes, 2)
AXIS_VIEW(move_axis, 2)

/* Some axes of 1, or all. integers[0]: which ones, as bits: a batch of 1 is not among all. */
ORACLE_DRAW(squeeze) {
    if (!draw_any(draw, call, 0, 6)) return false;
    const int rank = draw_rank(draw, call->inputs[0]);
    const bool all = draw_chance(draw, 30);
    int count = 0;
    for (int axis = 0; axis < rank; axis++) {
        if (draw_dim(draw, call->inputs[0], axis) != 1 || (!all && draw_chance(draw, 30))) continue;
        call->integers[0] |= INT64_C(1) << axis;
        if (!all) call->dims[count++] = draw_from_either_end(draw, axis, rank);
    }
    call->dims[count] = WEFT_END;
    return all || count > 0;
}
ORACLE_BUILD(squeeze) {
    ORACLE_UNUSED;
    return weft_squeeze_axes(in[0], call->dims);
}
ORACLE_EVALUATE(squeeze) {
    (void)sizes;
    int64_t axes[WEFT_MAX_RANK + 1];
    int count = 0;
    for (int axis = 0; axis < in[0]->rank; axis++)
        if (call->integers[0] >> axis & 1) axes[count++] = axis;
    axes[count] = WEFT_END;
    return count > 0 ? f64_squeeze(in[0], axes) : f64_copy(in[0]);
}
ORACLE_OP(squeeze, "weft_squeeze_axes($0, $x)");
