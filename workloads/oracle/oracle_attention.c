/* Attention: see oracle.h. */
#include "oracle/draw.h"
#include "oracle/reference_attention.h"

enum { CAUSAL, BOOL_MASK }; /* places in call->integers */

/* Lengths of keys: that of the queries, another one, or now and then a free one. */
static int64_t draw_length(oracle_draw *draw, int q) {
    int64_t dims[2];
    if (draw_chance(draw, 35)) return draw_dim(draw, q, -2);
    draw_shape(draw, 1, dims);
    return draw_chance(draw, 25) && draw_count_of(draw, dims) <= 65 ? dims[0] : draw_size(draw, 65);
}

/* Of the scores' shape, or of fewer or smaller dimensions. */
static bool draw_mask(oracle_draw *draw, oracle_call *call) {
    const int q = call->inputs[0], k = call->inputs[1];
    int64_t dims[WEFT_MAX_RANK + 1];
    int count = draw_chance(draw, 60) ? draw_leading(draw, q, 2, dims) : 0;
    if (count > 0 || draw_chance(draw, 80)) dims[count++] = draw_chance(draw, 75) ? draw_dim(draw, q, -2) : 1;
    dims[count++] = draw_chance(draw, 85) ? draw_dim(draw, k, -2) : 1;
    dims[count] = WEFT_END;
    call->integers[BOOL_MASK] = draw_chance(draw, 50);
    call->inputs[3] = call->integers[BOOL_MASK] ? draw_shaped(draw, WEFT_BOOL, dims, 0, 1)
                                                : draw_shaped(draw, draw_format(draw), dims, -8, 8);
    return call->inputs[3] >= 0;
}

static bool draw_keys(oracle_draw *draw, oracle_call *call) {
    const int q = call->inputs[0];
    int64_t dims[WEFT_MAX_RANK + 1];
    int lead = draw_leading(draw, q, 2, dims);
    dims[lead] = draw_length(draw, q);
    dims[lead + 1] = draw_dim(draw, q, -1);
    dims[lead + 2] = WEFT_END;
    call->inputs[1] = draw_chance(draw, 15) ? q : draw_shaped(draw, draw_format(draw), dims, -6, 6);
    if (call->inputs[1] < 0) return false;
    lead = draw_leading(draw, call->inputs[1], 2, dims);
    dims[lead] = draw_dim(draw, call->inputs[1], -2);
    dims[lead + 1] = draw_chance(draw, 40) ? draw_dim(draw, q, -1) : draw_size(draw, 65);
    dims[lead + 2] = WEFT_END;
    call->inputs[2] =
        draw_chance(draw, 15) ? call->inputs[1] : draw_shaped(draw, draw_format(draw), dims, -40, 40);
    return call->inputs[2] >= 0;
}

/* Keeps the products of one evaluation to some hundred thousand. */
static bool is_short(const oracle_draw *draw, const oracle_call *call) {
    const f64_array *const q = draw_array(draw, call->inputs[0]),
                           *const k = draw_array(draw, call->inputs[1]),
                           *const v = draw_array(draw, call->inputs[2]);
    const int64_t d = q->dims[q->rank - 1], keys = k->dims[k->rank - 2], dv = v->dims[v->rank - 1];
    return (int64_t)q->count / d * keys * (d + dv) < 400000;
}

ORACLE_DRAW(attention) {
    call->inputs[0] = draw_value_within(draw, DRAW_FLOAT, 2, 5, -20, 20);
    if (call->inputs[0] < 0 || !draw_keys(draw, call) || !is_short(draw, call)) return false;
    call->integers[CAUSAL] = draw_chance(draw, 35);
    const bool fixed = draw_is_fixed(draw, call->inputs[0], -1);
    if (!fixed || draw_chance(draw, 40)) call->numbers[0] = (double)(float)draw_between(draw, 0.02, 1);
    return draw_chance(draw, 40) || draw_mask(draw, call);
}
ORACLE_BUILD(attention) {
    ORACLE_UNUSED;
    return weft_attention(in[0], in[1], in[2],
        &(weft_attention_options){WEFT_ATTENTION_OPTIONS_INIT, .mask = in[3],
            .causal = call->integers[CAUSAL] != 0, .scale = (float)call->numbers[0]});
}
ORACLE_EVALUATE(attention) {
    return f64_attention(in[0], in[1], in[2],
        &(f64_attention_options){.mask = in[3],
            .bool_mask = call->integers[BOOL_MASK] != 0,
            .causal = call->integers[CAUSAL] != 0,
            .scale = call->numbers[0],
            .rounding = oracle_rounding(sizes, 0.5)});
}
ORACLE_OP(attention,
    "weft_attention($0, $1, $2, &(weft_attention_options){WEFT_ATTENTION_OPTIONS_INIT, .mask = $3, "
    ".causal = $b0, .scale = $n0})");
