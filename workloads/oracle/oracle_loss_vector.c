/* Losses of scores against 1 and -1, and of vectors: see oracle_loss.h. */
#include "oracle/oracle_loss.h"
#include <math.h>
#include <string.h>

/* ---- margins ---- */

static double draw_margin(oracle_draw *draw, double low, double high) {
    return (double)(float)(draw_chance(draw, 20) ? 0 : draw_between(draw, low, high));
}

/* A float, and `count` - 1 that broadcast together with it; the shape of their losses. */
static bool draw_floats(
    oracle_draw *draw, oracle_call *call, int count, int least_rank, double most, int64_t *dims) {
    call->inputs[0] = draw_value_within(draw, DRAW_FLOAT, least_rank, 5, -most, most);
    if (call->inputs[0] < 0) return false;
    for (int i = 1; i < count; i++) {
        call->inputs[i] = draw_partner(draw, call->inputs[0], draw_format(draw), -most, most);
        if (call->inputs[i] < 0) return false;
    }
    (void)draw_loss_shape(draw, call->inputs, count, dims);
    return true;
}

static bool draw_scores(oracle_draw *draw, oracle_call *call) {
    int64_t dims[WEFT_MAX_RANK + 1];
    if (!draw_floats(draw, call, 1, draw_loss_rank(draw), 40, dims)) return false;
    call->inputs[1] = draw_partner(draw, call->inputs[0], draw_format(draw), -2, 2);
    if (call->inputs[1] < 0) return false;
    (void)draw_loss_shape(draw, call->inputs, 2, dims);
    return draw_loss_options(draw, call, dims);
}

ORACLE_DRAW(hinge) {
    return draw_scores(draw, call);
}
ORACLE_LOSS(hinge, "$0, $1", weft_hinge_loss(in[0], in[1], options), f64_hinge(in[0], in[1]));

ORACLE_DRAW(soft_margin) {
    return draw_scores(draw, call);
}
ORACLE_LOSS(
    soft_margin, "$0, $1", weft_soft_margin_loss(in[0], in[1], options), f64_soft_margin(in[0], in[1]));

/* Targets of which losses ask whether they are 1 or -1 are whole numbers here, so that no difference is taken across the jump. */
ORACLE_DRAW(hinge_embedding) {
    int64_t dims[WEFT_MAX_RANK + 1];
    if (!draw_floats(draw, call, 1, draw_loss_rank(draw), 40, dims)) return false;
    call->numbers[0] = draw_margin(draw, -2, 4);
    call->inputs[1] = draw_partner(draw, call->inputs[0], WEFT_I32, -1, 1);
    if (call->inputs[1] < 0) return false;
    (void)draw_loss_shape(draw, call->inputs, 2, dims);
    return draw_loss_options(draw, call, dims);
}
ORACLE_LOSS(hinge_embedding, "$0, weft_cast($1, WEFT_F32), $n0",
    weft_hinge_embedding_loss(in[0], weft_cast(in[1], WEFT_F32), (float)call->numbers[0], options),
    f64_hinge_embedding(in[0], in[1], call->numbers[0]));

ORACLE_DRAW(margin_ranking) {
    int64_t dims[WEFT_MAX_RANK + 1];
    call->numbers[0] = draw_margin(draw, -2, 4);
    return draw_floats(draw, call, 3, draw_loss_rank(draw), 20, dims) && draw_loss_options(draw, call, dims);
}
ORACLE_LOSS(margin_ranking, "$0, $1, $2, $n0",
    weft_margin_ranking_loss(in[0], in[1], in[2], (float)call->numbers[0], options),
    f64_margin_ranking(in[0], in[1], in[2], call->numbers[0]));

/* ---- vectors ---- */

/* Marks results of vectors so short that differences say nothing about the gradient, or that it is documented to be another one. */
static f64_array *unless_short(
    f64_array *result, const f64_array *a, const f64_array *b, int axis, double least) {
    const f64_array *const wide = f64_mul(a, b);
    const f64_array *const p = f64_norm_like(a, wide, axis), *const q = f64_norm_like(b, wide, axis);
    for (size_t i = 0; i < result->count; i++)
        if (p->value[i] < least || q->value[i] < least) {
            result->value[i] = NAN;
            result->error[i] = INFINITY;
        }
    return result;
}

/* Norms that epsilon bounds have a gradient as if they were not bounded: they are of whole numbers here, which have none. */
ORACLE_DRAW(cosine_similarity) {
    const bool whole = draw_chance(draw, 15);
    call->inputs[0] = draw_value_within(draw, whole ? DRAW_I32 : DRAW_FLOAT, 1, 5, -40, 40);
    if (call->inputs[0] < 0) return false;
    call->inputs[1] = draw_partner(draw, call->inputs[0], whole ? WEFT_I32 : draw_format(draw), -40, 40);
    if (call->inputs[1] < 0) return false;
    int64_t dims[WEFT_MAX_RANK + 1];
    const int rank = draw_loss_shape(draw, call->inputs, 2, dims), axis = (int)draw_below(draw, rank);
    call->integers[0] = draw_chance(draw, 50) ? axis - rank : axis;
    call->integers[1] = whole;
    call->numbers[0] = (double)(float)(whole ? draw_between(draw, 0, 40) : draw_chance(draw, 30) ? 0 : 1e-8);
    return true;
}
ORACLE_BUILD(cosine_similarity) {
    ORACLE_UNUSED;
    return weft_cosine_similarity(weft_cast(in[0], WEFT_F32), weft_cast(in[1], WEFT_F32),
        (int)call->integers[0], (float)call->numbers[0]);
}
ORACLE_EVALUATE(cosine_similarity) {
    (void)sizes;
    const int axis = (int)call->integers[0];
    f64_array *const y = f64_cosine_similarity(in[0], in[1], axis, call->numbers[0]);
    return call->integers[1] ? y : unless_short(y, in[0], in[1], axis, 1e-3);
}
ORACLE_OP(
    cosine_similarity, "weft_cosine_similarity(weft_cast($0, WEFT_F32), weft_cast($1, WEFT_F32), $i0, $n0)");

ORACLE_DRAW(cosine_embedding) {
    int64_t dims[WEFT_MAX_RANK + 1];
    if (!draw_floats(draw, call, 1, 1, 40, dims)) return false;
    call->inputs[1] = draw_shaped(draw, draw_format(draw), dims, -40, 40);
    dims[f64_list_length(dims) - 1] = WEFT_END;
    if (call->inputs[1] < 0) return false;
    call->inputs[2] = draw_shaped(draw, WEFT_I32, dims, -1, 1);
    call->numbers[0] = draw_margin(draw, -1, 1);
    return call->inputs[2] >= 0 && draw_loss_options(draw, call, dims);
}
ORACLE_LOSS(cosine_embedding, "$0, $1, weft_cast($2, WEFT_F32), $n0",
    weft_cosine_embedding_loss(in[0], in[1], weft_cast(in[2], WEFT_F32), (float)call->numbers[0], options),
    unless_short(f64_cosine_embedding(in[0], in[1], in[2], call->numbers[0]), in[0], in[1], -1, 1e-3));

ORACLE_DRAW(triplet_margin) {
    int64_t dims[WEFT_MAX_RANK + 1];
    if (!draw_floats(draw, call, 3, 1, 40, dims)) return false;
    call->numbers[0] = draw_margin(draw, -2, 4);
    call->integers[LOSS_INTEGERS] = 1 + draw_below(draw, 2);
    call->integers[LOSS_INTEGERS + 1] = draw_chance(draw, 50);
    dims[f64_list_length(dims) - 1] = WEFT_END;
    return draw_loss_options(draw, call, dims);
}
ORACLE_LOSS(triplet_margin, "$0, $1, $2, $n0, $i2, $b3",
    weft_triplet_margin_loss(in[0], in[1], in[2], (float)call->numbers[0], (int)call->integers[LOSS_INTEGERS],
        call->integers[LOSS_INTEGERS + 1] != 0, options),
    f64_triplet_margin(in[0], in[1], in[2], call->numbers[0], (int)call->integers[LOSS_INTEGERS],
        call->integers[LOSS_INTEGERS + 1] != 0));
