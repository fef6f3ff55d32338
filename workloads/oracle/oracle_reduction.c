/* Reductions: see oracle.h. */
#include "oracle/oracle_loss.h"
#include "oracle/reference_reduce.h"
#include <math.h>
#include <string.h>

enum { KEEP, WHOLE, CORRECTION }; /* places in call->integers */

/* Some axes, as numbers from either end; none means all. */
static bool draw_reduction(oracle_draw *draw, oracle_call *call, draw_types types, double low, double high) {
    call->inputs[0] = draw_value_within(draw, types, 0, 5, low, high);
    if (call->inputs[0] < 0) return false;
    const int rank = draw_rank(draw, call->inputs[0]);
    int count = 0;
    for (int axis = 0; axis < rank; axis++)
        if (draw_chance(draw, 45)) call->dims[count++] = draw_chance(draw, 30) ? axis - rank : axis;
    call->dims[count] = WEFT_END;
    call->integers[KEEP] = draw_chance(draw, 40);
    call->integers[WHOLE] = draw_dtype(draw, call->inputs[0]) == WEFT_I32;
    return true;
}

/* Integers are not rounded, and wrap around beyond their range. */
static f64_array *finished(const oracle_call *call, const f64_array *x, f64_array *y) {
    double most = 0;
    for (size_t i = 0; i < x->count; i++) most = fmax(most, x->error[i]);
    if (!call->integers[WHOLE] || most >= 0.5) return y;
    for (size_t i = 0; i < y->count; i++) y->error[i] = fabs(y->value[i]) < 0x1p31 ? 0 : INFINITY;
    return y;
}

#define REDUCTION(op, types, low, high)                                                                      \
    ORACLE_DRAW(op) {                                                                                        \
        return draw_reduction(draw, call, types, low, high);                                                 \
    }                                                                                                        \
    ORACLE_BUILD(op) {                                                                                       \
        ORACLE_UNUSED;                                                                                       \
        return weft_##op##_axes(in[0], call->dims, call->integers[KEEP] != 0);                               \
    }                                                                                                        \
    ORACLE_EVALUATE(op) {                                                                                    \
        (void)sizes;                                                                                         \
        return finished(call, in[0], f64_##op(in[0], call->dims, call->integers[KEEP] != 0));                \
    }                                                                                                        \
    ORACLE_OP(op, "weft_" #op "_axes($0, $x, $b0)");

REDUCTION(sum, DRAW_NUMERIC, -100, 100)
REDUCTION(mean, DRAW_FLOAT, -100, 100)
REDUCTION(max, DRAW_NUMERIC, -100, 100)
REDUCTION(min, DRAW_NUMERIC, -100, 100)
REDUCTION(prod, DRAW_NUMERIC, -3, 3)
REDUCTION(logsumexp, DRAW_FLOAT, -100, 100)

/* Integers of any input: their own errors say whether they are certain. */
#define finished(call, x, y) (y)
REDUCTION(argmax, DRAW_NUMERIC, -1000, 1000)
REDUCTION(argmin, DRAW_NUMERIC, -1000, 1000)
REDUCTION(any, DRAW_ANY, -1000, 1000)
REDUCTION(all, DRAW_ANY, -1000, 1000)
REDUCTION(count_nonzero, DRAW_ANY, -1000, 1000)
#undef finished

#define MOMENT(op)                                                                                           \
    ORACLE_DRAW(op) {                                                                                        \
        call->integers[CORRECTION] = draw_chance(draw, 40) ? 1 : draw_below(draw, 4);                        \
        return draw_reduction(draw, call, DRAW_FLOAT, -60, 60);                                              \
    }                                                                                                        \
    ORACLE_BUILD(op) {                                                                                       \
        ORACLE_UNUSED;                                                                                       \
        return weft_##op##_with(                                                                             \
            in[0], (int)call->integers[CORRECTION], call->dims, call->integers[KEEP] != 0);                  \
    }                                                                                                        \
    ORACLE_EVALUATE(op) {                                                                                    \
        (void)sizes;                                                                                         \
        return f64_##op(in[0], (double)call->integers[CORRECTION], call->dims, call->integers[KEEP] != 0);   \
    }                                                                                                        \
    ORACLE_OP(op, "weft_" #op "_with($0, $i2, $x, $b0)");
MOMENT(var)
MOMENT(std)

ORACLE_DRAW(norm) {
    static const double orders[] = {1, 2, INFINITY};
    call->numbers[0] = orders[draw_below(draw, 3)];
    return draw_reduction(draw, call, DRAW_FLOAT, -60, 60);
}
ORACLE_BUILD(norm) {
    ORACLE_UNUSED;
    return weft_norm_with(in[0], call->numbers[0], call->dims, call->integers[KEEP] != 0);
}
ORACLE_EVALUATE(norm) {
    (void)sizes;
    return f64_norm(in[0], call->numbers[0], call->dims, call->integers[KEEP] != 0);
}
ORACLE_OP(norm, "weft_norm_with($0, $n0, $x, $b0)");

/* The order and epsilon are numbers; the gradient of x / |x| is 0 up to rounding if the axis has one element. */
ORACLE_DRAW(normalize) {
    static const double orders[] = {1, 2, INFINITY};
    call->inputs[0] = draw_value_within(draw, DRAW_FLOAT, 1, 5, -60, 60);
    if (call->inputs[0] < 0) return false;
    call->numbers[0] = orders[draw_below(draw, 3)];
    call->numbers[1] = draw_chance(draw, 30) ? draw_exact(draw_between(draw, 0.1, 2)) : 0x1p-20;
    call->integers[0] = draw_axis(draw, call->inputs[0]);
    return true;
}
ORACLE_BUILD(normalize) {
    ORACLE_UNUSED;
    return weft_normalize(in[0], call->numbers[0], (int)call->integers[0], call->numbers[1]);
}
ORACLE_EVALUATE(normalize) {
    (void)sizes;
    return f64_normalize(in[0], call->numbers[0], call->integers[0], call->numbers[1]);
}
/* The slopes cancel out along short axes, and where one element is the norm of order infinity. */
static bool normalize_cancels(
    const oracle_call *call, const f64_array *const *in, const oracle_sizes *sizes) {
    (void)sizes;
    return in[0]->dims[call->integers[0]] <= 2 || isinf(call->numbers[0]);
}
ORACLE_OP_WITH(normalize, "weft_normalize($0, $n0, $a0, $n1)", .cancels = normalize_cancels);

/* ---- a mean under a mask; inputs: x, the mask ---- */

ORACLE_DRAW(masked_mean) {
    int64_t dims[WEFT_MAX_RANK + 1];
    if (!draw_reduction(draw, call, DRAW_FLOAT, -100, 100)) return false;
    draw_dims(draw, call->inputs[0], dims);
    const bool whole = draw_chance(draw, 30);
    call->inputs[1] = draw_narrow_of(draw, whole ? WEFT_I32 : WEFT_BOOL, dims, 0, whole ? 2 : 1);
    return call->inputs[1] >= 0;
}
ORACLE_BUILD(masked_mean) {
    ORACLE_UNUSED;
    return weft_masked_mean_axes(in[0], in[1], call->dims, call->integers[KEEP] != 0);
}
ORACLE_EVALUATE(masked_mean) {
    (void)sizes;
    return f64_masked_mean(in[0], in[1], call->dims, call->integers[KEEP] != 0);
}
ORACLE_OP(masked_mean, "weft_masked_mean_axes($0, $1, $x, $b0)");
