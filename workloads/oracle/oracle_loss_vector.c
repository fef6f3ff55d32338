/* Losses of scores against 1 and -1, and of vectors: see oracle_loss.h. */
#include "oracle/oracle_loss.h"
#include <math.h>
#include <string.h>

/* ---- margins ---- */

static double draw_margin(oracle_draw *draw, double low, double high) {
    return draw_exact(draw_chance(draw, 20) ? 0 : draw_between(draw, low, high));
}

/* `count` floats of one shape, dims. */
static bool draw_floats(
    oracle_draw *draw, oracle_call *call, int count, int least_rank, double most, int64_t *dims) {
    call->inputs[0] = draw_value_within(draw, DRAW_FLOAT, least_rank, 5, -most, most);
    if (call->inputs[0] < 0) return false;
    draw_dims(draw, call->inputs[0], dims);
    for (int i = 1; i < count; i++) {
        call->inputs[i] = draw_shaped(draw, draw_format(draw), dims, -most, most);
        if (call->inputs[i] < 0) return false;
    }
    return count < 2 || !draw_is_dull(draw, call);
}

static bool draw_scores(oracle_draw *draw, oracle_call *call) {
    int64_t dims[WEFT_MAX_RANK + 1];
    if (!draw_floats(draw, call, 1, draw_loss_rank(draw), 40, dims)) return false;
    call->inputs[1] = draw_shaped(draw, draw_format(draw), dims, -2, 2);
    return call->inputs[1] >= 0 && draw_loss_options(draw, call, dims);
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
    call->inputs[1] = draw_shaped(draw, WEFT_I32, dims, -1, 1);
    return call->inputs[1] >= 0 && draw_loss_options(draw, call, dims);
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

/* Is it one number along the axis, of `rank` axes? */
static bool is_stretched(const f64_array *a, int axis, int rank) {
    const int own = axis < 0 ? axis + a->rank : axis - rank + a->rank;
    return own < 0 || a->dims[own] == 1;
}

/* Where gradients are judged, NaN in place of losses of which differences say nothing: vectors are so short that a difference turns them,
 * or they can change by a factor only or all lie along each other, so that the gradient is what rounding leaves of terms that cancel. */
static f64_array *unless_flat(f64_array *losses, const f64_array *a, const f64_array *b, int axis) {
    if (f64_tracks_errors()) return losses;
    const f64_array *const wide = f64_mul(a, b), *const cosines = f64_cosine_similarity(a, b, axis, 0);
    const f64_array *const p = f64_norm_like(a, wide, axis), *const q = f64_norm_like(b, wide, axis);
    const bool scaled = is_stretched(a, axis, wide->rank) || is_stretched(b, axis, wide->rank);
    bool is_short = scaled, is_slanted = false;
    for (size_t i = 0; i < losses->count; i++) {
        is_short = is_short || p->value[i] < 1e-3 || q->value[i] < 1e-3;
        is_slanted = is_slanted || fabs(cosines->value[i]) < 1 - 1e-3;
    }
    for (size_t i = 0; i < losses->count && (is_short || !is_slanted); i++) losses->value[i] = NAN;
    return losses;
}

/* A partner for vectors of these dimensions along the axis: mostly a new one, as existing values often lie along each other; in other axes it
 * may broadcast. */
static int draw_other_vectors(oracle_draw *draw, const int64_t *dims, int axis, weft_dtype dtype) {
    int64_t like[WEFT_MAX_RANK + 1];
    const int rank = f64_list_length(dims);
    for (int i = 0; i < rank; i++) like[i] = i != axis && draw_chance(draw, 20) ? 1 : dims[i];
    like[rank] = WEFT_END;
    if (draw_chance(draw, 25)) return draw_shaped(draw, dtype, like, -40, 40);
    return draw_source(draw, &(draw_source_options){.dtype = dtype, .dims = like, .low = -3, .high = 3});
}

/* An axis of several elements, if there is one: along one element, gradients are 0. */
static int draw_long_axis(oracle_draw *draw, int value) {
    int axis = draw_axis(draw, value);
    for (int tries = 0; tries < 8 && draw_dim(draw, value, axis) == 1; tries++) axis = draw_axis(draw, value);
    return axis;
}

/* Norms that epsilon bounds have a gradient as if they were not bounded: they are of whole numbers here, which have none. */
ORACLE_DRAW(cosine_similarity) {
    const bool whole = draw_chance(draw, 15);
    const weft_dtype dtype = whole ? WEFT_I32 : draw_format(draw);
    const int a = draw_value_within(draw, whole ? DRAW_I32 : DRAW_FLOAT, 1, 5, -40, 40);
    if (a < 0) return false;
    int64_t dims[WEFT_MAX_RANK + 1];
    const int rank = draw_rank(draw, a), axis = draw_long_axis(draw, a), from_end = axis - rank;
    draw_dims(draw, a, dims);
    const int b = draw_chance(draw, 80) ? draw_other_vectors(draw, dims, axis, dtype)
                                        : draw_partner(draw, a, dtype, -40, 40);
    if (b < 0 || (a == b && draw_chance(draw, 85))) return false;
    const int all = draw_rank(draw, b) > rank ? draw_rank(draw, b) : rank;
    const bool swapped = draw_chance(draw, 50);
    call->inputs[0] = swapped ? b : a;
    call->inputs[1] = swapped ? a : b;
    call->integers[0] = draw_chance(draw, 50) ? from_end : all + from_end;
    call->integers[1] = whole;
    call->numbers[0] = draw_exact(whole ? draw_between(draw, 0, 40) : draw_chance(draw, 30) ? 0 : 1e-8);
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
    return call->integers[1] ? y : unless_flat(y, in[0], in[1], axis);
}
ORACLE_OP(
    cosine_similarity, "weft_cosine_similarity(weft_cast($0, WEFT_F32), weft_cast($1, WEFT_F32), $i0, $n0)");

ORACLE_DRAW(cosine_embedding) {
    int64_t dims[WEFT_MAX_RANK + 1];
    if (!draw_floats(draw, call, 1, 1, 40, dims)) return false;
    const int last = f64_list_length(dims) - 1;
    if (dims[last] == 1 && draw_chance(draw, 80)) return false;
    call->inputs[1] =
        draw_chance(draw, 75)
            ? draw_source(draw,
                  &(draw_source_options){.dtype = draw_format(draw), .dims = dims, .low = -3, .high = 3})
            : draw_shaped(draw, draw_format(draw), dims, -40, 40);
    dims[last] = WEFT_END;
    if (call->inputs[1] < 0 || draw_is_dull(draw, call)) return false;
    call->inputs[2] = draw_shaped(draw, WEFT_I32, dims, -1, 1);
    call->numbers[0] = draw_margin(draw, -1, 1);
    return call->inputs[2] >= 0 && draw_loss_options(draw, call, dims);
}
ORACLE_LOSS(cosine_embedding, "$0, $1, weft_cast($2, WEFT_F32), $n0",
    weft_cosine_embedding_loss(in[0], in[1], weft_cast(in[2], WEFT_F32), (float)call->numbers[0], options),
    unless_flat(f64_cosine_embedding(in[0], in[1], in[2], call->numbers[0]), in[0], in[1], -1));

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
