/* Reductions: see oracle.h. */
#include "oracle/draw.h"
#include "oracle/reference_reduce.h"
#include <math.h>

/* Some axes, as numbers from either end; none means all. */
static bool draw_reduction(oracle_draw *draw, oracle_call *call, draw_types types, double low, double high) {
    call->inputs[0] = draw_value_within(draw, types, 0, 5, low, high);
    if (call->inputs[0] < 0) return false;
    const int rank = draw_rank(draw, call->inputs[0]);
    int count = 0;
    for (int axis = 0; axis < rank; axis++)
        if (draw_chance(draw, 45)) call->dims[count++] = draw_chance(draw, 30) ? axis - rank : axis;
    call->dims[count] = WEFT_END;
    call->integers[0] = draw_chance(draw, 40);
    return true;
}

#define REDUCTION(op, types, low, high)                                                                      \
    ORACLE_DRAW(op) {                                                                                        \
        return draw_reduction(draw, call, types, low, high);                                                 \
    }                                                                                                        \
    ORACLE_BUILD(op) {                                                                                       \
        ORACLE_UNUSED;                                                                                       \
        return weft_##op##_axes(in[0], call->dims, call->integers[0] != 0);                                  \
    }                                                                                                        \
    ORACLE_EVALUATE(op) {                                                                                    \
        (void)sizes;                                                                                         \
        return f64_##op(in[0], call->dims, call->integers[0] != 0);                                          \
    }                                                                                                        \
    ORACLE_OP(op, "weft_" #op "_axes($0, $x, $b0)");

REDUCTION(sum, DRAW_NUMERIC, -100, 100)
REDUCTION(mean, DRAW_FLOAT, -100, 100)
REDUCTION(max, DRAW_NUMERIC, -100, 100)
