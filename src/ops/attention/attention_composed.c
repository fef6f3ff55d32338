/* Attention of products and a softmax, with the scores in memory: for inputs that the kernels do not support, and for second
 * gradients. */
#include "graph/sizes.h"
#include "ops/attention/attention.h"
#include <float.h>
#include <math.h>

/* The causal mask, bool (queries, keys). x = {q, k, ...}. */
static weft_tensor *allowed(weft_tensor *const *x) {
    const weft_tensor *q = x[WI_ATTENTION_QUERY], *k = x[WI_ATTENTION_KEY];
    const wi_shape shape = {
        .rank = 2, .dims = {q->shape.dims[q->shape.rank - 2], k->shape.dims[k->shape.rank - 2]}};
    return weft_less_equal(wi_coordinate(q->graph, &shape, 1), wi_coordinate(q->graph, &shape, 0));
}

/* q kT scale + mask; the scores of masked keys are -inf. */
static weft_tensor *scores_of(weft_tensor *const *x, weft_tensor *mask, double scale, bool causal) {
    weft_tensor *q = x[WI_ATTENTION_QUERY], *lowest = weft_number(q, -(double)INFINITY);
    weft_tensor *s = weft_mul(weft_matmul(q, weft_transpose(x[WI_ATTENTION_KEY])), weft_number(q, scale));
    if (mask && mask->dtype == WEFT_F32) s = weft_add(s, mask);
    if (mask && mask->dtype == WEFT_BOOL) s = weft_where(mask, s, lowest);
    return causal ? weft_where(allowed(x), s, lowest) : s;
}

/* The softmax of the scores; 0 for masked keys. -inf is replaced by the lowest number after the row's maximum has been subtracted,
 * because it is then far below all other scores. */
static weft_tensor *weights_of(weft_tensor *s, bool masked) {
    if (!masked || !s) return weft_softmax(s, -1);
    weft_tensor *none = weft_number(s, -(double)INFINITY), *most = wi_max_keep(s, 1u << (s->shape.rank - 1));
    weft_tensor *base = weft_where(weft_equal(most, none), weft_number(s, 0), most);
    weft_tensor *hidden = weft_equal(s, none), *lowest = weft_number(s, -(double)FLT_MAX);
    weft_tensor *near = weft_sub(s, weft_stop_gradient(base));
    return weft_where(hidden, weft_number(s, 0), weft_softmax(weft_where(hidden, lowest, near), -1));
}

weft_tensor *wi_attention_weights(weft_tensor *const *x, weft_tensor *mask, double scale, bool causal) {
    return weights_of(scores_of(x, mask, scale, causal), mask || causal);
}

weft_tensor *wi_attention_composed(
    weft_tensor *const *x, const weft_attention_options *options, double scale) {
    weft_tensor *const mask = x[WI_ATTENTION_MASK];
    weft_tensor *p = wi_attention_weights(x, mask, scale, options->causal);
    return weft_matmul(options->dropout > 0 ? weft_dropout(p, options->dropout) : p, x[WI_ATTENTION_VALUE]);
}

/* ---- the nodes of the kernels ---- */

typedef struct scene {
    weft_tensor *q, *k, *v, *scores, *weights;
    weft_tensor *factors; /* of dropout, from the random numbers that the kernels draw; NULL: no dropout */
    weft_tensor *dropped; /* weights · factors */
    double scale;
} scene;

static scene scene_of(const weft_tensor *node, weft_tensor *mask) {
    const wi_attention_attributes *const a = &node->attributes->attention;
    weft_tensor *const *x = node->inputs;
    scene s = {x[WI_ATTENTION_QUERY], x[WI_ATTENTION_KEY], x[WI_ATTENTION_VALUE], .scale = a->scale};
    s.scores = scores_of(x, mask, a->scale, a->causal);
    s.dropped = s.weights = weights_of(s.scores, mask || a->causal);
    if (!s.weights || !(a->dropout > 0)) return s;
    s.factors = wi_dropout_factors(node->graph, &s.scores->shape, a->dropout, a->stream);
    s.dropped = weft_mul(s.weights, s.factors);
    return s;
}

/* Creates a tensor of the size of the packed result `node`, with x from element `start` on, and zeros elsewhere. */
static weft_tensor *packed(const weft_tensor *node, weft_tensor *x, int64_t start) {
    if (x && node->attributes->attention.heads_inside) x = weft_permute_axes(x, 4, (const int[]){0, 2, 1, 3});
    if (!x) return NULL;
    const int64_t length = wi_attention_length(x->graph, &x->shape);
    return wi_dilate_dims(weft_reshape_shape(x, 1, &length), 0, start, 1, node->shape.dims[0]);
}

weft_tensor *wi_attention_forward_composed(weft_tensor *y, weft_tensor *leaves[WI_COMPOSED_LEAVES]) {
    for (int i = 0; i < y->input_count; i++) leaves[i] = y->inputs[i];
    weft_tensor *const mask = y->input_count > WI_ATTENTION_MASK ? y->inputs[WI_ATTENTION_MASK] : NULL;
    const scene s = scene_of(y, mask);
    if (!s.dropped) return NULL;
    weft_tensor *result = weft_matmul(s.dropped, s.v);
    weft_tensor *lse =
        weft_mul_number(weft_logsumexp_axes(s.scores, (const int64_t[]){3, WEFT_END}, true), WI_LOG2_E);
    if (!result || !lse) return NULL;
    const int64_t behind = wi_attention_length(result->graph, &result->shape),
                  length = wi_attention_length(lse->graph, &lse->shape);
    return weft_add(packed(y, result, 0), /* without corrections, which have no gradient */
        wi_dilate_dims(weft_reshape_shape(lse, 1, &length), 0, behind, 1, y->shape.dims[0]));
}

/* Divides g by the corrections by which it was multiplied, because the weights that a softmax computes need no
 * corrections. */
static weft_tensor *uncorrected(const weft_tensor *y, weft_tensor *g, const weft_tensor *mask) {
    if (!mask || mask->dtype != WEFT_F32) return g;
    return weft_div(g, weft_stop_gradient(wi_attention_lost(y->inputs[WI_ATTENTION_FORWARD], &g->shape)));
}

/* Does not name the packed result of attention_forward as a leaf, because it is a function of the other inputs. */
weft_tensor *wi_attention_gradient_composed(weft_tensor *y, weft_tensor *leaves[WI_COMPOSED_LEAVES]) {
    weft_tensor *const g = y->inputs[WI_ATTENTION_OUTPUT_GRADIENT];
    weft_tensor *const mask =
        y->input_count > WI_ATTENTION_GRADIENT_MASK ? y->inputs[WI_ATTENTION_GRADIENT_MASK] : NULL;
    const scene s = scene_of(y, mask);
    weft_tensor *const named[] = {s.q, s.k, s.v, g, mask};
    for (int i = 0; i < 5; i++) leaves[i] = named[i];
    if (!s.dropped) return NULL;
    weft_tensor *const exact = uncorrected(y, g, mask);
    weft_tensor *dp = weft_matmul(exact, weft_transpose(s.v));
    if (s.factors) dp = weft_mul(dp, s.factors);
    weft_tensor *ds = weft_mul(s.weights, weft_sub(dp, wi_sum_keep(weft_mul(dp, s.weights), 1u << 3)));
    ds = weft_mul_number(ds, s.scale);
    weft_tensor *const parts[] = {weft_matmul(ds, s.k), weft_matmul(weft_transpose(ds), s.q),
        weft_matmul(weft_transpose(s.dropped), exact)};
    weft_tensor *all = NULL;
    int64_t start = 0;
    for (int i = 0; i < 3; i++) {
        if (!parts[i]) return NULL;
        weft_tensor *const part = packed(y, parts[i], start);
        all = all ? weft_add(all, part) : part;
        start = wi_dim_add(parts[i]->graph, start, wi_attention_length(parts[i]->graph, &parts[i]->shape));
    }
    return all;
}
