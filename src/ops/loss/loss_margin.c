/* Losses of scores against targets of 1 and -1. */
#include "ops/loss/loss.h"

static bool begin(
    const char *op, weft_tensor **inputs, int count, float margin, const weft_loss_options *options) {
    weft_graph *graph = wi_loss_begin(op, inputs, count, options);
    return graph && wi_loss_match(op, inputs, count) && wi_loss_finite(graph, op, "margin", margin);
}

/* ---- hinge ---- */

static weft_tensor *build_hinge_loss(
    weft_tensor *scores, weft_tensor *targets, const weft_loss_options *options) {
    weft_tensor *inputs[] = {scores, targets};
    if (!begin("hinge", inputs, 2, 1, options)) return NULL;
    scores = inputs[0], targets = inputs[1];
    weft_tensor *rest = weft_sub(weft_number(scores, 1), weft_mul(targets, scores));
    return wi_loss_finish("hinge", wi_loss_clamp_zero(rest), -1, options);
}

weft_tensor *weft_hinge_loss(weft_tensor *scores, weft_tensor *targets, const weft_loss_options *options) {
    return WI_CALL(scores, "weft_hinge_loss", build_hinge_loss(scores, targets, options));
}

weft_tensor *weft_hinge(weft_tensor *scores, weft_tensor *targets) {
    return WI_CALL(scores, "weft_hinge", weft_hinge_loss(scores, targets, NULL));
}

/* ---- soft margin: softplus(-t·x), a composite because of its gradient ---- */

static weft_tensor *against(const weft_tensor *y) {
    return weft_neg(weft_mul(y->inputs[1], y->inputs[0]));
}

static weft_tensor *soft_margin_lower(weft_tensor *y, bool inference) {
    (void)inference;
    return wi_loss_softplus(against(y)).of_x;
}

static void soft_margin_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    weft_tensor *slope = weft_neg(weft_mul(g, wi_loss_sigmoids(against(y)).of_x));
    gradients[0] = weft_mul(slope, y->inputs[1]);
    gradients[1] = weft_mul(slope, y->inputs[0]);
}

const wi_op wi_op_soft_margin = {.name = "soft_margin", .kind = WI_COMPOSITE, .lower = soft_margin_lower};

static weft_tensor *build_soft_margin_loss(
    weft_tensor *scores, weft_tensor *targets, const weft_loss_options *options) {
    weft_tensor *inputs[] = {scores, targets};
    if (!begin("soft_margin", inputs, 2, 0, options)) return NULL;
    weft_tensor *losses =
        wi_node(inputs[0]->graph, &wi_op_soft_margin, inputs, 2, inputs[0]->dtype, &inputs[0]->shape, NULL);
    return wi_loss_finish("soft_margin", losses, -1, options);
}

weft_tensor *weft_soft_margin_loss(
    weft_tensor *scores, weft_tensor *targets, const weft_loss_options *options) {
    return WI_CALL(scores, "weft_soft_margin_loss", build_soft_margin_loss(scores, targets, options));
}

weft_tensor *weft_soft_margin(weft_tensor *scores, weft_tensor *targets) {
    return WI_CALL(scores, "weft_soft_margin", weft_soft_margin_loss(scores, targets, NULL));
}

/* ---- hinge embedding, margin ranking ---- */

static weft_tensor *build_hinge_embedding_loss(
    weft_tensor *distances, weft_tensor *targets, float margin, const weft_loss_options *options) {
    weft_tensor *inputs[] = {distances, targets};
    if (!begin("hinge_embedding", inputs, 2, margin, options)) return NULL;
    distances = inputs[0], targets = inputs[1];
    weft_tensor *zero = weft_number(distances, 0);
    weft_tensor *far = wi_loss_clamp_zero(weft_sub(weft_number(distances, margin), distances));
    weft_tensor *unlike = weft_where(weft_equal(targets, weft_number(targets, 1)), zero, far);
    weft_tensor *like = weft_where(weft_equal(targets, weft_number(targets, -1)), zero, distances);
    return wi_loss_finish("hinge_embedding", weft_add(unlike, like), -1, options);
}

weft_tensor *weft_hinge_embedding_loss(
    weft_tensor *distances, weft_tensor *targets, float margin, const weft_loss_options *options) {
    return WI_CALL(distances, "weft_hinge_embedding_loss",
        build_hinge_embedding_loss(distances, targets, margin, options));
}

weft_tensor *weft_hinge_embedding(weft_tensor *distances, weft_tensor *targets, float margin) {
    return WI_CALL(
        distances, "weft_hinge_embedding", weft_hinge_embedding_loss(distances, targets, margin, NULL));
}

static weft_tensor *build_margin_ranking_loss(
    weft_tensor *a, weft_tensor *b, weft_tensor *targets, float margin, const weft_loss_options *options) {
    weft_tensor *inputs[] = {a, b, targets};
    if (!begin("margin_ranking", inputs, 3, margin, options)) return NULL;
    a = inputs[0], b = inputs[1], targets = inputs[2];
    weft_tensor *rest = weft_sub(weft_number(a, margin), weft_mul(targets, weft_sub(a, b)));
    return wi_loss_finish("margin_ranking", wi_loss_clamp_zero(rest), -1, options);
}

weft_tensor *weft_margin_ranking_loss(
    weft_tensor *a, weft_tensor *b, weft_tensor *targets, float margin, const weft_loss_options *options) {
    return WI_CALL(a, "weft_margin_ranking_loss", build_margin_ranking_loss(a, b, targets, margin, options));
}

weft_tensor *weft_margin_ranking(weft_tensor *a, weft_tensor *b, weft_tensor *targets, float margin) {
    return WI_CALL(a, "weft_margin_ranking", weft_margin_ranking_loss(a, b, targets, margin, NULL));
}

const wi_op_rules wi_loss_margin_rules[] = {
    {.op = &wi_op_soft_margin, .backward = soft_margin_backward}, {0}};
