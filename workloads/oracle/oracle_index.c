/* Picking by index, adding up and replacing by index: see oracle.h and reference_index.h. */
#include "oracle/draw.h"
#include "oracle/reference_index.h"

/* ---- drawing: integers[0] is the axis, integers[1] a size ---- */

static int draw_input_axis(oracle_draw *draw, oracle_call *call, draw_types types) {
    call->inputs[0] = draw_value(draw, types, 1, 5);
    if (call->inputs[0] < 0) return -1;
    const int axis = draw_axis(draw, call->inputs[0]);
    call->integers[0] = draw_from_either_end(draw, axis, draw_rank(draw, call->inputs[0]));
    return axis;
}

/* dims with another size along the axis, as large as the program has room for. */
static void draw_along(oracle_draw *draw, int64_t *dims, int axis) {
    dims[axis] = 1;
    dims[axis] = draw_any_size(draw, draw_most(draw) / draw_count_of(draw, dims));
}

/* ---- gather, index_select ---- */

ORACLE_DRAW(gather) {
    int64_t dims[WEFT_MAX_RANK + 1];
    const int axis = draw_input_axis(draw, call, DRAW_ANY);
    if (axis < 0) return false;
    draw_dims(draw, call->inputs[0], dims);
    const int64_t below = dims[axis];
    for (int i = 0; dims[i] != WEFT_END; i++)
        if (draw_is_number(dims[i]) && draw_chance(draw, 25)) dims[i] = 1 + draw_below(draw, dims[i]);
    draw_along(draw, dims, axis);
    return (call->inputs[1] = draw_indices(draw, dims, below)) >= 0;
}
ORACLE_BUILD(gather) {
    ORACLE_UNUSED;
    return weft_gather(in[0], (int)call->integers[0], in[1]);
}
ORACLE_EVALUATE(gather) {
    (void)sizes;
    return f64_gather(in[0], call->integers[0], in[1]);
}
ORACLE_OP(gather, "weft_gather($0, $a0, $1)");

ORACLE_DRAW(index_select) {
    int64_t dims[WEFT_MAX_RANK + 1], left[WEFT_MAX_RANK + 1];
    const int axis = draw_input_axis(draw, call, DRAW_ANY);
    if (axis < 0) return false;
    draw_dims(draw, call->inputs[0], left);
    const int64_t below = left[axis];
    left[axis] = 1;
    int64_t most = draw_most(draw) / draw_count_of(draw, left);
    const int rank = (int)draw_below(draw, 4);
    for (int i = 0; i < rank; i++) {
        dims[i] = i == 0 ? draw_any_size(draw, most) : draw_size(draw, most);
        most /= dims[i] > 0 ? dims[i] : draw_count_of(draw, (const int64_t[]){dims[i], WEFT_END});
    }
    dims[rank] = WEFT_END;
    return (call->inputs[1] = draw_indices(draw, dims, below)) >= 0;
}
ORACLE_BUILD(index_select) {
    ORACLE_UNUSED;
    return weft_index_select(in[0], (int)call->integers[0], in[1]);
}
ORACLE_EVALUATE(index_select) {
    (void)sizes;
    return f64_index_select(in[0], call->integers[0], in[1]);
}
ORACLE_OP(index_select, "weft_index_select($0, $a0, $1)");

/* ---- sums: over zeros or over a value, at an index for each element or each place ---- */

/* inputs: the source, the index. */
static bool draw_sum(oracle_draw *draw, oracle_call *call, bool each) {
    int64_t dims[WEFT_MAX_RANK + 1], sum[WEFT_MAX_RANK + 1];
    const int axis = draw_input_axis(draw, call, DRAW_NUMERIC);
    if (axis < 0) return false;
    draw_dims(draw, call->inputs[0], dims);
    draw_dims(draw, call->inputs[0], sum);
    draw_along(draw, sum, axis);
    call->integers[1] = sum[axis];
    const int64_t places[] = {dims[axis], WEFT_END};
    return (call->inputs[1] = draw_indices(draw, each ? dims : places, sum[axis])) >= 0;
}
ORACLE_DRAW(scatter_sum) {
    return draw_sum(draw, call, true);
}
ORACLE_DRAW(index_sum) {
    return draw_sum(draw, call, false);
}

static f64_array *sum_over_zeros(
    const oracle_call *call, const f64_array *const *in, const oracle_sizes *sizes, bool each) {
    int64_t dims[WEFT_MAX_RANK];
    for (int i = 0; i < in[0]->rank; i++) dims[i] = in[0]->dims[i];
    dims[oracle_axis(call->integers[0], in[0]->rank)] = oracle_size(call->integers[1], sizes);
    f64_array *const zeros = f64_zeros(in[0]->rank, dims);
    return each ? f64_scatter_add(zeros, call->integers[0], in[1], in[0])
                : f64_index_add(zeros, call->integers[0], in[1], in[0]);
}

#define SUM_ROW(op, each)                                                                                    \
    ORACLE_BUILD(op) {                                                                                       \
        ORACLE_UNUSED;                                                                                       \
        return weft_##op(in[0], (int)call->integers[0], in[1], oracle_given(call->integers[1], sizes));      \
    }                                                                                                        \
    ORACLE_EVALUATE(op) {                                                                                    \
        return sum_over_zeros(call, in, sizes, each);                                                        \
    }                                                                                                        \
    ORACLE_OP(op, "weft_" #op "($0, $a0, $1, $i1)");

SUM_ROW(scatter_sum, true)
SUM_ROW(index_sum, false)

/* inputs: the value, the index, the source. */
static bool draw_changed(oracle_draw *draw, oracle_call *call, draw_types types, bool each, bool distinct) {
    int64_t dims[WEFT_MAX_RANK + 1];
    const int axis = draw_input_axis(draw, call, types);
    if (axis < 0) return false;
    draw_dims(draw, call->inputs[0], dims);
    const int64_t below = dims[axis];
    if (distinct && draw_is_number(below))
        dims[axis] = 1 + draw_below(draw, below);
    else if (!distinct)
        draw_along(draw, dims, axis);
    const int64_t places[] = {dims[axis], WEFT_END};
    const draw_source_options permutation = {
        .dtype = WEFT_I32, .dims = places, .below = below, .distinct = true};
    call->inputs[1] =
        distinct ? draw_source(draw, &permutation) : draw_indices(draw, each ? dims : places, below);
    call->inputs[2] = draw_alike(draw, call->inputs[0], dims);
    return call->inputs[1] >= 0 && call->inputs[2] >= 0;
}
ORACLE_DRAW(scatter_add) {
    return draw_changed(draw, call, DRAW_NUMERIC, true, false);
}
ORACLE_DRAW(index_add) {
    return draw_changed(draw, call, DRAW_NUMERIC, false, false);
}
/* Of a row that is named twice the last one counts, and the gradient reaches both. */
ORACLE_DRAW(index_copy) {
    const bool distinct = draw_chance(draw, 70);
    call->no_gradient = !distinct;
    return draw_changed(draw, call, DRAW_ANY, false, distinct);
}

#define CHANGE_ROW(op, result)                                                                               \
    ORACLE_BUILD(op) {                                                                                       \
        ORACLE_UNUSED;                                                                                       \
        return weft_##op(in[0], (int)call->integers[0], in[1], in[2]);                                       \
    }                                                                                                        \
    ORACLE_EVALUATE(op) {                                                                                    \
        (void)sizes;                                                                                         \
        f64_array *const y = f64_##op(in[0], call->integers[0], in[1], in[2]);                               \
        return result;                                                                                       \
    }                                                                                                        \
    ORACLE_OP(op, "weft_" #op "($0, $a0, $1, $2)");

/* The sum is stored before it is added. */
static f64_array *with_stored_sum(f64_array *y, const f64_array *x, const oracle_sizes *sizes) {
    for (size_t i = 0; i < y->count; i++) y->error[i] += oracle_rounding(sizes, y->value[i] - x->value[i]);
    return y;
}

CHANGE_ROW(scatter_add, with_stored_sum(y, in[0], sizes))
CHANGE_ROW(index_add, with_stored_sum(y, in[0], sizes))
CHANGE_ROW(index_copy, y)

/* ---- reductions by index; integers[1] is the kind, integers[2] whether x takes part ---- */

static bool draw_reduced(oracle_draw *draw, oracle_call *call, bool each) {
    call->integers[1] = draw_below(draw, WEFT_SCATTER_MIN + 1);
    call->integers[2] = draw_chance(draw, 50);
    call->no_gradient = call->integers[1] >= WEFT_SCATTER_MAX; /* jumps where elements meet */
    const bool mean = call->integers[1] == WEFT_SCATTER_MEAN;
    return draw_changed(draw, call, mean ? DRAW_FLOAT : DRAW_NUMERIC, each, false);
}
ORACLE_DRAW(scatter_reduce) {
    return draw_reduced(draw, call, true);
}
ORACLE_DRAW(index_reduce) {
    return draw_reduced(draw, call, false);
}

#define REDUCE_ROW(op)                                                                                       \
    ORACLE_BUILD(op) {                                                                                       \
        ORACLE_UNUSED;                                                                                       \
        return weft_##op(in[0], (int)call->integers[0], in[1], in[2], (weft_scatter_kind)call->integers[1],  \
            call->integers[2] != 0);                                                                         \
    }                                                                                                        \
    ORACLE_EVALUATE(op) {                                                                                    \
        f64_array *const y = f64_reduce_by_index(in[0], call->integers[0], in[1], in[2],                     \
            (weft_scatter_kind)call->integers[1], call->integers[2] != 0);                                   \
        const bool extreme = call->integers[1] >= WEFT_SCATTER_MAX;                                          \
        return extreme ? y : with_stored_sum(y, in[0], sizes);                                               \
    }                                                                                                        \
    ORACLE_OP(op, "weft_" #op "($0, $a0, $1, $2, (weft_scatter_kind)$i1, $b2)");

REDUCE_ROW(scatter_reduce)
REDUCE_ROW(index_reduce)

/* ---- sparse products; inputs: dense, columns, rows, values; integers[0] is the size ---- */

ORACLE_DRAW(sparse_matmul) {
    int64_t dims[WEFT_MAX_RANK + 1], places[2] = {1, WEFT_END};
    call->inputs[0] = draw_value(draw, DRAW_FLOAT, 1, 4);
    if (call->inputs[0] < 0) return false;
    draw_dims(draw, call->inputs[0], dims);
    const int64_t columns = dims[0];
    dims[0] = 1;
    const int64_t row = draw_count_of(draw, dims);
    places[0] = draw_any_size(draw, draw_most(draw) / row);
    call->integers[0] = draw_any_size(draw, draw_most(draw) / row);
    call->inputs[1] = draw_indices(draw, places, columns);
    call->inputs[2] = draw_indices(draw, places, call->integers[0]);
    call->inputs[3] = draw_alike(draw, call->inputs[0], places);
    return call->inputs[1] >= 0 && call->inputs[2] >= 0 && call->inputs[3] >= 0;
}
ORACLE_BUILD(sparse_matmul) {
    ORACLE_UNUSED;
    return weft_sparse_matmul(in[2], in[1], in[3], oracle_given(call->integers[0], sizes), in[0]);
}
ORACLE_EVALUATE(sparse_matmul) {
    return f64_sparse_matmul(in[2], in[1], in[3], oracle_size(call->integers[0], sizes), in[0]);
}
ORACLE_OP(sparse_matmul, "weft_sparse_matmul($2, $1, $3, $i0, $0)");

/* ---- the rows of compressed rows; inputs: where each begins, columns ---- */

ORACLE_DRAW(sparse_rows) {
    const int64_t entries[] = {draw_any_size(draw, draw_most(draw)), WEFT_END};
    const int64_t starts[] = {2 + draw_below(draw, 40), WEFT_END};
    call->inputs[0] = draw_source(draw,
        &(draw_source_options){
            .dtype = WEFT_I32, .dims = starts, .below = entries[0], .ascending = true, .from_zero = true});
    call->inputs[1] = draw_shaped(draw, WEFT_I32, entries, 0, 9);
    return call->inputs[0] >= 0 && call->inputs[1] >= 0;
}
ORACLE_BUILD(sparse_rows) {
    ORACLE_UNUSED;
    return weft_sparse_rows(in[0], in[1]);
}
ORACLE_EVALUATE(sparse_rows) {
    (void)call, (void)sizes;
    return f64_sparse_rows(in[0], in[1]);
}
ORACLE_OP(sparse_rows, "weft_sparse_rows($0, $1)");
