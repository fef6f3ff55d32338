/* Products of matrices and vectors: see oracle.h. */
#include "oracle/draw.h"
#include "oracle/reference_product.h"

/* ---- drawing ---- */

/* A size that the result gets in place of one of `value` without making it too large: an ordinary one or now and then a
 * free one. `replaced` is the axis that it takes the place of. */
static int64_t draw_width(oracle_draw *draw, int value, int replaced) {
    const f64_array *const x = draw_array(draw, value);
    const int64_t inner = x->dims[oracle_axis(replaced, x->rank)], rows = (int64_t)x->count / inner;
    int64_t dims[2];
    const int64_t most = draw_most(draw) / (rows > inner ? rows : inner);
    draw_shape(draw, 1, dims);
    return draw_chance(draw, 20) && draw_count_of(draw, dims) <= most ? dims[0] : draw_size(draw, most);
}

static int draw_operand(oracle_draw *draw, const int64_t *dims) {
    if (draw_chance(draw, 40)) return draw_weights(draw, dims, -1, 1);
    return draw_shaped(draw, draw_format(draw), dims, -4, 4);
}

/* What an op has as inputs: all that are not optional. */
static bool has_inputs(const oracle_call *call, int count) {
    for (int i = 0; i < count; i++)
        if (call->inputs[i] < 0) return false;
    return true;
}

/* Either the left or the right one is there already. */
ORACLE_DRAW(matmul) {
    const bool right = draw_chance(draw, 35);
    const int value = draw_value_within(draw, DRAW_FLOAT, 2, 5, -40, 40);
    if (value < 0) return false;
    int64_t dims[WEFT_MAX_RANK + 1];
    const int lead = draw_leading(draw, value, 2, dims);
    dims[lead + right] = draw_dim(draw, value, right ? -2 : -1);
    dims[lead + !right] = draw_width(draw, value, right ? -2 : -1);
    dims[lead + 2] = WEFT_END;
    call->inputs[right] = value;
    call->inputs[!right] = draw_operand(draw, dims);
    return has_inputs(call, 2);
}
ORACLE_BUILD(matmul) {
    ORACLE_UNUSED;
    return weft_matmul(in[0], in[1]);
}
ORACLE_EVALUATE(matmul) {
    (void)call, (void)sizes;
    return f64_matmul(in[0], in[1]);
}
ORACLE_OP(matmul, "weft_matmul($0, $1)");

ORACLE_DRAW(linear_with) {
    const int x = draw_value_within(draw, DRAW_FLOAT, 1, 5, -40, 40);
    if (x < 0) return false;
    const int64_t out = draw_width(draw, x, -1);
    call->inputs[0] = x;
    call->inputs[1] = draw_operand(draw, (const int64_t[]){out, draw_dim(draw, x, -1), WEFT_END});
    if (draw_chance(draw, 70)) call->inputs[2] = draw_operand(draw, (const int64_t[]){out, WEFT_END});
    return has_inputs(call, 2);
}
ORACLE_BUILD(linear_with) {
    ORACLE_UNUSED;
    return weft_linear_with(in[0], in[1], in[2]);
}
ORACLE_EVALUATE(linear_with) {
    (void)call, (void)sizes;
    return f64_linear(in[0], in[1], in[2]);
}
ORACLE_OP(linear_with, "weft_linear_with($0, $1, $2)");

ORACLE_DRAW(outer) {
    const int a = draw_value_within(draw, DRAW_NUMERIC, 1, 1, -40, 40);
    if (a < 0) return false;
    const bool right = draw_chance(draw, 50);
    const int64_t dims[] = {draw_width(draw, a, 0), WEFT_END};
    call->inputs[right] = a;
    call->inputs[!right] = draw_shaped(draw, draw_dtype(draw, a), dims, -4, 4);
    return has_inputs(call, 2);
}
ORACLE_BUILD(outer) {
    ORACLE_UNUSED;
    return weft_outer(in[0], in[1]);
}
ORACLE_EVALUATE(outer) {
    (void)call, (void)sizes;
    return f64_outer(in[0], in[1]);
}
ORACLE_OP(outer, "weft_outer($0, $1)");

ORACLE_DRAW(dot) {
    const int a = draw_value_within(draw, DRAW_NUMERIC, 1, 1, -40, 40);
    if (a < 0) return false;
    int64_t dims[WEFT_MAX_RANK + 1];
    draw_dims(draw, a, dims);
    call->inputs[0] = a;
    call->inputs[1] = draw_shaped(draw, draw_dtype(draw, a), dims, -4, 4);
    return has_inputs(call, 2);
}
ORACLE_BUILD(dot) {
    ORACLE_UNUSED;
    return weft_dot(in[0], in[1]);
}
ORACLE_EVALUATE(dot) {
    (void)call, (void)sizes;
    return f64_dot(in[0], in[1]);
}
ORACLE_OP(dot, "weft_dot($0, $1)");

/* Either the matrix or the vector is there already. */
ORACLE_DRAW(mv) {
    const bool vector = draw_chance(draw, 35);
    const int value = draw_value_within(draw, DRAW_FLOAT, vector ? 1 : 2, vector ? 1 : 5, -40, 40);
    if (value < 0) return false;
    const int64_t k = draw_dim(draw, value, -1), rows = vector ? draw_width(draw, value, -1) : 0;
    const int64_t matrix[] = {rows, k, WEFT_END};
    call->inputs[vector] = value;
    call->inputs[!vector] = draw_operand(draw, vector ? matrix : matrix + 1);
    return has_inputs(call, 2);
}
ORACLE_BUILD(mv) {
    ORACLE_UNUSED;
    return weft_mv(in[0], in[1]);
}
ORACLE_EVALUATE(mv) {
    (void)call, (void)sizes;
    return f64_mv(in[0], in[1]);
}
ORACLE_OP(mv, "weft_mv($0, $1)");

/* A width that depends on the batch is an error. */
ORACLE_DRAW(bilinear_with) {
    const bool second = draw_chance(draw, 40);
    const int x = draw_value_within(draw, DRAW_FLOAT, 1, 4, -20, 20);
    if (x < 0 || draw_dim(draw, x, -1) < 0) return false;
    int64_t dims[WEFT_MAX_RANK + 1];
    const f64_array *const array = draw_array(draw, x);
    const int last = array->rank - 1;
    const int64_t width = array->dims[last], rows = (int64_t)array->count / width, most = draw_most(draw);
    const int64_t other = draw_size(draw, most / (rows > width ? rows : width) + 1);
    const int64_t out = draw_size(draw, most / (rows > width * other ? rows : width * other) + 1);
    const int64_t in = draw_dim(draw, x, -1);
    draw_dims(draw, x, dims);
    dims[last] = other;
    call->inputs[second] = x;
    call->inputs[!second] = draw_shaped(draw, draw_format(draw), dims, -3, 3);
    call->inputs[2] =
        draw_operand(draw, (const int64_t[]){out, second ? other : in, second ? in : other, WEFT_END});
    if (draw_chance(draw, 60)) call->inputs[3] = draw_operand(draw, (const int64_t[]){out, WEFT_END});
    return has_inputs(call, 3) && rows * width * other * out < 400000;
}
ORACLE_BUILD(bilinear_with) {
    ORACLE_UNUSED;
    return weft_bilinear_with(in[0], in[1], in[2], in[3]);
}
/* The library multiplies twice, and stores what the first product gives in the program's format. */
ORACLE_EVALUATE(bilinear_with) {
    (void)call;
    f64_array *const y = f64_bilinear(in[0], in[1], in[2], in[3]);
    if (!f64_tracks_errors() || sizes->format == WEFT_F32) return y;
    const f64_array *sizes_of[3];
    for (int i = 0; i < 3; i++) sizes_of[i] = oracle_magnitudes(in[i]);
    const f64_array *const most = f64_bilinear(sizes_of[0], sizes_of[1], sizes_of[2], NULL);
    for (size_t i = 0; i < y->count; i++) y->error[i] += oracle_rounding(sizes, most->value[i]);
    return y;
}
ORACLE_OP(bilinear_with, "weft_bilinear_with($0, $1, $2, $3)");
