/* Losses of vectors: cosine similarity and embedding, triplets. */
#include "ops/loss.h"
#include <float.h>

static weft_tensor *dot(weft_tensor *a, weft_tensor *b, int axis) {
    return wi_sum_keep(weft_mul(a, b), 1u << axis);
}

/* ---- cosine similarity: attributes axis and number (epsilon); the axis stays with size 1 ---- */

static weft_tensor *bounded_norm(const weft_tensor *y, int input) {
    weft_tensor *x = y->inputs[input];
    weft_tensor *squares = wi_sum_keep(weft_square(x), 1u << y->attributes.axis);
    return weft_maximum(weft_sqrt(squares), weft_number(x, y->attributes.number));
}

static weft_tensor *cosine_lower(weft_tensor *y, bool inference) {
    (void)inference;
    weft_tensor *product = dot(y->inputs[0], y->inputs[1], y->attributes.axis);
    return weft_div(weft_div(product, bounded_norm(y, 0)), bounded_norm(y, 1));
}

/* As PyTorch's, it treats a bounded norm like any other. */
static void cosine_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    weft_tensor *across = weft_div(weft_div(g, bounded_norm(y, 0)), bounded_norm(y, 1));
    weft_tensor *turn = weft_mul(g, y);
    for (int i = 0; i < 2; i++) {
        weft_tensor *norm = bounded_norm(y, i), *along = weft_div(weft_div(turn, norm), norm);
        gradients[i] = weft_sub(weft_mul(across, y->inputs[1 - i]), weft_mul(along, y->inputs[i]));
    }
}

const wi_op wi_op_cosine_similarity = {
    .name = "cosine_similarity", .kind = WI_COMPOSITE, .lower = cosine_lower, .backward = cosine_backward};

weft_tensor *weft_cosine_similarity(weft_tensor *a, weft_tensor *b, int axis, float epsilon) {
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
    const wi_attributes attributes = {.axis = index, .number = epsilon};
    shape.dims[index] = 1;
    weft_tensor *y = wi_node(graph, &wi_op_cosine_similarity, inputs, 2, WEFT_F32, &shape, &attributes);
    return wi_loss_drop_axis(y, index);
}

/* ---- cosine embedding ---- */

static weft_tensor *padded_norm(weft_tensor *x, int axis) {
    return weft_sqrt(weft_add(wi_sum_keep(weft_square(x), 1u << axis), weft_number(x, 1e-12)));
}

/* Targets (...) as (..., 1); NULL with the error when they are not as many as the vectors. */
static weft_tensor *targets_beside(const char *op, weft_tensor *targets, const weft_tensor *vectors) {
    wi_shape beside = vectors->shape, wanted = vectors->shape;
    char text_a[WI_SHAPE_TEXT], text_b[WI_SHAPE_TEXT];
    wanted.rank--;
    beside.dims[beside.rank - 1] = 1;
    if (!wi_shape_equal(&targets->shape, &wanted))
        return wi_graph_fail(vectors->graph, WEFT_ERROR_SHAPE, "%s: targets %s are not %s, one a vector", op,
            wi_shape_print(&targets->shape, text_a), wi_shape_print(&wanted, text_b));
    return weft_reshape_shape(targets, beside.rank, beside.dims);
}

weft_tensor *weft_cosine_embedding_loss(
    weft_tensor *a, weft_tensor *b, weft_tensor *targets, float margin, const weft_loss_options *options) {
    static const char *const op = "cosine_embedding";
    weft_tensor *const inputs[] = {a, b, targets};
    weft_graph *graph = wi_loss_begin(op, inputs, 3, options);
    if (!graph || !wi_loss_same_shape(op, a, b) || !wi_loss_finite(graph, op, "margin", margin)) return NULL;
    const int axis = wi_axis_index(a, op, -1);
    weft_tensor *t = axis < 0 ? NULL : targets_beside(op, targets, a);
    if (!t) return NULL;
    weft_tensor *cosine = weft_div(weft_div(dot(a, b, axis), padded_norm(a, axis)), padded_norm(b, axis));
    weft_tensor *zero = weft_number(cosine, 0), *one = weft_number(cosine, 1);
    weft_tensor *unlike = wi_loss_clamp_zero(weft_sub(cosine, weft_number(cosine, margin)));
    weft_tensor *losses = weft_where(weft_equal(t, weft_number(t, -1)), unlike, zero);
    losses = weft_where(weft_equal(t, one), weft_sub(one, cosine), losses);
    return wi_loss_finish(op, losses, axis, options);
}

weft_tensor *weft_cosine_embedding(weft_tensor *a, weft_tensor *b, weft_tensor *targets, float margin) {
    return weft_cosine_embedding_loss(a, b, targets, margin, NULL);
}

/* ---- triplets ---- */

/* ‖a - b + 1e-6‖ along the last axis, which stays; the epsilon is PyTorch's. Gradient 0 where it is 0. */
static weft_tensor *distance(weft_tensor *a, weft_tensor *b, int p) {
    weft_tensor *apart = weft_add(weft_sub(a, b), weft_number(a, 1e-6));
    if (!apart) return NULL;
    const uint32_t last = 1u << (apart->shape.rank - 1);
    if (p == 1) return wi_sum_keep(wi_loss_abs(apart), last);
    weft_tensor *squares = wi_sum_keep(weft_square(apart), last), *zero = weft_number(apart, 0);
    weft_tensor *none = weft_equal(squares, zero);
    return weft_where(none, zero, weft_sqrt(weft_where(none, weft_number(apart, 1), squares)));
}

weft_tensor *weft_triplet_margin_loss(weft_tensor *anchor, weft_tensor *positive, weft_tensor *negative,
    float margin, int p, bool swap, const weft_loss_options *options) {
    static const char *const op = "triplet_margin";
    weft_tensor *const inputs[] = {anchor, positive, negative};
    wi_shape shape;
    weft_graph *graph = wi_loss_begin(op, inputs, 3, options);
    if (!graph || !wi_loss_broadcasts(op, inputs, 3, &shape) || !wi_loss_finite(graph, op, "margin", margin))
        return NULL;
    if (p != 1 && p != 2)
        return wi_graph_fail(graph, WEFT_ERROR_ARGUMENT, "%s: p = %d is neither 1 nor 2", op, p);
    if (shape.rank == 0) return wi_graph_fail(graph, WEFT_ERROR_SHAPE, "%s: () is no vector", op);
    weft_tensor *near = distance(anchor, positive, p), *far = distance(anchor, negative, p);
    if (swap) far = wi_loss_minimum(far, distance(positive, negative, p));
    weft_tensor *rest = weft_add(weft_sub(near, far), weft_number(anchor, margin));
    return wi_loss_finish(op, wi_loss_clamp_zero(rest), shape.rank - 1, options);
}

weft_tensor *weft_triplet_margin(
    weft_tensor *anchor, weft_tensor *positive, weft_tensor *negative, float margin) {
    return weft_triplet_margin_loss(anchor, positive, negative, margin, 2, false, NULL);
}
