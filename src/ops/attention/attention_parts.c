/* Recognises attention by parts:
 *
 *     matmul(p, v),  p = softmax(s) along keys, or its weft_dropout,  s = matmul(q, kT) with scales and masks
 *
 * Scales are multiplications or divisions of q, kT or s by constants, before any mask. A mask is a tensor that is added to s, or a bool
 * tensor where s is replaced by -inf. Other replacements, such as by -1e9, are not taken: they give a query whose keys are all masked
 * the mean of all values, and gradients that the op does not have. */
#include "base/integers.h"
#include "ops/attention/attention.h"
#include "ops/parts.h"
#include <math.h>

typedef struct parts {
    weft_tensor *x[4]; /* q, k, v, mask or NULL */
    wi_attention_attributes attributes;
    wi_recognised *found;
} parts;

/* The factor of a multiplication or division by a constant; *x is the other input. 0: it is none. */
static double factor_of(const weft_tensor *y, weft_tensor **x) {
    double number;
    if (y->op != &wi_op_mul && y->op != &wi_op_div) return 0;
    const bool second = wi_parts_number(y->inputs[1], &number);
    if (!second && (y->op == &wi_op_div || !wi_parts_number(y->inputs[0], &number))) return 0;
    *x = y->inputs[!second];
    const double factor = y->op == &wi_op_div ? 1 / number : number;
    return wi_shape_equal(&(*x)->shape, &y->shape) && factor > 0 && isfinite(factor) ? factor : 0;
}

/* x without the constants that multiply it, which become factors of the scale. */
static weft_tensor *without_factors(parts *p, weft_tensor *x) {
    weft_tensor *inner = NULL;
    for (double factor; (factor = factor_of(x, &inner)) != 0 && wi_parts_note(p->found, x); x = inner)
        p->attributes.scale *= factor;
    return x;
}

/* Is s a product, with or without scales and masks? */
static bool is_scores(weft_tensor *s, int depth) {
    weft_tensor *inner = NULL;
    if (s->op == &wi_op_matmul) return true;
    if (depth == 0 || s->op->kind != WI_MAP) return false;
    if (factor_of(s, &inner) != 0) return is_scores(inner, depth - 1);
    if (s->op == &wi_op_add) return is_scores(s->inputs[0], depth - 1) != is_scores(s->inputs[1], depth - 1);
    return s->op == &wi_op_where && is_scores(s->inputs[1], depth - 1) != is_scores(s->inputs[2], depth - 1);
}

/* Combines two masks, so that a query sees only the keys that both allow. Bool masks are true for allowed keys; masks of numbers are
 * added. */
static weft_tensor *both_masks(weft_tensor *a, weft_tensor *b) {
    if (!a || !b) return a ? a : b;
    if (a->dtype == WEFT_BOOL && b->dtype == WEFT_BOOL) return weft_logical_and(a, b);
    if (a->dtype == WEFT_BOOL) return weft_where(a, b, weft_number(b, -(double)INFINITY));
    return b->dtype == WEFT_BOOL ? both_masks(b, a) : weft_add(a, b);
}

/* If s is masked scores, combines the mask with those found before, and returns the scores without it. NULL: s is not masked. */
static weft_tensor *without_mask(parts *p, weft_tensor *s) {
    enum { DEPTH = 6 };
    const bool adds = s->op == &wi_op_add;
    if (!adds && s->op != &wi_op_where) return NULL;
    const int first = adds ? 0 : 1, at = is_scores(s->inputs[first], DEPTH) ? first : first + 1;
    weft_tensor *const scores = s->inputs[at], *const other = s->inputs[at == first ? first + 1 : first];
    weft_tensor *mask = adds ? other : s->inputs[0];
    double number = 0;
    if (!is_scores(s, DEPTH) || !wi_shape_equal(&scores->shape, &s->shape) || !wi_parts_note(p->found, s))
        return NULL;
    if (adds ? mask->dtype != WEFT_F32 : !wi_parts_number(other, &number) || number != -(double)INFINITY)
        return NULL;
    if (!adds && at != first) mask = weft_logical_not(mask);
    p->x[WI_ATTENTION_MASK] = both_masks(p->x[WI_ATTENTION_MASK], mask);
    for (int i = 0; adds && i < WI_COMPOSED_LEAVES; i++) { /* its gradient would need the scores again */
        if (p->found->constants[i]) continue;
        p->found->constants[i] = mask;
        break;
    }
    return p->x[WI_ATTENTION_MASK] ? scores : NULL;
}

/* Finds q and k in the scores: removes the masks first, then the scales. */
static bool find_scores(parts *p, weft_tensor *s) {
    for (weft_tensor *inner; (inner = without_mask(p, s)) != NULL; s = inner) continue;
    s = without_factors(p, s);
    if (s->op != &wi_op_matmul || !wi_parts_note(p->found, s)) return false;
    weft_tensor *const transposed = without_factors(p, s->inputs[1]);
    p->x[WI_ATTENTION_QUERY] = without_factors(p, s->inputs[0]);
    p->x[WI_ATTENTION_KEY] = weft_transpose(transposed);
    p->found->leaves[WI_ATTENTION_QUERY] = p->x[WI_ATTENTION_QUERY];
    p->found->leaves[WI_ATTENTION_KEY] = transposed;
    return true;
}

/* Finds the softmax behind p, and the dropout between the two. */
static weft_tensor *softmax_of(parts *p, weft_tensor *weights) {
    if (weights->op == &wi_op_dropout) {
        const wi_dropout_attributes *const a = &weights->attributes->dropout;
        if (a->axes != 0 || a->in_memory || !wi_parts_note(p->found, weights)) return NULL;
        p->attributes.dropout = (float)a->probability;
        p->attributes.stream = a->stream;
        weights = weights->inputs[0];
    }
    const bool is_softmax =
        weights->op == &wi_op_softmax && weights->attributes->along.axis == weights->shape.rank - 1;
    return is_softmax && wi_parts_note(p->found, weights) ? weights->inputs[0] : NULL;
}

/* The leading dimensions of the result. False: the op does not support the sizes. */
static bool find_lead(const parts *p, const weft_tensor *y, wi_shape *lead) {
    *lead = y->shape;
    lead->rank -= 2;
    for (int i = 0; i < lead->rank; i++)
        if (wi_axis_is_symbolic(y, i)) return false;
    wi_shape weights = y->inputs[0]->shape;
    weights.rank -= 2;
    /* The random numbers of dropout depend on the index in the weights. */
    if (p->attributes.dropout > 0 && !wi_shape_equal(&weights, lead)) return false;
    return wi_attention_fits(p->x, lead);
}

bool wi_attention_recognise(weft_tensor *y, wi_recognised *found) {
    parts p = {.attributes = {.scale = 1, .heads_inside = true}, .found = found};
    weft_tensor *const scores = y->dtype == WEFT_F32 ? softmax_of(&p, y->inputs[0]) : NULL;
    wi_shape lead;
    if (!scores || scores->dtype != WEFT_F32 || !find_scores(&p, scores)) return false;
    p.x[WI_ATTENTION_VALUE] = found->leaves[WI_ATTENTION_VALUE] = y->inputs[1];
    for (int i = WI_ATTENTION_QUERY; i <= WI_ATTENTION_VALUE; i++)
        if (!p.x[i] || p.x[i]->dtype != WEFT_F32) return false;
    if (!isnormal(p.attributes.scale) || !find_lead(&p, y, &lead)) return false;
    p.attributes.nan_if_unseen = p.x[WI_ATTENTION_MASK] != NULL;
    found->node = wi_attention_over(p.x, &lead, &p.attributes);
    return found->node != NULL;
}
