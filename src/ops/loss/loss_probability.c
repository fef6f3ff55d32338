/* Losses of probabilities: binary cross-entropy and the Kullback-Leibler divergence. The forms of the former are composites, because
 * their gradients in closed form neither overflow nor lose digits. */
#include "ops/loss/loss.h"
#include "ops/prediction_form.h"
#include <math.h>

/* ---- bce of probabilities p ---- */

typedef struct logs {
    weft_tensor *p, *other; /* log p and log(1 - p), at least -100 */
} logs;

static logs logs_of(weft_tensor *p) {
    weft_tensor *least = weft_number(p, -100);
    return (logs){weft_maximum(weft_log(p), least), weft_maximum(weft_log1p(weft_neg(p)), least)};
}

static weft_tensor *bce_lower(weft_tensor *y, bool inference) {
    (void)inference;
    weft_tensor *t = y->inputs[1];
    const logs l = logs_of(y->inputs[0]);
    return weft_sub(weft_mul(weft_sub(t, weft_number(t, 1)), l.other), weft_mul(t, l.p));
}

static void bce_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    weft_tensor *p = y->inputs[0], *t = y->inputs[1];
    const logs l = logs_of(p);
    weft_tensor *spread = weft_mul(p, weft_sub(weft_number(p, 1), p));
    spread = weft_maximum(spread, weft_number(p, 1e-12)); /* as PyTorch bounds it */
    gradients[0] = weft_mul(g, weft_div(weft_sub(p, t), spread));
    gradients[1] = weft_mul(g, weft_sub(l.other, l.p));
}

const wi_op wi_op_bce = {.name = "bce", .kind = WI_COMPOSITE, .lower = bce_lower};

static weft_tensor *build_bce_loss(
    weft_tensor *probabilities, weft_tensor *targets, const weft_loss_options *options) {
    weft_tensor *inputs[] = {probabilities, targets};
    weft_graph *graph = wi_loss_begin("bce", inputs, 2, options);
    if (!graph || !wi_loss_match("bce", inputs, 2)) return NULL;
    weft_tensor *losses = wi_node(graph, &wi_op_bce, inputs, 2, inputs[0]->dtype, &inputs[0]->shape, NULL);
    return wi_loss_finish("bce", losses, -1, options);
}

weft_tensor *weft_bce_loss(
    weft_tensor *probabilities, weft_tensor *targets, const weft_loss_options *options) {
    return WI_CALL(probabilities, "weft_bce_loss", build_bce_loss(probabilities, targets, options));
}

weft_tensor *weft_bce(weft_tensor *probabilities, weft_tensor *targets) {
    return WI_CALL(probabilities, "weft_bce", weft_bce_loss(probabilities, targets, NULL));
}

/* ---- bce of logits x ----
 * (1 - t)·softplus(x) + w·t·softplus(-x), where w is the positive weight: PyTorch's formula in an order in which no terms cancel. The
 * inputs are x, t, and w if it is given. */

static weft_tensor *times_weight(weft_tensor *y, weft_tensor *x) {
    return y->input_count > 2 ? weft_mul(y->inputs[2], x) : x;
}

static weft_tensor *bce_with_logits_lower(weft_tensor *y, bool inference) {
    (void)inference;
    weft_tensor *t = y->inputs[1];
    const wi_softplus plus = wi_loss_softplus(y->inputs[0]);
    return weft_add(
        weft_mul(weft_sub(weft_number(t, 1), t), plus.of_x), weft_mul(times_weight(y, t), plus.of_minus_x));
}

static void bce_with_logits_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    weft_tensor *x = y->inputs[0], *t = y->inputs[1];
    const wi_sigmoids slope = wi_loss_sigmoids(x);
    gradients[0] = weft_mul(g, weft_sub(weft_mul(weft_sub(weft_number(t, 1), t), slope.of_x),
                                   weft_mul(times_weight(y, t), slope.of_minus_x)));
    const wi_softplus plus = wi_loss_softplus(x);
    if (y->input_count == 2) {
        gradients[1] = weft_neg(weft_mul(g, x));
    } else {
        gradients[1] = weft_mul(g, weft_sub(times_weight(y, plus.of_minus_x), plus.of_x));
        gradients[2] = weft_mul(g, weft_mul(t, plus.of_minus_x));
    }
}

const wi_op wi_op_bce_with_logits = {
    .name = "bce_with_logits", .kind = WI_COMPOSITE, .lower = bce_with_logits_lower};

static weft_tensor *build_bce_with_logits_loss(weft_tensor *logits, weft_tensor *targets,
    weft_tensor *positive_weight, const weft_loss_options *options) {
    weft_tensor *inputs[] = {logits, targets, positive_weight};
    const int count = positive_weight ? 3 : 2;
    wi_shape wide;
    weft_graph *graph = wi_loss_begin("bce_with_logits", inputs, count, options);
    if (!graph || !wi_loss_match("bce_with_logits", inputs, 2) ||
        !wi_loss_broadcasts("bce_with_logits", inputs, count, &wide) ||
        !wi_takes_logits("bce_with_logits", inputs[0]))
        return NULL;
    logits = inputs[0], positive_weight = inputs[2];
    char text_a[WI_SHAPE_TEXT], text_b[WI_SHAPE_TEXT];
    if (!wi_shape_equal(&wide, &logits->shape))
        return wi_graph_fail(graph, WEFT_ERROR_SHAPE,
            "bce_with_logits: positive weight %s does not broadcast to the logits' shape %s",
            wi_shape_print(positive_weight->graph, &positive_weight->shape, text_a),
            wi_shape_print(logits->graph, &logits->shape, text_b));
    weft_tensor *losses =
        wi_node(graph, &wi_op_bce_with_logits, inputs, count, logits->dtype, &logits->shape, NULL);
    return wi_loss_finish("bce_with_logits", losses, -1, options);
}

weft_tensor *weft_bce_with_logits_loss(weft_tensor *logits, weft_tensor *targets,
    weft_tensor *positive_weight, const weft_loss_options *options) {
    return WI_CALL(logits, "weft_bce_with_logits_loss",
        build_bce_with_logits_loss(logits, targets, positive_weight, options));
}

weft_tensor *weft_bce_with_logits(weft_tensor *logits, weft_tensor *targets) {
    return WI_CALL(logits, "weft_bce_with_logits", weft_bce_with_logits_loss(logits, targets, NULL, NULL));
}

/* ---- kullback-leibler ---- */

static weft_tensor *build_kl_div_loss(
    weft_tensor *log_probabilities, weft_tensor *targets, bool log_target, const weft_loss_options *options) {
    weft_tensor *inputs[] = {log_probabilities, targets};
    weft_graph *graph = wi_loss_begin("kl_div", inputs, 2, options);
    if (!graph || !wi_loss_match("kl_div", inputs, 2) || !wi_takes_log_probabilities("kl_div", inputs[0]) ||
        (log_target && !wi_takes_log_probabilities("kl_div", inputs[1])))
        return NULL;
    log_probabilities = inputs[0], targets = inputs[1];
    weft_tensor *t = log_target ? weft_exp(targets) : targets, *log_t = targets;
    if (!log_target) {
        weft_tensor *none = weft_equal(t, weft_number(t, 0));
        log_t = weft_log(weft_where(none, weft_number(t, 1), t));
    }
    return wi_loss_finish("kl_div", weft_mul(t, weft_sub(log_t, log_probabilities)), -1, options);
}

weft_tensor *weft_kl_div_loss(
    weft_tensor *log_probabilities, weft_tensor *targets, bool log_target, const weft_loss_options *options) {
    return WI_CALL(log_probabilities, "weft_kl_div_loss",
        build_kl_div_loss(log_probabilities, targets, log_target, options));
}

weft_tensor *weft_kl_div(weft_tensor *log_probabilities, weft_tensor *targets) {
    return WI_CALL(
        log_probabilities, "weft_kl_div", weft_kl_div_loss(log_probabilities, targets, false, NULL));
}

const wi_op_rules wi_loss_probability_rules[] = {{.op = &wi_op_bce, .backward = bce_backward},
    {.op = &wi_op_bce_with_logits, .backward = bce_with_logits_backward}, {0}};
