/* Losses of class labels: cross-entropy, negative log-likelihood, multi-class margin.
 *
 * The nodes are the losses of single examples, whose class axis has size 1; other nodes reduce them. The inputs are x (batch, classes,
 * ...), the labels, and class weights if they are given. */
#include "graph/sizes.h"
#include "ops/loss/loss.h"
#include "ops/normalization/softmax.h"
#include "ops/prediction_form.h"
#include <math.h>

#define NO_LABEL   INT64_MIN
#define CLASS_AXIS 2u /* as a bit */

/* ---- labels and weights that broadcast with x ---- */

static weft_tensor *labels_beside(const weft_tensor *y) {
    const wi_label_kind kind = y->op == &wi_op_nll            ? WI_LABEL_NLL
                               : y->op == &wi_op_multi_margin ? WI_LABEL_MULTI_MARGIN
                                                              : WI_LABEL_CROSS_ENTROPY;
    weft_tensor *labels = weft_reshape_shape(y->inputs[1], y->shape.rank, y->shape.dims);
    return wi_label(labels, kind, y->inputs[0]->shape.dims[1], y->attributes->class_loss.ignored);
}

static weft_tensor *is_label(const weft_tensor *y) {
    return weft_equal(wi_coordinate(y->graph, &y->inputs[0]->shape, 1), labels_beside(y));
}

/* The class weights in a shape that broadcasts with x; NULL: there are no weights. */
static weft_tensor *weights_beside(const weft_tensor *y) {
    if (y->input_count < 3) return NULL;
    wi_shape shape = {.rank = y->shape.rank};
    for (int i = 0; i < shape.rank; i++) shape.dims[i] = i == 1 ? y->inputs[2]->shape.dims[0] : 1;
    return weft_reshape_shape(y->inputs[2], shape.rank, shape.dims);
}

static weft_tensor *is_ignored(const weft_tensor *y) {
    weft_tensor *labels = labels_beside(y);
    return weft_equal(labels, weft_number(labels, (double)y->attributes->class_loss.ignored));
}

/* x, or 0 if the example is ignored. */
static weft_tensor *unless_ignored(const weft_tensor *y, weft_tensor *x) {
    if (y->attributes->class_loss.ignored == NO_LABEL) return x;
    return weft_where(is_ignored(y), weft_number(x, 0), x);
}

static weft_tensor *at_label(const weft_tensor *y, weft_tensor *x) {
    return weft_where(is_label(y), x, weft_number(x, 0));
}

static weft_tensor *over_classes(weft_tensor *x) {
    return wi_sum_keep(x, CLASS_AXIS);
}

/* The weight of each example's label; NULL: 1. */
static weft_tensor *label_weights(const weft_tensor *y) {
    weft_tensor *weights = weights_beside(y);
    return weights ? over_classes(at_label(y, weights)) : NULL;
}

static weft_tensor *times(weft_tensor *x, weft_tensor *factor) {
    return factor ? weft_mul(x, factor) : x;
}

/* The losses with 0 for ignored labels, and NaN for labels out of range, which the next read or wait reports as an error. */
static weft_tensor *finish_losses(const weft_tensor *y, weft_tensor *losses) {
    weft_tensor *labels = labels_beside(y), *nan = weft_number(losses, (double)NAN);
    losses = weft_where(weft_less(labels, weft_number(labels, 0)), nan, losses);
    if (!labels) return NULL;
    weft_tensor *classes = wi_constant_count(y->graph, labels->dtype, y->inputs[0]->shape.dims[1], 0);
    losses = weft_where(weft_less_equal(classes, labels), nan, losses);
    return unless_ignored(y, losses);
}

/* The divisor of a mean: the sum of the weights of all labels that are not ignored; NULL: the number of examples. It is computed only
 * from labels and weights, so that it can be computed before the losses. */
static weft_tensor *total_weight(const weft_tensor *y) {
    const uint32_t all = (1u << y->shape.rank) - 1;
    weft_tensor *weights = weights_beside(y);
    if (weights) return wi_sum_keep(unless_ignored(y, at_label(y, weights)), all);
    if (y->attributes->class_loss.ignored == NO_LABEL) return NULL;
    return wi_sum_keep(unless_ignored(y, weft_number(y->inputs[0], 1)), all);
}

/* ---- cross entropy ----
 * The sum over the classes of t·(log sum exp x - x), with targets t. For labels, t is the class weight times
 * (1 - e)·[class = label] + e / classes, where e is the smoothing. */

static weft_tensor *smooth_targets(const weft_tensor *y) {
    weft_tensor *weights = weights_beside(y), *one = weft_number(y->inputs[0], 1);
    const double e = y->attributes->class_loss.smoothing, share = e / (double)y->inputs[0]->shape.dims[1];
    weft_tensor *hit = weft_number(one, 1 - e + share), *miss = weft_number(one, share);
    return weft_where(is_label(y), times(hit, weights), times(miss, weights));
}

/* The sum of the targets; NULL: 1. */
static weft_tensor *target_sum(const weft_tensor *y) {
    if (y->input_count < 3) return NULL;
    return y->attributes->class_loss.smoothing > 0 ? over_classes(smooth_targets(y)) : label_weights(y);
}

static weft_tensor *cross_entropy_lower(weft_tensor *y, bool inference) {
    (void)inference;
    const wi_shifted s = wi_shift(y->inputs[0], 1);
    /* Without smoothing, other classes are left out and not multiplied by 0, because their logits may be infinite. */
    weft_tensor *chosen = y->attributes->class_loss.smoothing > 0
                              ? weft_mul(smooth_targets(y), s.x)
                              : at_label(y, times(s.x, weights_beside(y)));
    return finish_losses(y, weft_sub(times(weft_log(s.sum), target_sum(y)), over_classes(chosen)));
}

static void cross_entropy_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    const wi_shifted s = wi_shift(y->inputs[0], 1);
    weft_tensor *softmax = weft_div(s.exp, s.sum);
    weft_tensor *slope = weft_sub(times(softmax, target_sum(y)), smooth_targets(y));
    gradients[0] = unless_ignored(y, weft_mul(g, slope));
}

const wi_op wi_op_cross_entropy = {.name = "cross_entropy",
    .kind = WI_COMPOSITE,
    .attribute_bytes = sizeof(wi_class_loss_attributes),
    .lower = cross_entropy_lower};

/* ---- cross entropy with probabilities: inputs[1] is f32 of x's shape ---- */

static weft_tensor *given_targets(const weft_tensor *y) {
    weft_tensor *p = y->inputs[1];
    const double e = y->attributes->class_loss.smoothing;
    if (e > 0) p = weft_add(weft_mul(p, weft_number(p, 1 - e)), weft_number(p, e / (double)p->shape.dims[1]));
    return times(p, weights_beside(y));
}

static weft_tensor *dense_lower(weft_tensor *y, bool inference) {
    (void)inference;
    const wi_shifted s = wi_shift(y->inputs[0], 1);
    weft_tensor *t = given_targets(y);
    return weft_sub(weft_mul(weft_log(s.sum), over_classes(t)), over_classes(weft_mul(t, s.x)));
}

static void dense_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    const wi_shifted s = wi_shift(y->inputs[0], 1);
    weft_tensor *t = given_targets(y);
    weft_tensor *slope = weft_sub(weft_mul(weft_div(s.exp, s.sum), over_classes(t)), t);
    gradients[0] = weft_mul(g, slope);
    weft_tensor *share = times(weft_number(g, 1 - y->attributes->class_loss.smoothing), weights_beside(y));
    gradients[1] = weft_mul(weft_mul(g, share), weft_sub(weft_log(s.sum), s.x));
}

static const wi_op dense_cross_entropy = {.name = "cross_entropy",
    .kind = WI_COMPOSITE,
    .attribute_bytes = sizeof(wi_class_loss_attributes),
    .lower = dense_lower};

/* ---- nll ---- */

static weft_tensor *nll_lower(weft_tensor *y, bool inference) {
    (void)inference;
    weft_tensor *x = times(y->inputs[0], weights_beside(y));
    return finish_losses(y, weft_neg(over_classes(at_label(y, x))));
}

static void nll_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    gradients[0] = unless_ignored(y, at_label(y, weft_neg(times(g, weights_beside(y)))));
}

const wi_op wi_op_nll = {.name = "nll",
    .kind = WI_COMPOSITE,
    .attribute_bytes = sizeof(wi_class_loss_attributes),
    .lower = nll_lower};

/* ---- multi-class margin: of z = margin - x[label] + x, the sum of max(0, z)^p over the other classes ----
 */

static weft_tensor *excess(const weft_tensor *y) {
    weft_tensor *x = y->inputs[0], *own = over_classes(at_label(y, x));
    weft_tensor *z = weft_add(weft_sub(weft_number(x, y->attributes->class_loss.margin), own), x);
    weft_tensor *zero = weft_number(x, 0);
    z = weft_where(is_label(y), zero, z);
    return weft_where(weft_less_equal(z, zero), zero, z);
}

/* The weight of the label divided by the number of classes. */
static weft_tensor *margin_factor(const weft_tensor *y) {
    weft_tensor *share = wi_constant_share(y->graph, y->inputs[0]->dtype, y->inputs[0]->shape.dims[1], 0);
    return times(share, label_weights(y));
}

static weft_tensor *multi_margin_lower(weft_tensor *y, bool inference) {
    (void)inference;
    weft_tensor *z = excess(y);
    if (y->attributes->class_loss.exponent == 2) z = weft_square(z);
    return finish_losses(y, weft_mul(over_classes(z), margin_factor(y)));
}

static void multi_margin_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    weft_tensor *z = excess(y), *zero = weft_number(z, 0);
    weft_tensor *slope = y->attributes->class_loss.exponent == 2
                             ? weft_mul(z, weft_number(z, 2))
                             : weft_where(weft_equal(z, zero), zero, weft_number(z, 1));
    slope = weft_where(is_label(y), weft_neg(over_classes(slope)), slope);
    gradients[0] = weft_mul(weft_mul(g, margin_factor(y)), slope);
}

const wi_op wi_op_multi_margin = {.name = "multi_margin",
    .kind = WI_COMPOSITE,
    .attribute_bytes = sizeof(wi_class_loss_attributes),
    .lower = multi_margin_lower};

wi_labels wi_labels_of(const weft_tensor *node) {
    if (node->op != &wi_op_cross_entropy && node->op != &wi_op_nll && node->op != &wi_op_multi_margin)
        return (wi_labels){0};
    const weft_tensor *labels = node->inputs[1];
    while (labels->op == &wi_op_reshape) labels = labels->inputs[0];
    return (wi_labels){labels, node->inputs[0]->shape.dims[1], node->attributes->class_loss.ignored};
}

/* ---- checks ---- */

typedef struct class_loss {
    const char *op;
    weft_tensor *inputs[3]; /* x (with a batch axis), labels, weights */
    weft_class_loss_options options;
    bool single;      /* the caller's x has no batch axis */
    bool takes_batch; /* the classes may be the rows of a batch */
} class_loss;

static bool read_options(weft_graph *graph, class_loss *loss, const weft_class_loss_options *given) {
    weft_class_loss_options *const own = &loss->options;
    if (!WI_GRAPH_OPTIONS(graph, own, given, loss->op, WEFT_CLASS_LOSS_OPTIONS_INIT)) return false;
    loss->inputs[2] = own->class_weights;
    return WI_TAKES_NUMBERS(graph, loss->op, {"ignored_label", (double)own->ignored_label}) &&
           wi_loss_reduction_good(graph, loss->op, own->reduction) &&
           wi_loss_number_in(graph, loss->op, "label_smoothing", own->label_smoothing, 0, 1);
}

static bool weights_good(const class_loss *loss) {
    const weft_tensor *x = loss->inputs[0], *weights = loss->inputs[2];
    if (!weights) return true;
    const wi_shape wanted = {.rank = 1, .dims = {x->shape.dims[1]}};
    char text[WI_SHAPE_TEXT];
    if (!wi_dtype_is_float(weights->dtype))
        wi_graph_fail(x->graph, WEFT_ERROR_DTYPE, "%s: class weights are %s, not %s", loss->op,
            weft_dtype_name(weights->dtype), wi_dtypes_text(WI_TAKES_FLOATS));
    else if (!wi_shape_equal(&weights->shape, &wanted))
        wi_graph_fail(x->graph, WEFT_ERROR_SHAPE,
            "%s: the class weights are %s, expected (%lld), one per class", loss->op,
            wi_shape_print(weights->graph, &weights->shape, text), (long long)wanted.dims[0]);
    return weft_graph_status(x->graph) == WEFT_OK;
}

static bool shapes_good(const class_loss *loss, bool dense) {
    const weft_tensor *x = loss->inputs[0], *labels = loss->inputs[1];
    const int axis = x->shape.rank > 1;
    const wi_shape wanted = wi_shape_without(&x->shape, dense ? 0 : 1u << axis);
    char text_a[WI_SHAPE_TEXT], text_b[WI_SHAPE_TEXT];
    const bool fits =
        dense ? wi_shape_equal(&wanted, &labels->shape) : wi_loss_shapes_match(&wanted, &labels->shape);
    const bool has_classes =
        x->shape.rank >= 1 && (x->shape.dims[axis] >= 1 || (loss->takes_batch && axis == 1));
    if (has_classes && fits) return true;
    wi_graph_fail(x->graph, WEFT_ERROR_SHAPE,
        "%s: the predictions are %s and the labels %s: expected a number of classes on axis 1 of the "
        "predictions (or on their only axis), and labels of that shape without the axis of classes",
        loss->op, wi_shape_print(x->graph, &x->shape, text_a),
        wi_shape_print(labels->graph, &labels->shape, text_b));
    return false;
}

/* Reshapes x (classes) to (1, classes). */
static void add_batch_axis(class_loss *loss) {
    weft_tensor **inputs = loss->inputs;
    loss->single = inputs[0]->shape.rank == 1;
    if (!loss->single) return;
    const int64_t dims[] = {1, inputs[0]->shape.dims[0]};
    const bool dense = wi_dtype_is_float(inputs[1]->dtype);
    inputs[0] = weft_reshape_shape(inputs[0], 2, dims);
    inputs[1] = weft_reshape_shape(inputs[1], dense ? 2 : 1, dims);
}

/* Casts x, weights and dense labels to the dtype in which kernels calculate with x. */
static bool widen(class_loss *loss, bool dense) {
    const weft_dtype wide = wi_format_of(loss->inputs[0]->dtype)->compute;
    for (int i = 0; i < 3; i++) {
        if (!loss->inputs[i] || (i == 1 && !dense)) continue;
        if (!(loss->inputs[i] = weft_cast(loss->inputs[i], wide))) return false;
    }
    return true;
}

/* Checks and converts the inputs. False: an error is recorded. */
static bool begin(class_loss *loss, const weft_class_loss_options *options, bool takes_dense) {
    weft_tensor *const *inputs = loss->inputs;
    weft_graph *graph = wi_inputs_graph(loss->op, inputs, 2);
    if (!graph || !read_options(graph, loss, options)) return false;
    if (inputs[2] && !wi_inputs_graph(loss->op, inputs, 3)) return false;
    const bool dense = takes_dense && wi_dtype_is_float(inputs[1]->dtype);
    if (!wi_dtype_is_float(inputs[0]->dtype) || (inputs[1]->dtype != WEFT_I32 && !dense)) {
        wi_graph_fail(graph, WEFT_ERROR_DTYPE, "%s: takes (a float, i32)%s as dtypes, not (%s, %s)", loss->op,
            takes_dense ? " or (a float, a float)" : "", weft_dtype_name(inputs[0]->dtype),
            weft_dtype_name(inputs[1]->dtype));
        return false;
    }
    if (!shapes_good(loss, dense)) return false;
    add_batch_axis(loss);
    if (!loss->inputs[0] || !loss->inputs[1] || !weights_good(loss)) return false;
    return widen(loss, dense);
}

static weft_tensor *finish(
    class_loss *loss, const wi_op *op, wi_class_loss_attributes given, bool weighted_mean) {
    wi_shape shape = loss->inputs[0]->shape;
    shape.dims[1] = 1;
    wi_attributes attributes = {.class_loss = given};
    attributes.class_loss.ignored = loss->options.ignore ? loss->options.ignored_label : NO_LABEL;
    const int count = loss->inputs[2] ? 3 : 2;
    weft_tensor *y =
        wi_node(loss->inputs[0]->graph, op, loss->inputs, count, loss->inputs[0]->dtype, &shape, &attributes);
    if (!y) return NULL;
    weft_tensor *total = weighted_mean && loss->options.reduction == WEFT_LOSS_MEAN ? total_weight(y) : NULL;
    weft_tensor *result = wi_loss_reduce(y, 1, loss->options.reduction, total);
    const bool losses = loss->options.reduction == WEFT_LOSS_NONE;
    return loss->single && losses ? weft_reshape_shape(result, 0, NULL) : result;
}

static weft_tensor *refuse(const class_loss *loss, const char *what) {
    return wi_graph_fail(
        loss->inputs[0]->graph, WEFT_ERROR_ARGUMENT, "%s: does not support %s", loss->op, what);
}

/* If the classes are the rows of a batch, as in contrastive losses, labels choose their losses by a gather, which checks labels at run time:
 * wi_label knows only classes whose number is fixed. */
static weft_tensor *finish_over_batch(class_loss *loss, weft_tensor *log_probabilities) {
    if (loss->options.ignore || loss->inputs[2] || loss->options.label_smoothing > 0)
        return refuse(loss,
            "ignored labels, class weights or label_smoothing if the number of classes depends on the batch");
    if (!log_probabilities) return NULL;
    wi_shape shape = log_probabilities->shape;
    shape.dims[1] = 1;
    weft_tensor *labels = weft_reshape_shape(loss->inputs[1], shape.rank, shape.dims);
    return wi_loss_reduce(
        weft_neg(weft_gather(log_probabilities, 1, labels)), 1, loss->options.reduction, NULL);
}

/* ---- the functions ---- */

static weft_tensor *build_cross_entropy_loss(
    weft_tensor *logits, weft_tensor *labels, const weft_class_loss_options *options) {
    class_loss loss = {.op = "cross_entropy", .inputs = {logits, labels}, .takes_batch = true};
    if (!begin(&loss, options, true) || !wi_takes_logits(loss.op, loss.inputs[0])) return NULL;
    const bool dense = wi_dtype_is_float(labels->dtype);
    if (dense && loss.options.ignore)
        return refuse(&loss, "an ignored label if the targets are probabilities");
    if (loss.options.label_smoothing > 0 &&
        (wi_axis_is_symbolic(loss.inputs[0], 1) || loss.inputs[0]->shape.dims[1] < 0))
        return refuse(&loss, "label_smoothing if the number of classes depends on a size that plans choose");
    if (loss.inputs[0]->shape.dims[1] < 0 && !dense)
        return finish_over_batch(&loss, weft_log_softmax(loss.inputs[0], 1));
    const wi_class_loss_attributes attributes = {.smoothing = loss.options.label_smoothing};
    return finish(&loss, dense ? &dense_cross_entropy : &wi_op_cross_entropy, attributes, !dense);
}

weft_tensor *weft_cross_entropy_loss(
    weft_tensor *logits, weft_tensor *labels, const weft_class_loss_options *options) {
    return WI_CALL(logits, "weft_cross_entropy_loss", build_cross_entropy_loss(logits, labels, options));
}

weft_tensor *weft_cross_entropy(weft_tensor *logits, weft_tensor *labels) {
    return WI_CALL(logits, "weft_cross_entropy", weft_cross_entropy_loss(logits, labels, NULL));
}

static weft_tensor *build_nll_loss(
    weft_tensor *log_probabilities, weft_tensor *labels, const weft_class_loss_options *options) {
    class_loss loss = {.op = "nll", .inputs = {log_probabilities, labels}, .takes_batch = true};
    if (!begin(&loss, options, false) || !wi_takes_log_probabilities(loss.op, loss.inputs[0])) return NULL;
    if (loss.options.label_smoothing > 0) return refuse(&loss, "label_smoothing");
    if (loss.inputs[0]->shape.dims[1] < 0) return finish_over_batch(&loss, loss.inputs[0]);
    return finish(&loss, &wi_op_nll, (wi_class_loss_attributes){0}, true);
}

weft_tensor *weft_nll_loss(
    weft_tensor *log_probabilities, weft_tensor *labels, const weft_class_loss_options *options) {
    return WI_CALL(log_probabilities, "weft_nll_loss", build_nll_loss(log_probabilities, labels, options));
}

weft_tensor *weft_nll(weft_tensor *log_probabilities, weft_tensor *labels) {
    return WI_CALL(log_probabilities, "weft_nll", weft_nll_loss(log_probabilities, labels, NULL));
}

static weft_tensor *build_multi_margin_loss(
    weft_tensor *scores, weft_tensor *labels, float margin, int p, const weft_class_loss_options *options) {
    class_loss loss = {.op = "multi_margin", .inputs = {scores, labels}};
    if (!begin(&loss, options, false)) return NULL;
    weft_graph *graph = loss.inputs[0]->graph;
    if (loss.options.label_smoothing > 0) return refuse(&loss, "label_smoothing");
    if (loss.options.ignore) return refuse(&loss, "an ignored label");
    if (p != 1 && p != 2)
        return wi_graph_fail(graph, WEFT_ERROR_ARGUMENT, "multi_margin: p = %d is neither 1 nor 2", p);
    if (!wi_loss_finite(graph, loss.op, "margin", margin)) return NULL;
    const wi_class_loss_attributes attributes = {.margin = margin, .exponent = p};
    return finish(&loss, &wi_op_multi_margin, attributes, false);
}

weft_tensor *weft_multi_margin_loss(
    weft_tensor *scores, weft_tensor *labels, float margin, int p, const weft_class_loss_options *options) {
    return WI_CALL(
        scores, "weft_multi_margin_loss", build_multi_margin_loss(scores, labels, margin, p, options));
}

weft_tensor *weft_multi_margin(weft_tensor *scores, weft_tensor *labels, float margin) {
    return WI_CALL(scores, "weft_multi_margin", weft_multi_margin_loss(scores, labels, margin, 1, NULL));
}

const wi_op_rules wi_loss_class_rules[] = {{.op = &wi_op_cross_entropy, .backward = cross_entropy_backward},
    {.op = &dense_cross_entropy, .backward = dense_backward}, {.op = &wi_op_nll, .backward = nll_backward},
    {.op = &wi_op_multi_margin, .backward = multi_margin_backward}, {0}};
