/* Sorting along an axis, and the greatest elements: see oracle.h. */
#include "oracle/draw.h"
#include "oracle/reference_sort.h"

enum { AXIS, DESCENDING, K }; /* places in call->integers */

static bool draw_sorting(oracle_draw *draw, oracle_call *call) {
    call->inputs[0] = draw_value_within(draw, DRAW_NUMERIC, 1, 5, -1000, 1000);
    if (call->inputs[0] < 0) return false;
    const int rank = draw_rank(draw, call->inputs[0]);
    call->integers[AXIS] = draw_axis(draw, call->inputs[0]) - (draw_chance(draw, 40) ? rank : 0);
    call->integers[DESCENDING] = draw_chance(draw, 50);
    return true;
}

static bool draw_selection(oracle_draw *draw, oracle_call *call) {
    if (!draw_sorting(draw, call)) return false;
    const int axis = (int)call->integers[AXIS];
    const f64_array *const x = draw_array(draw, call->inputs[0]);
    const int64_t n = x->dims[oracle_axis(axis, x->rank)];
    call->integers[K] = 1 + draw_below(draw, draw_chance(draw, 50) && n > 4 ? 4 : n);
    return true;
}

static f64_order order_of(const oracle_call *call) {
    return (f64_order){(int)call->integers[AXIS], call->integers[DESCENDING] != 0, call->integers[K]};
}

#define SORTING(op, drawn, evaluated, line, ...)                                                             \
    ORACLE_DRAW(op) {                                                                                        \
        return drawn(draw, call);                                                                            \
    }                                                                                                        \
    ORACLE_BUILD(op) {                                                                                       \
        ORACLE_UNUSED;                                                                                       \
        const f64_order order = order_of(call);                                                              \
        return weft_##op(in[0], __VA_ARGS__);                                                                \
    }                                                                                                        \
    ORACLE_EVALUATE(op) {                                                                                    \
        (void)sizes;                                                                                         \
        return evaluated(in[0], order_of(call));                                                             \
    }                                                                                                        \
    ORACLE_OP(op, "weft_" #op line);
SORTING(sort, draw_sorting, f64_sorted, "($0, $i0, $b1)", order.axis, order.descending)
SORTING(argsort, draw_sorting, f64_sorted_places, "($0, $i0, $b1)", order.axis, order.descending)
SORTING(topk, draw_selection, f64_sorted, "($0, $i2, $i0, $b1)", order.k, order.axis, order.descending)
SORTING(topk_indices, draw_selection, f64_sorted_places, "($0, $i2, $i0, $b1)", order.k, order.axis,
    order.descending)
