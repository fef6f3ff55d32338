/* Functions that all losses share (contract in loss.h). */
#include "ops/loss/loss.h"
#include "graph/sizes.h"
#include "ops/loss/loss_terms.h"
#include "ops/reduction/reduce.h"
#include <math.h>

/* ---- checks ---- */

static bool widen(const char *op, weft_tensor **inputs, int count) {
    weft_dtype wide = WEFT_F32;
    for (int i = 0; i < count; i++) {
        if (!wi_dtype_is_float(inputs[i]->dtype)) {
            wi_graph_fail(inputs[i]->graph, WEFT_ERROR_DTYPE,
                "%s: takes %s, but input %d is %s; weft_cast converts", op, wi_dtypes_text(WI_TAKES_FLOATS),
                i, weft_dtype_name(inputs[i]->dtype));
            return false;
        }
        wide = wi_dtype_wider(wide, inputs[i]->dtype);
    }
    for (int i = 0; i < count; i++)
        if (!(inputs[i] = weft_cast(inputs[i], wide))) return false;
    return true;
}

bool wi_loss_reduction_good(weft_graph *graph, const char *op, weft_loss_reduction reduction) {
    if ((int)reduction >= WEFT_LOSS_MEAN && (int)reduction <= WEFT_LOSS_BATCH_MEAN) return true;
    wi_graph_fail(graph, WEFT_ERROR_ARGUMENT, "%s: reduction is %d, which is not a weft_loss_reduction", op,
        (int)reduction);
    return false;
}

weft_graph *wi_loss_begin(const char *op, weft_tensor **inputs, int count, const weft_loss_options *options) {
    weft_graph *graph = wi_inputs_graph(op, inputs, count);
    if (!graph || !widen(op, inputs, count)) return NULL;
    weft_loss_options own;
    if (!WI_GRAPH_OPTIONS(graph, &own, options, op, WEFT_LOSS_OPTIONS_INIT)) return NULL;
    return wi_loss_reduction_good(graph, op, own.reduction) ? graph : NULL;
}

bool wi_loss_broadcasts(const char *op, weft_tensor *const *inputs, int count, wi_shape *shape) {
    *shape = inputs[0]->shape;
    for (int i = 1; i < count; i++) {
        const wi_shape before = *shape;
        if (wi_shape_broadcast(&before, &inputs[i]->shape, shape)) continue;
        char text_a[WI_SHAPE_TEXT], text_b[WI_SHAPE_TEXT];
        wi_graph_fail(inputs[0]->graph, WEFT_ERROR_SHAPE, "%s: shapes %s and %s do not broadcast", op,
            wi_shape_print(inputs[i]->graph, &before, text_a),
            wi_shape_print(inputs[i]->graph, &inputs[i]->shape, text_b));
        return false;
    }
    return true;
}

/* The shape without axes of size 1 behind the first axis. The shape of a single element becomes rank 0. */
static wi_shape squeezed(const wi_shape *shape) {
    wi_shape result = {0};
    for (int i = 0; i < shape->rank; i++)
        if (i == 0 || shape->dims[i] != 1) result.dims[result.rank++] = shape->dims[i];
    if (result.rank == 1 && result.dims[0] == 1) result.rank = 0;
    return result;
}

bool wi_loss_shapes_match(const wi_shape *a, const wi_shape *b) {
    const wi_shape one = squeezed(a), other = squeezed(b);
    return wi_shape_equal(&one, &other);
}

/* Is x a constant or a scalar, which stands for all elements? */
static bool is_number(const weft_tensor *x) {
    while (x->op == &wi_op_cast) x = x->inputs[0];
    return x->shape.rank == 0 && (x->op == &wi_op_constant || x->op == &wi_op_scalar);
}

bool wi_loss_match(const char *op, weft_tensor **inputs, int count) {
    const wi_shape shape = inputs[0]->shape;
    for (int i = 1; i < count; i++) {
        char text_a[WI_SHAPE_TEXT], text_b[WI_SHAPE_TEXT];
        if (wi_shape_equal(&inputs[i]->shape, &shape)) continue;
        if (wi_loss_shapes_match(&inputs[i]->shape, &shape)) {
            inputs[i] = weft_reshape_shape(inputs[i], shape.rank, shape.dims);
        } else if (is_number(inputs[i])) {
            inputs[i] = weft_expand(inputs[i], shape.rank, shape.dims);
        } else {
            wi_graph_fail(inputs[0]->graph, WEFT_ERROR_SHAPE,
                "%s: shapes %s and %s differ, and losses do not broadcast: use weft_reshape if the elements "
                "correspond one to one, or weft_expand to compare one tensor with several",
                op, wi_shape_print(inputs[i]->graph, &shape, text_a),
                wi_shape_print(inputs[i]->graph, &inputs[i]->shape, text_b));
            return false;
        }
        if (!inputs[i]) return false;
    }
    return true;
}

bool wi_loss_number_in(
    weft_graph *graph, const char *op, const char *name, double value, double low, double high) {
    if (!WI_TAKES_NUMBERS(graph, op, {name, value})) return false;
    if (value >= low && value <= high) return true;
    wi_graph_fail(graph, WEFT_ERROR_ARGUMENT, "%s: %s = %g is not in [%g, %g]", op, name, value, low, high);
    return false;
}

bool wi_loss_finite(weft_graph *graph, const char *op, const char *name, double value) {
    if (!WI_TAKES_NUMBERS(graph, op, {name, value})) return false;
    if (isfinite(value)) return true;
    wi_graph_fail(graph, WEFT_ERROR_ARGUMENT, "%s: %s = %g is not finite", op, name, value);
    return false;
}

/* ---- reductions ---- */

weft_tensor *wi_loss_drop_axis(weft_tensor *x, int axis) {
    return axis < 0 ? x : wi_drop_axes(x, 1u << axis);
}

/* In each product, the factor is the first input. The plan therefore computes a total of weights before the losses, so
 * that the losses and their gradient can be one step. */
weft_tensor *wi_loss_reduce(
    weft_tensor *losses, int kept, weft_loss_reduction reduction, weft_tensor *total) {
    if (!losses) return NULL;
    if (reduction == WEFT_LOSS_NONE) return wi_loss_drop_axis(losses, kept);
    const uint32_t all = (1u << losses->shape.rank) - 1;
    weft_tensor *share = NULL;
    if (reduction == WEFT_LOSS_BATCH_MEAN) share = wi_axes_share(losses, losses->dtype, all & 1u);
    if (reduction == WEFT_LOSS_MEAN)
        share = total ? wi_share_of_total(total) : wi_axes_share(losses, losses->dtype, all);
    weft_tensor *sum = wi_sum_keep(losses, all);
    weft_tensor *result = weft_reshape_shape(share ? weft_mul(share, sum) : sum, 0, NULL);
    return total && reduction == WEFT_LOSS_MEAN ? wi_note_mean(result, total) : result;
}

/* Checks that the weights broadcast to the losses without the kept axis, and adds this axis to the weights. */
static weft_tensor *weights_beside(const char *op, weft_tensor *weights, weft_tensor *losses, int kept) {
    weft_tensor *inputs[] = {losses, weights};
    weft_graph *graph = wi_inputs_graph(op, inputs, 2);
    if (!graph) return NULL;
    if (!wi_dtype_is_float(weights->dtype))
        return wi_graph_fail(graph, WEFT_ERROR_DTYPE, "%s: weights are %s, not %s", op,
            weft_dtype_name(weights->dtype), wi_dtypes_text(WI_TAKES_FLOATS));
    wi_shape wide;
    const wi_shape wanted = wi_shape_without(&losses->shape, kept < 0 ? 0 : 1u << kept);
    char text_a[WI_SHAPE_TEXT], text_b[WI_SHAPE_TEXT];
    if (!wi_shape_broadcast(&wanted, &weights->shape, &wide) || !wi_shape_equal(&wide, &wanted))
        return wi_graph_fail(graph, WEFT_ERROR_SHAPE,
            "%s: weights %s do not broadcast to the losses' shape %s", op,
            wi_shape_print(weights->graph, &weights->shape, text_a), wi_shape_print(graph, &wanted, text_b));
    if (kept < 0) return weights;
    wi_shape beside = {.rank = losses->shape.rank};
    for (int i = 0; i < beside.rank; i++) beside.dims[i] = 1;
    for (int i = 1, at = beside.rank; i <= weights->shape.rank; i++) {
        if (--at == kept) at--;
        beside.dims[at] = weights->shape.dims[weights->shape.rank - i];
    }
    return weft_reshape_shape(weights, beside.rank, beside.dims);
}

weft_tensor *wi_loss_finish(const char *op, weft_tensor *losses, int kept, const weft_loss_options *options) {
    weft_loss_options own;
    if (!losses || !WI_GRAPH_OPTIONS(losses->graph, &own, options, op, WEFT_LOSS_OPTIONS_INIT)) return NULL;
    if (own.weights) {
        weft_tensor *weights = weights_beside(op, own.weights, losses, kept);
        losses = weft_mul(losses, weft_cast(weights, losses->dtype));
    }
    return wi_loss_reduce(losses, kept, own.reduction, NULL);
}

weft_tensor *wi_loss_clamp_zero(weft_tensor *x) {
    weft_tensor *zero = weft_number(x, 0);
    return weft_where(weft_less_equal(x, zero), zero, x);
}

/* ---- softplus and sigmoid ---- */

/* Softplus and sigmoid are smooth, and outputs of untrained layers are often 0. If x is 0, all choices below take the
 * branch x >= 0, so that their gradients add up to the gradient of the function. (At 0 the gradient of weft_abs is 0,
 * and the gradient of weft_maximum is one half.) */
static weft_tensor *is_negative(weft_tensor *x) {
    return weft_less(x, weft_number(x, 0));
}

/* exp(-|x|) */
static weft_tensor *exp_minus_abs(weft_tensor *x) {
    return weft_exp(weft_where(is_negative(x), x, weft_neg(x)));
}

wi_softplus wi_loss_softplus(weft_tensor *x) {
    weft_tensor *zero = weft_number(x, 0), *bend = weft_log1p(exp_minus_abs(x));
    return (wi_softplus){.of_x = weft_add(weft_where(is_negative(x), zero, x), bend),
        .of_minus_x = weft_add(weft_where(is_negative(x), weft_neg(x), zero), bend)};
}

/* sigmoid(x) and sigmoid(-x). The latter is not computed as 1 - sigmoid(x), which would lose digits. */
wi_sigmoids wi_loss_sigmoids(weft_tensor *x) {
    weft_tensor *e = exp_minus_abs(x), *one = weft_number(x, 1);
    weft_tensor *large = weft_div(one, weft_add(one, e)), *small = weft_mul(e, large);
    return (wi_sigmoids){.of_x = weft_where(is_negative(x), small, large),
        .of_minus_x = weft_where(is_negative(x), large, small)};
}
