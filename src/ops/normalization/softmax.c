/* Softmax and log softmax: composites of maps and reductions over one axis, which are fused into one kernel. The maximum is subtracted
 * first, so that no exponential overflows. */
#include "ops/normalization/softmax.h"
#include <math.h>

/* Exponentials below e^LEAST, which would be subnormal, are 0, as in attention (attention_exp2.clh): products of subnormal numbers take
 * processors about a hundred times as long as others, and beside a sum of at least 1 they change nothing. */
#define LEAST (-87.0)

wi_shifted wi_shift(weft_tensor *x, int axis) {
    wi_shifted s;
    s.x = weft_sub(x, wi_max_keep(x, 1u << axis));
    weft_tensor *const least = weft_number(s.x, LEAST), *const none = weft_number(s.x, -(double)INFINITY);
    s.exp = weft_exp(x && x->dtype == WEFT_F32 ? weft_where(weft_less(s.x, least), none, s.x) : s.x);
    s.sum = wi_sum_keep(s.exp, 1u << axis);
    return s;
}

static weft_tensor *along_axis(const wi_op *op, weft_tensor *x, int64_t axis) {
    weft_graph *graph = wi_inputs_graph(op->name, &x, 1);
    if (!graph) return NULL;
    if (!wi_takes_dtype(x, op->name, WI_TAKES_FLOATS)) return NULL;
    if (wi_dtype_rounds(x->dtype)) return weft_cast(along_axis(op, wi_wide(x), axis), x->dtype);
    const int index = wi_axis_index(x, op->name, axis);
    if (index < 0) return NULL;
    const wi_attributes attributes = {.along = {.axis = index}};
    return wi_node(graph, op, &x, 1, x->dtype, &x->shape, &attributes);
}

/* ---- softmax ---- */

static weft_tensor *softmax_lower(weft_tensor *y, bool inference) {
    (void)inference;
    const wi_shifted s = wi_shift(y->inputs[0], y->attributes->along.axis);
    /* One division for each row. The error is up to 1.5 units in the last place, instead of 0.5 with a division for each element. */
    return weft_mul(s.exp, weft_reciprocal(s.sum));
}

static void softmax_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    weft_tensor *inner = wi_sum_keep(weft_mul(g, y), 1u << y->attributes->along.axis);
    gradients[0] = weft_mul(y, weft_sub(g, inner));
}

const wi_op wi_op_softmax = {.name = "softmax",
    .kind = WI_COMPOSITE,
    .attribute_bytes = sizeof(wi_along_attributes),
    .lower = softmax_lower};

weft_tensor *weft_softmax(weft_tensor *x, int axis) {
    return along_axis(&wi_op_softmax, x, axis);
}

/* ---- log softmax ---- */

static weft_tensor *log_softmax_lower(weft_tensor *y, bool inference) {
    (void)inference;
    const wi_shifted s = wi_shift(y->inputs[0], y->attributes->along.axis);
    return weft_sub(s.x, weft_log(s.sum));
}

static void log_softmax_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    weft_tensor *total = wi_sum_keep(g, 1u << y->attributes->along.axis);
    gradients[0] = weft_sub(g, weft_mul(weft_exp(y), total));
}

const wi_op wi_op_log_softmax = {.name = "log_softmax",
    .kind = WI_COMPOSITE,
    .attribute_bytes = sizeof(wi_along_attributes),
    .lower = log_softmax_lower};

weft_tensor *weft_log_softmax(weft_tensor *x, int axis) {
    return along_axis(&wi_op_log_softmax, x, axis);
}

const wi_op_rules wi_softmax_rules[] = {{.op = &wi_op_softmax, .backward = softmax_backward},
    {.op = &wi_op_log_softmax, .backward = log_softmax_backward}, {0}};
