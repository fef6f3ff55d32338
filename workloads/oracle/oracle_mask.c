/* Triangles, masks, one-hot rows, and tensors that are functions of their indices: see oracle.h and reference_mask.h. */
#include "oracle/draw.h"
#include "oracle/reference_mask.h"
#include <math.h>

/* ---- triangles: integers[0] is the diagonal ---- */

static bool draw_triangle(oracle_draw *draw, oracle_call *call) {
    call->inputs[0] = draw_value(draw, DRAW_NUMERIC, 2, 6);
    if (call->inputs[0] < 0) return false;
    const f64_array *const x = draw_array(draw, call->inputs[0]);
    const int64_t rows = x->dims[x->rank - 2], columns = x->dims[x->rank - 1];
    call->integers[0] = draw_chance(draw, 30) ? 0 : draw_below(draw, rows + columns + 3) - rows - 1;
    if (draw_chance(draw, 5)) call->integers[0] = INT64_C(4000000000) * (draw_chance(draw, 50) ? 1 : -1);
    return true;
}

#define TRIANGLE(op)                                                                                         \
    ORACLE_DRAW(op) {                                                                                        \
        return draw_triangle(draw, call);                                                                    \
    }                                                                                                        \
    ORACLE_BUILD(op) {                                                                                       \
        ORACLE_UNUSED;                                                                                       \
        return weft_##op(in[0], call->integers[0]);                                                          \
    }                                                                                                        \
    ORACLE_EVALUATE(op) {                                                                                    \
        (void)sizes;                                                                                         \
        return f64_##op(in[0], call->integers[0]);                                                           \
    }                                                                                                        \
    ORACLE_OP(op, "weft_" #op "($0, $a0)");

TRIANGLE(tril)
TRIANGLE(triu)

/* ---- masked_fill: numbers[0] is the value ---- */

/* A number of the type, of the program's floats or whole. */
static double draw_number_of(oracle_draw *draw, bool whole, double low, double high) {
    const double number = draw_between(draw, low, high);
    return whole ? floor(number) : draw_exact(number);
}

ORACLE_DRAW(masked_fill) {
    call->inputs[0] = draw_value(draw, DRAW_NUMERIC, 0, 5);
    if (call->inputs[0] < 0) return false;
    call->inputs[1] = draw_partner(draw, call->inputs[0], WEFT_BOOL, 0, 1);
    call->numbers[0] = draw_number_of(draw, draw_dtype(draw, call->inputs[0]) == WEFT_I32, -5, 5);
    return call->inputs[1] >= 0;
}
ORACLE_BUILD(masked_fill) {
    ORACLE_UNUSED;
    return weft_masked_fill(in[0], in[1], call->numbers[0]);
}
ORACLE_EVALUATE(masked_fill) {
    (void)sizes;
    return f64_masked_fill(in[0], in[1], call->numbers[0]);
}
ORACLE_OP(masked_fill, "weft_masked_fill($0, $1, $n0)");

/* ---- one_hot: integers are the dtype and the classes ---- */

static weft_dtype draw_any_dtype(oracle_draw *draw, bool with_bool) {
    const weft_dtype dtypes[] = {draw_format(draw), draw_format(draw), WEFT_I32, WEFT_BOOL};
    return dtypes[draw_below(draw, with_bool ? 4 : 3)];
}

ORACLE_DRAW(one_hot) {
    call->inputs[0] = draw_value(draw, DRAW_I32, 0, 4);
    if (call->inputs[0] < 0) return false;
    const int64_t left = draw_most(draw) / draw_count(draw, call->inputs[0]);
    const int64_t classes = draw_any_size(draw, left);
    call->integers[0] = draw_any_dtype(draw, true);
    call->integers[1] = classes > 0 ? classes : draw_size(draw, left); /* no number of classes is the batch */
    return true;
}
ORACLE_BUILD(one_hot) {
    ORACLE_UNUSED;
    return weft_one_hot(in[0], oracle_given(call->integers[1], sizes), (weft_dtype)call->integers[0]);
}
ORACLE_EVALUATE(one_hot) {
    return f64_one_hot(in[0], oracle_size(call->integers[1], sizes));
}
ORACLE_OP(one_hot, "weft_one_hot($0, $i1, (weft_dtype)$i0)");

/* ---- arange: numbers are start, end and step; integers the dtype, and the length where it is the end ---- */

ORACLE_DRAW(arange) {
    const bool whole = (call->integers[0] = draw_any_dtype(draw, false)) == WEFT_I32;
    const int64_t count = draw_any_size(draw, draw_most(draw));
    double step = draw_number_of(draw, whole, 0.25, 4);
    if (step == 0 || draw_chance(draw, 30)) step = 1;
    if (draw_chance(draw, 30)) step = -step;
    if (count > 0 && !draw_is_number(count)) {
        call->numbers[2] = 1;
        call->integers[1] = count;
        return true;
    }
    call->numbers[0] = draw_chance(draw, 50) ? 0 : draw_number_of(draw, whole, -40, 40);
    /* The end is well away from the last element and from the one after it. */
    call->numbers[1] = call->numbers[0] + step * ((double)(count > 0 ? count : 1) - (whole ? 0 : 0.5));
    call->numbers[2] = step;
    return true;
}
static double end_of(const oracle_call *call, int64_t length) {
    return call->integers[1] ? (double)length : call->numbers[1];
}
ORACLE_BUILD(arange) {
    ORACLE_UNUSED;
    return weft_arange(graph, (weft_dtype)call->integers[0], call->numbers[0],
        end_of(call, oracle_given(call->integers[1], sizes)), call->numbers[2]);
}
ORACLE_EVALUATE(arange) {
    (void)in;
    const double end = end_of(call, oracle_size(call->integers[1], sizes));
    return f64_arange(call->numbers[0], end, call->numbers[2]);
}
ORACLE_OP(arange, "weft_arange($g, (weft_dtype)$i0, $n0, $i1 + $n1, $n2)");

/* ---- full, eye: integers[0] is the dtype ---- */

ORACLE_DRAW(full) {
    const weft_dtype dtype = draw_any_dtype(draw, true);
    call->integers[0] = dtype;
    call->numbers[0] =
        dtype == WEFT_BOOL ? (double)draw_below(draw, 2) : draw_number_of(draw, dtype == WEFT_I32, -5, 5);
    const int rank = (int)draw_below(draw, 6);
    int64_t left = draw_most(draw);
    for (int i = 0; i < rank; i++) {
        call->dims[i] = draw_any_size(draw, left);
        left /= draw_count_of(draw, (const int64_t[]){call->dims[i], WEFT_END});
    }
    call->dims[rank] = WEFT_END;
    return true;
}
ORACLE_BUILD(full) {
    ORACLE_UNUSED;
    int64_t dims[WEFT_MAX_RANK + 1];
    const int rank = oracle_given_of(call->dims, sizes, dims);
    return weft_full(graph, (weft_dtype)call->integers[0], call->numbers[0], rank, dims);
}
ORACLE_EVALUATE(full) {
    (void)in;
    int64_t dims[WEFT_MAX_RANK + 1];
    const int rank = oracle_sizes_of(call->dims, sizes, dims);
    return f64_full(call->numbers[0], rank, dims);
}
ORACLE_OP(full, "weft_full($g, (weft_dtype)$i0, $n0, $d)");

ORACLE_DRAW(eye) {
    int64_t dims[WEFT_MAX_RANK + 1];
    draw_shape(draw, 2, dims);
    call->integers[0] = draw_any_dtype(draw, true);
    call->integers[1] = dims[0];
    call->integers[2] = dims[1];
    return true;
}
ORACLE_BUILD(eye) {
    ORACLE_UNUSED;
    return weft_eye(graph, (weft_dtype)call->integers[0], oracle_given(call->integers[1], sizes),
        oracle_given(call->integers[2], sizes));
}
ORACLE_EVALUATE(eye) {
    (void)in;
    return f64_eye(oracle_size(call->integers[1], sizes), oracle_size(call->integers[2], sizes));
}
ORACLE_OP(eye, "weft_eye($g, (weft_dtype)$i0, $i1, $i2)");

/* ---- the size of an axis, integers[0] ---- */

static bool draw_axis_to_ask(oracle_draw *draw, oracle_call *call) {
    call->inputs[0] = draw_value(draw, DRAW_ANY, 1, 6);
    if (call->inputs[0] < 0) return false;
    const int rank = draw_rank(draw, call->inputs[0]);
    call->integers[0] = draw_from_either_end(draw, draw_axis(draw, call->inputs[0]), rank);
    return true;
}
ORACLE_BUILD(size) {
    ORACLE_UNUSED;
    return weft_size(in[0], (int)call->integers[0]);
}
ORACLE_EVALUATE(size) {
    (void)sizes;
    return f64_number((double)in[0]->dims[oracle_axis(call->integers[0], in[0]->rank)]);
}
/* Without ORACLE_OP: draw_size is a function of draw.h. */
const oracle_op oracle_op_size = {.name = "size",
    .code = "weft_size($0, $a0)",
    .draw = draw_axis_to_ask,
    .build = build_size,
    .evaluate = evaluate_size};
