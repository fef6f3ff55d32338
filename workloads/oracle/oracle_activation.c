/* Activations with parameters: see oracle.h and reference_activation.h. */
#include "oracle/draw.h"
#include "oracle/reference_activation.h"
#include <math.h>

/* ---- the rows: numbers are the parameters ---- */

static bool draw_activation(oracle_draw *draw, oracle_call *call, draw_types types) {
    return (call->inputs[0] = draw_value_within(draw, types, 0, 5, -40, 40)) >= 0;
}

/* Bounds of any order, some of them infinite. */
ORACLE_DRAW(clamp) {
    if (!draw_activation(draw, call, DRAW_NUMERIC)) return false;
    const bool whole = draw_dtype(draw, call->inputs[0]) == WEFT_I32;
    const double low = draw_between(draw, -3, 2), high = draw_between(draw, -1, 3);
    call->numbers[0] = whole ? floor(low) : draw_exact(low);
    call->numbers[1] = whole ? floor(high) : draw_exact(high);
    if (!whole && draw_chance(draw, 20)) call->numbers[0] = -INFINITY;
    if (!whole && draw_chance(draw, 20)) call->numbers[1] = INFINITY;
    return true;
}
ORACLE_DRAW(hardtanh) {
    call->numbers[0] = draw_exact(draw_between(draw, -3, 0.5));
    call->numbers[1] = draw_exact(draw_between(draw, 0.6, 3));
    return draw_activation(draw, call, DRAW_FLOAT);
}
ORACLE_DRAW(leaky_relu) {
    call->numbers[0] = draw_exact(draw_between(draw, -0.5, 1.5));
    return draw_activation(draw, call, DRAW_FLOAT);
}
ORACLE_DRAW(elu) {
    call->numbers[0] = draw_chance(draw, 40) ? 1 : draw_exact(draw_between(draw, -0.5, 2));
    return draw_activation(draw, call, DRAW_FLOAT);
}

#define NUMBERS_1  call->numbers[0]
#define NUMBERS_2  call->numbers[0], call->numbers[1]
#define LINE_1(op) "weft_" #op "($0, $n0)"
#define LINE_2(op) "weft_" #op "($0, $n0, $n1)"
#define ACTIVATION(op, count)                                                                                \
    ORACLE_BUILD(op) {                                                                                       \
        ORACLE_UNUSED;                                                                                       \
        return weft_##op(in[0], NUMBERS_##count);                                                            \
    }                                                                                                        \
    ORACLE_EVALUATE(op) {                                                                                    \
        (void)sizes;                                                                                         \
        return f64_##op(in[0], NUMBERS_##count);                                                             \
    }                                                                                                        \
    ORACLE_OP(op, LINE_##count(op));

ACTIVATION(clamp, 2)
ACTIVATION(hardtanh, 2)
ACTIVATION(leaky_relu, 1)
ACTIVATION(elu, 1)

/* A weight of one number, or of the channels where these are no free dimension. */
ORACLE_DRAW(prelu) {
    if (!draw_activation(draw, call, DRAW_FLOAT)) return false;
    const int x = call->inputs[0];
    const bool channels = draw_rank(draw, x) > 1 && draw_chance(draw, 70);
    const int64_t dims[] = {channels ? draw_dim(draw, x, 1) : 1, WEFT_END};
    call->inputs[1] = draw_chance(draw, 30) ? draw_shaped(draw, draw_format(draw), dims, -2, 2)
                                            : draw_weights(draw, dims, -0.5, 1.5);
    return call->inputs[1] >= 0;
}
ORACLE_BUILD(prelu) {
    ORACLE_UNUSED;
    return weft_prelu(in[0], in[1]);
}
ORACLE_EVALUATE(prelu) {
    (void)call, (void)sizes;
    return f64_prelu(in[0], in[1]);
}
ORACLE_OP(prelu, "weft_prelu($0, $1)");

/* An axis of an even number of elements. */
ORACLE_DRAW(glu) {
    call->inputs[0] = draw_value_within(draw, DRAW_FLOAT, 1, 5, -40, 40);
    for (int tries = 0; call->inputs[0] >= 0 && tries < 8; tries++) {
        const int axis = draw_axis(draw, call->inputs[0]);
        const int64_t dim = draw_dim(draw, call->inputs[0], axis);
        call->integers[0] = draw_from_either_end(draw, axis, draw_rank(draw, call->inputs[0]));
        if (draw_is_number(dim < 0 ? -dim : dim) && dim % 2 == 0) return true;
    }
    return false;
}
ORACLE_BUILD(glu) {
    ORACLE_UNUSED;
    return weft_glu(in[0], (int)call->integers[0]);
}
ORACLE_EVALUATE(glu) {
    (void)sizes;
    return f64_glu(in[0], call->integers[0]);
}
ORACLE_OP(glu, "weft_glu($0, $a0)");
