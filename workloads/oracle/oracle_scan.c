/* Scans along an axis: see oracle.h. */
#include "oracle/draw.h"
#include "oracle/reference_scan.h"

enum { AXIS, EXCLUSIVE, REVERSE }; /* places in call->integers */

static int64_t draw_either_end(oracle_draw *draw, int rank) {
    return draw_below(draw, rank) - (draw_chance(draw, 40) ? rank : 0);
}

static bool draw_scan(oracle_draw *draw, oracle_call *call, double most) {
    call->inputs[0] = draw_value_within(draw, DRAW_NUMERIC, 1, 5, -most, most);
    if (call->inputs[0] < 0) return false;
    call->integers[AXIS] = draw_either_end(draw, draw_rank(draw, call->inputs[0]));
    call->integers[EXCLUSIVE] = draw_chance(draw, 35);
    call->integers[REVERSE] = draw_chance(draw, 40);
    return true;
}

#define SCAN(op, most)                                                                                       \
    ORACLE_DRAW(op) {                                                                                        \
        return draw_scan(draw, call, most);                                                                  \
    }                                                                                                        \
    ORACLE_BUILD(op) {                                                                                       \
        ORACLE_UNUSED;                                                                                       \
        return weft_##op##_with(                                                                             \
            in[0], (int)call->integers[AXIS], call->integers[EXCLUSIVE] != 0, call->integers[REVERSE] != 0); \
    }                                                                                                        \
    ORACLE_EVALUATE(op) {                                                                                    \
        (void)sizes;                                                                                         \
        return f64_##op(in[0], (f64_scan){(int)call->integers[AXIS], call->integers[EXCLUSIVE] != 0,         \
                                   call->integers[REVERSE] != 0});                                           \
    }                                                                                                        \
    ORACLE_OP(op, "weft_" #op "_with($0, $i0, $b1, $b2)");
SCAN(cumsum, 100)
SCAN(cumprod, 2)

/* ---- linear_scan: the factors or what is added are there already ---- */

ORACLE_DRAW(linear_scan) {
    const bool added = draw_chance(draw, 50);
    const double most = added ? 40 : 1.25;
    const int value = draw_value_within(draw, DRAW_FLOAT, 1, 5, -most, most);
    if (value < 0) return false;
    call->inputs[added] = value;
    call->inputs[!added] = draw_partner(draw, value, draw_format(draw), added ? -1.25 : -9, added ? 1.25 : 9);
    if (call->inputs[!added] < 0) return false;
    const int rank = draw_rank(draw, value), other = draw_rank(draw, call->inputs[!added]);
    call->integers[AXIS] = draw_either_end(draw, rank > other ? rank : other);
    call->integers[REVERSE] = draw_chance(draw, 40);
    return true;
}
ORACLE_BUILD(linear_scan) {
    ORACLE_UNUSED;
    return weft_linear_scan(in[0], in[1], (int)call->integers[AXIS], call->integers[REVERSE] != 0);
}
ORACLE_EVALUATE(linear_scan) {
    (void)sizes;
    return f64_linear_scan(in[0], in[1], (int)call->integers[AXIS], call->integers[REVERSE] != 0);
}
ORACLE_OP(linear_scan, "weft_linear_scan($0, $1, $i0, $b2)");
