/* Softmax and its logarithm: see oracle.h. */
#include "oracle/draw.h"

#define SOFTMAX(op)                                                                                          \
    ORACLE_DRAW(op) {                                                                                        \
        call->inputs[0] = draw_value_within(draw, DRAW_FLOAT, 1, 5, -100, 100);                              \
        if (call->inputs[0] < 0) return false;                                                               \
        const int rank = draw_rank(draw, call->inputs[0]);                                                   \
        call->integers[0] = draw_axis(draw, call->inputs[0]) - (draw_chance(draw, 40) ? rank : 0);           \
        return true;                                                                                         \
    }                                                                                                        \
    ORACLE_BUILD(op) {                                                                                       \
        ORACLE_UNUSED;                                                                                       \
        return weft_##op(in[0], (int)call->integers[0]);                                                     \
    }                                                                                                        \
    ORACLE_EVALUATE(op) {                                                                                    \
        (void)sizes;                                                                                         \
        return f64_##op(in[0], (int)call->integers[0]);                                                      \
    }                                                                                                        \
    ORACLE_OP(op, "weft_" #op "($0, $a0)");
SOFTMAX(softmax)
SOFTMAX(log_softmax)
