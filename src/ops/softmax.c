/* Softmax and the losses. They are composites: a plan replaces them by maps and reductions over one axis,
 * which its fusion turns into one kernel. Maxima are subtracted first, so that no exponential overflows. */
#include "ops/op_table.h"
#include <math.h>

/* What forward and backward share; equal nodes are made once. */
typedef struct shifted {
    weft_tensor *x;   /* x - max(x) along the axis */
    weft_tensor *exp; /* its exponential */
    weft_tensor *sum; /* of the exponentials, axis kept with size 1 */
} shifted;

static shifted shift(weft_tensor *x, int axis) {
    shifted s;
    s.x = weft_sub(x, wi_max_keep(x, 1u << axis));
    s.exp = weft_exp(s.x);
    s.sum = wi_sum_keep(s.exp, 1u << axis);
    return s;
}

static weft_tensor *along_axis(const wi_op *op, weft_tensor *x, int64_t axis) {
    weft_graph *graph = wi_inputs_graph(op->name, &x, 1);
    if (!graph) return NULL;
    if (x->dtype != WEFT_F32)
        return wi_graph_fail(
            graph, WEFT_ERROR_DTYPE, "%s: takes f32, not %s", op->name, weft_dtype_name(x->dtype));
    const int index = wi_axis_index(x, op->name, axis);
    if (index < 0) return NULL;
    const wi_attributes attributes = {.axis = index};
    return wi_node(graph, op, &x, 1, WEFT_F32, &x->shape, &attributes);
}

/* ---- softmax ---- */

static weft_tensor *softmax_lower(weft_tensor *y, bool inference) {
    (void)inference;
    const shifted s = shift(y->inputs[0], y->attributes.axis);
    return weft_div(s.exp, s.sum);
}

static void softmax_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    weft_tensor *inner = wi_sum_keep(weft_mul(g, y), 1u << y->attributes.axis);
    gradients[0] = weft_mul(y, weft_sub(g, inner));
}

const wi_op wi_op_softmax = {
    .name = "softmax", .kind = WI_COMPOSITE, .lower = softmax_lower, .backward = softmax_backward};

weft_tensor *weft_softmax(weft_tensor *x, int axis) {
    return along_axis(&wi_op_softmax, x, axis);
}

/* ---- log softmax ---- */

static weft_tensor *log_softmax_lower(weft_tensor *y, bool inference) {
    (void)inference;
    const shifted s = shift(y->inputs[0], y->attributes.axis);
    return weft_sub(s.x, weft_log(s.sum));
}

static void log_softmax_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    weft_tensor *total = wi_sum_keep(g, 1u << y->attributes.axis);
    gradients[0] = weft_sub(g, weft_mul(weft_exp(y), total));
}

const wi_op wi_op_log_softmax = {.name = "log_softmax",
    .kind = WI_COMPOSITE,
    .lower = log_softmax_lower,
    .backward = log_softmax_backward};

weft_tensor *weft_log_softmax(weft_tensor *x, int axis) {
    return along_axis(&wi_op_log_softmax, x, axis);
}

/* ---- cross entropy ---- */

static weft_tensor *labels_beside(const weft_tensor *logits, weft_tensor *labels) {
    wi_shape shape = logits->shape;
    shape.dims[1] = 1;
    return weft_reshape_shape(labels, shape.rank, shape.dims);
}

static weft_tensor *is_label(weft_tensor *logits, weft_tensor *labels) {
    return weft_equal(wi_coordinate(logits->graph, &logits->shape, 1), labels_beside(logits, labels));
}

static weft_tensor *share_of_one(weft_tensor *logits) {
    int64_t count;
    int power;
    wi_axes_count(logits, ~2u, &count, &power);
    return wi_constant_power(logits->graph, WEFT_F32, 1.0 / (double)count, -power);
}

static weft_tensor *cross_entropy_lower(weft_tensor *y, bool inference) {
    (void)inference;
    weft_tensor *logits = y->inputs[0], *labels = labels_beside(logits, y->inputs[1]);
    const shifted s = shift(logits, 1);
    weft_tensor *zero = weft_number(s.x, 0), *nan = weft_number(s.x, (double)NAN);
    weft_tensor *chosen = wi_sum_keep(weft_where(is_label(logits, y->inputs[1]), s.x, zero), 2);
    weft_tensor *loss = weft_sub(weft_log(s.sum), chosen);
    loss = weft_where(weft_less(labels, weft_number(labels, 0)), nan, loss);
    loss = weft_where(weft_less_equal(weft_number(labels, (double)logits->shape.dims[1]), labels), nan, loss);
    loss = weft_mul(wi_sum_keep(loss, (1u << logits->shape.rank) - 1), share_of_one(logits));
    return weft_reshape_shape(loss, 0, NULL);
}

static void cross_entropy_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    weft_tensor *logits = y->inputs[0];
    const shifted s = shift(logits, 1);
    weft_tensor *target = weft_cast(is_label(logits, y->inputs[1]), WEFT_F32);
    weft_tensor *slope = weft_sub(weft_div(s.exp, s.sum), target);
    gradients[0] = weft_mul(slope, weft_mul(g, share_of_one(logits)));
}

const wi_op wi_op_cross_entropy = {.name = "cross_entropy",
    .kind = WI_COMPOSITE,
    .lower = cross_entropy_lower,
    .backward = cross_entropy_backward};

weft_tensor *weft_cross_entropy(weft_tensor *logits, weft_tensor *labels) {
    weft_tensor *inputs[] = {logits, labels};
    weft_graph *graph = wi_inputs_graph("cross_entropy", inputs, 2);
    if (!graph) return NULL;
    if (logits->dtype != WEFT_F32 || labels->dtype != WEFT_I32)
        return wi_graph_fail(graph, WEFT_ERROR_DTYPE, "cross_entropy: takes (f32, i32), not (%s, %s)",
            weft_dtype_name(logits->dtype), weft_dtype_name(labels->dtype));
    wi_shape wanted = {0};
    for (int i = 0; i < logits->shape.rank; i++) {
        if (i != 1) wanted.dims[wanted.rank++] = logits->shape.dims[i];
    }
    char text_a[WI_SHAPE_TEXT], text_b[WI_SHAPE_TEXT];
    if (logits->shape.rank < 2 || logits->shape.dims[1] < 1 || !wi_shape_equal(&wanted, &labels->shape))
        return wi_graph_fail(graph, WEFT_ERROR_SHAPE,
            "cross_entropy: logits %s need rank 2 or more and a fixed number of classes, and labels %s their "
            "shape "
            "without axis 1",
            wi_shape_print(&logits->shape, text_a), wi_shape_print(&labels->shape, text_b));
    const wi_shape scalar = {.rank = 0};
    return wi_node(graph, &wi_op_cross_entropy, inputs, 2, WEFT_F32, &scalar, NULL);
}

/* ---- mean squared error ---- */

weft_tensor *weft_mse(weft_tensor *a, weft_tensor *b) {
    return weft_mean_axes(weft_square(weft_sub(a, b)), NULL, false);
}
