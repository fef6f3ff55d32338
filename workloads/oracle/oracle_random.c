/* Random numbers and dropout: see oracle.h and reference_random.h. */
#include "oracle/draw.h"
#include "oracle/reference_random.h"
#include <math.h>

/* The words of this run of the plan. */
static void words_of(const oracle_call *call, const oracle_sizes *sizes, size_t index, uint32_t words[4]) {
    f64_random_words(sizes->seed, index, (uint32_t)call->draws, (uint32_t)sizes->runs + 1, words);
}

/* ---- uniform, normal: numbers are low and high, mean and deviation ---- */

ORACLE_DRAW(uniform) {
    draw_shape(draw, (int)draw_below(draw, 5), call->dims);
    call->numbers[0] = (double)(float)draw_between(draw, -3, 1);
    call->numbers[1] = call->numbers[0] + draw_between(draw, 0.5, 4);
    call->numbers[1] = (double)(float)call->numbers[1];
    return true;
}
ORACLE_DRAW(normal) {
    draw_shape(draw, (int)draw_below(draw, 5), call->dims);
    call->numbers[0] = (double)(float)draw_between(draw, -2, 2);
    call->numbers[1] = (double)(float)draw_between(draw, 0.1, 2);
    return true;
}

static f64_array *array_of(const oracle_call *call, const oracle_sizes *sizes) {
    int64_t dims[WEFT_MAX_RANK + 1];
    const int rank = oracle_sizes_of(call->dims, sizes, dims);
    return f64_zeros(rank, dims);
}

ORACLE_EVALUATE(uniform) {
    (void)in;
    f64_array *const y = array_of(call, sizes);
    const double low = call->numbers[0], reach = call->numbers[1] - low;
    for (size_t i = 0; i < y->count; i++) {
        uint32_t words[4];
        words_of(call, sizes, i, words);
        y->value[i] = low + reach * f64_uniform_of(words);
        y->error[i] = f64_ulp(fabs(low) + reach);
    }
    return y;
}
ORACLE_EVALUATE(normal) {
    (void)in;
    f64_array *const y = array_of(call, sizes);
    for (size_t i = 0; i < y->count; i++) {
        uint32_t words[4];
        double radius;
        words_of(call, sizes, i, words);
        y->value[i] = call->numbers[0] + call->numbers[1] * f64_normal_of(words, &radius);
        y->error[i] = 4e-6 * (fabs(call->numbers[0]) + call->numbers[1] * radius);
    }
    return y;
}

#define GENERATOR(op)                                                                                        \
    ORACLE_BUILD(op) {                                                                                       \
        ORACLE_UNUSED;                                                                                       \
        int64_t dims[WEFT_MAX_RANK + 1];                                                                     \
        const int rank = oracle_given_of(call->dims, sizes, dims);                                           \
        return weft_##op(graph, (float)call->numbers[0], (float)call->numbers[1], rank, dims);               \
    }                                                                                                        \
    ORACLE_OP_WITH(op, "weft_" #op "($g, $n0, $n1, $d)", .random = true);

GENERATOR(uniform)
GENERATOR(normal)

/* ---- dropout: numbers[0] is the probability ---- */

/* Of a value in the order of its axes, as numbers are drawn in the order of memory. */
static bool draw_dropped(oracle_draw *draw, oracle_call *call, int least_rank) {
    static const double probabilities[] = {0, 0.1, 0.25, 0.5, 0.9};
    call->inputs[0] = draw_value_within(draw, DRAW_FLOAT, least_rank, 5, -400, 400);
    if (call->inputs[0] < 0 || !draw_is_row_major(draw, call->inputs[0])) return false;
    call->numbers[0] =
        draw_chance(draw, 50) ? probabilities[draw_below(draw, 5)] : draw_between(draw, 0, 0.9);
    call->numbers[0] = (double)(float)call->numbers[0];
    return true;
}
ORACLE_DRAW(dropout) {
    return draw_dropped(draw, call, 0);
}
ORACLE_DRAW(dropout_channels) {
    return draw_dropped(draw, call, 2);
}

/* A number for each `each` elements. */
static f64_array *dropped(
    const oracle_call *call, const f64_array *x, size_t each, const oracle_sizes *sizes) {
    f64_array *const y = f64_copy(x);
    const double p = call->numbers[0], factor = 1 / (1 - p);
    bool drops = false;
    for (size_t i = 0; i < y->count && !sizes->inference; i++) {
        if (i % each == 0) {
            uint32_t words[4];
            words_of(call, sizes, i / each, words);
            drops = f64_uniform_of(words) < p;
        }
        y->value[i] = drops ? 0 : x->value[i] * factor;
        /* The factor is rounded as results are. */
        const double rounding = 3 * f64_ulp(y->value[i]) + f64_stored_rounding(y->value[i]);
        y->error[i] = drops ? 0 : x->error[i] * factor + rounding;
    }
    return y;
}

ORACLE_BUILD(dropout) {
    ORACLE_UNUSED;
    return weft_dropout(in[0], (float)call->numbers[0]);
}
ORACLE_EVALUATE(dropout) {
    return dropped(call, in[0], 1, sizes);
}
ORACLE_OP_WITH(dropout, "weft_dropout($0, $n0)", .random = true);

ORACLE_BUILD(dropout_channels) {
    ORACLE_UNUSED;
    return weft_dropout_channels(in[0], (float)call->numbers[0]);
}
ORACLE_EVALUATE(dropout_channels) {
    const size_t channels = (size_t)(in[0]->dims[0] * in[0]->dims[1]);
    return dropped(call, in[0], in[0]->count / channels, sizes);
}
ORACLE_OP_WITH(dropout_channels, "weft_dropout_channels($0, $n0)", .random = true);
