/* Losses of vectors: cosine similarity and embedding, triplets. */
#include "ops/loss/loss.h"
#include <float.h>

/* ---- cosine similarity: the axis keeps size 1 ---- */

static weft_tensor *norm_of(const weft_tensor *y, int input) {
    weft_tensor *x = y->inputs[input];
    const wi_cosine_attributes *const a = &y->attributes->cosine;
    weft_tensor *squares = wi_sum_keep(weft_square(x), 1u << a->axis);
    return weft_sqrt(weft_add(squares, weft_number(x, a->added)));
}

static weft_tensor *bounded(const weft_tensor *y, weft_tensor *norm) {
    const double epsilon = y->attributes->cosine.epsilon;
    return epsilon > 0 ? weft_maximum(norm, weft_number(norm, epsilon)) : norm;
}

static weft_tensor *cosine_lower(weft_tensor *y, bool inference) {
    (void)inference;
    weft_tensor *product =
        wi_sum_keep(weft_mul(y->inputs[0], y->inputs[1]), 1u << y->attributes->cosine.axis);
    return weft_div(weft_div(product, bounded(y, norm_of(y, 0))), bounded(y, norm_of(y, 1)));
}

/* As in PyTorch, the gradient ignores the bound of a norm. The gradient of a norm of 0 is 0. */
static void cosine_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    weft_tensor *across = weft_div(weft_div(g, bounded(y, norm_of(y, 0))), bounded(y, norm_of(y, 1)));
    weft_tensor *product = weft_mul(g, y);
    for (int i = 0; i < 2; i++) {
        weft_tensor *norm = norm_of(y, i), *zero = weft_number(norm, 0);
        weft_tensor *slope = weft_div(weft_div(product, bounded(y, norm)), norm);
        weft_tensor *along = weft_where(weft_equal(norm, zero), zero, slope);
        gradients[i] = weft_sub(weft_mul(across, y->inputs[1 - i]), weft_mul(along, y->inputs[i]));
    }
}

const wi_op wi_op_cosine_similarity = {.name = "cosine_similarity",
    .kind = WI_COMPOSITE,
    .attribute_bytes = sizeof(wi_cosine_attributes),
    .lower = cosine_lower};

static weft_tensor *cosine(weft_tensor *a, weft_tensor *b, int axis, double epsilon, double added) {
    weft_tensor *inputs[] = {a, b};
    wi_shape shape = a->shape;
    shape.dims[axis] = 1;
    const wi_attributes attributes = {.cosine = {.axis = axis, .epsilon = epsilon, .added = added}};
    return wi_node(a->graph, &wi_op_cosine_similarity, inputs, 2, a->dtype, &shape, &attributes);
}

static weft_tensor *build_cosine_similarity(weft_tensor *a, weft_tensor *b, int axis, float epsilon) {
    static const char *const op = "cosine_similarity";
    weft_tensor *inputs[] = {a, b};
    wi_shape shape;
    weft_graph *graph = wi_loss_begin(op, inputs, 2, NULL);
    if (!graph || !wi_loss_broadcasts(op, inputs, 2, &shape) ||
        !wi_loss_number_in(graph, op, "epsilon", epsilon, 0, FLT_MAX))
        return NULL;
    for (int i = 0; i < 2; i++) inputs[i] = weft_expand(inputs[i], shape.rank, shape.dims);
    const int index = inputs[0] && inputs[1] ? wi_axis_index(inputs[0], op, axis) : -1;
    if (index < 0) return NULL;
    return wi_loss_drop_axis(cosine(inputs[0], inputs[1], index, epsilon, 0), index);
}

weft_tensor *weft_cosine_similarity(weft_tensor *a, weft_tensor *b, int axis, float epsilon) {
    return WI_CALL(a, "weft_cosine_similarity", build_cosine_similarity(a, b, axis, epsilon));
}

/* ---- cosine embedding ---- */

/* Reshapes targets (...) to (..., 1). NULL: there are not as many targets as vectors, and the error is recorded. */
static weft_tensor *targets_beside(const char *op, weft_tensor *targets, const weft_tensor *vectors) {
    wi_shape beside = vectors->shape, wanted = vectors->shape;
    char text_a[WI_SHAPE_TEXT], text_b[WI_SHAPE_TEXT];
    wanted.rank--;
    beside.dims[beside.rank - 1] = 1;
    if (!wi_loss_shapes_match(&targets->shape, &wanted))
        return wi_graph_fail(vectors->graph, WEFT_ERROR_SHAPE,
            "%s: the targets are %s, expected %s, one per vector", op,
            wi_shape_print(targets->graph, &targets->shape, text_a),
            wi_shape_print(targets->graph, &wanted, text_b));
    return weft_reshape_shape(targets, beside.rank, beside.dims);
}

static weft_tensor *build_cosine_embedding_loss(
    weft_tensor *a, weft_tensor *b, weft_tensor *targets, float margin, const weft_loss_options *options) {
    static const char *const op = "cosine_embedding";
    weft_tensor *inputs[] = {a, b, targets};
    weft_graph *graph = wi_loss_begin(op, inputs, 3, options);
    if (!graph || !wi_loss_match(op, inputs, 2) || !wi_loss_finite(graph, op, "margin", margin)) return NULL;
    a = inputs[0], b = inputs[1], targets = inputs[2];
    const int axis = wi_axis_index(a, op, -1);
    weft_tensor *t = axis < 0 ? NULL : targets_beside(op, targets, a);
    if (!t) return NULL;
    weft_tensor *alike = cosine(a, b, axis, 0, 1e-12); /* PyTorch's */
    weft_tensor *zero = weft_number(a, 0), *one = weft_number(a, 1);
    weft_tensor *unlike = wi_loss_clamp_zero(weft_sub(alike, weft_number(a, margin)));
    weft_tensor *losses = weft_where(weft_equal(t, weft_number(t, -1)), unlike, zero);
    losses = weft_where(weft_equal(t, one), weft_sub(one, alike), losses);
    return wi_loss_finish(op, losses, axis, options);
}

weft_tensor *weft_cosine_embedding_loss(
    weft_tensor *a, weft_tensor *b, weft_tensor *targets, float margin, const weft_loss_options *options) {
    return WI_CALL(
        a, "weft_cosine_embedding_loss", build_cosine_embedding_loss(a, b, targets, margin, options));
}

weft_tensor *weft_cosine_embedding(weft_tensor *a, weft_tensor *b, weft_tensor *targets, float margin) {
    return WI_CALL(a, "weft_cosine_embedding", weft_cosine_embedding_loss(a, b, targets, margin, NULL));
}

/* ---- triplets ---- */

/* The norm of a difference d along the last axis, which keeps size 1. A composite, so that the gradient of a norm of 0 is 0. */

static weft_tensor *norm_lower(weft_tensor *y, bool inference) {
    (void)inference;
    weft_tensor *d = y->inputs[0];
    const uint32_t last = y->attributes->vector_norm.axes;
    return y->attributes->vector_norm.order == 1 ? wi_sum_keep(weft_abs(d), last)
                                                 : weft_sqrt(wi_sum_keep(weft_square(d), last));
}

static void norm_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    weft_tensor *d = y->inputs[0], *zero = weft_number(d, 0);
    if (y->attributes->vector_norm.order == 1) {
        weft_tensor *up = weft_where(weft_less(zero, d), g, zero);
        gradients[0] = weft_where(weft_less(d, zero), weft_neg(g), up);
    } else {
        gradients[0] = weft_mul(weft_where(weft_equal(y, zero), zero, weft_div(g, y)), d);
    }
}

static const wi_op norm_op = {.name = "norm",
    .kind = WI_COMPOSITE,
    .attribute_bytes = sizeof(wi_vector_norm_attributes),
    .lower = norm_lower};

/* ‖a - b + 1e-6‖; the epsilon is PyTorch's. */
static weft_tensor *distance(weft_tensor *a, weft_tensor *b, int p) {
    weft_tensor *apart = weft_add(weft_sub(a, b), weft_number(a, 1e-6));
    if (!apart) return NULL;
    wi_shape shape = apart->shape;
    shape.dims[shape.rank - 1] = 1;
    const wi_attributes attributes = {.vector_norm = {.axes = 1u << (shape.rank - 1), .order = (float)p}};
    return wi_node(a->graph, &norm_op, &apart, 1, apart->dtype, &shape, &attributes);
}

static weft_tensor *build_triplet_margin_loss(weft_tensor *anchor, weft_tensor *positive,
    weft_tensor *negative, float margin, int p, bool swap, const weft_loss_options *options) {
    static const char *const op = "triplet_margin";
    weft_tensor *inputs[] = {anchor, positive, negative};
    weft_graph *graph = wi_loss_begin(op, inputs, 3, options);
    if (!graph || !wi_loss_match(op, inputs, 3) || !wi_loss_finite(graph, op, "margin", margin)) return NULL;
    if (p != 1 && p != 2)
        return wi_graph_fail(graph, WEFT_ERROR_ARGUMENT, "%s: p = %d is neither 1 nor 2", op, p);
    anchor = inputs[0], positive = inputs[1], negative = inputs[2];
    if (anchor->shape.rank == 0)
        return wi_graph_fail(
            graph, WEFT_ERROR_SHAPE, "%s: the anchor has shape (), expected vectors (..., d)", op);
    weft_tensor *near = distance(anchor, positive, p), *far = distance(anchor, negative, p);
    if (swap) far = weft_minimum(far, distance(positive, negative, p));
    weft_tensor *rest = weft_add(weft_sub(near, far), weft_number(anchor, margin));
    return wi_loss_finish(op, wi_loss_clamp_zero(rest), anchor->shape.rank - 1, options);
}

weft_tensor *weft_triplet_margin_loss(weft_tensor *anchor, weft_tensor *positive, weft_tensor *negative,
    float margin, int p, bool swap, const weft_loss_options *options) {
    return WI_CALL(anchor, "weft_triplet_margin_loss",
        build_triplet_margin_loss(anchor, positive, negative, margin, p, swap, options));
}

weft_tensor *weft_triplet_margin(
    weft_tensor *anchor, weft_tensor *positive, weft_tensor *negative, float margin) {
    return WI_CALL(anchor, "weft_triplet_margin",
        weft_triplet_margin_loss(anchor, positive, negative, margin, 2, false, NULL));
}

const wi_op_rules wi_loss_vector_rules[] = {{.op = &wi_op_cosine_similarity, .backward = cosine_backward},
    {.op = &norm_op, .backward = norm_backward}, {0}};
