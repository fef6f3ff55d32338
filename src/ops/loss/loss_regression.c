/* Losses of regression: squared, absolute, Huber, and the negative log-likelihoods of Poisson and normal distributions. */
#include "graph/sizes.h"
#include "ops/loss/loss.h"
#include <float.h>
#include <math.h>

/* Checks the inputs of a loss of two tensors, and converts them to one dtype and shape. */
static weft_graph *begin_pair(
    const char *op, weft_tensor **a, weft_tensor **b, const weft_loss_options *options) {
    weft_tensor *inputs[] = {*a, *b};
    weft_graph *graph = wi_loss_begin(op, inputs, 2, options);
    if (!graph || !wi_loss_match(op, inputs, 2)) return NULL;
    *a = inputs[0], *b = inputs[1];
    return graph;
}

/* ---- mse, l1 ---- */

static weft_tensor *build_mse_loss(weft_tensor *a, weft_tensor *b, const weft_loss_options *options) {
    if (!begin_pair("mse", &a, &b, options)) return NULL;
    return wi_loss_finish("mse", weft_square(weft_sub(a, b)), -1, options);
}

weft_tensor *weft_mse_loss(weft_tensor *a, weft_tensor *b, const weft_loss_options *options) {
    return WI_CALL(a, "weft_mse_loss", build_mse_loss(a, b, options));
}

weft_tensor *weft_mse(weft_tensor *a, weft_tensor *b) {
    return WI_CALL(a, "weft_mse", weft_mse_loss(a, b, NULL));
}

static weft_tensor *build_l1_loss(weft_tensor *a, weft_tensor *b, const weft_loss_options *options) {
    if (!begin_pair("l1", &a, &b, options)) return NULL;
    return wi_loss_finish("l1", weft_abs(weft_sub(a, b)), -1, options);
}

weft_tensor *weft_l1_loss(weft_tensor *a, weft_tensor *b, const weft_loss_options *options) {
    return WI_CALL(a, "weft_l1_loss", build_l1_loss(a, b, options));
}

weft_tensor *weft_l1(weft_tensor *a, weft_tensor *b) {
    return WI_CALL(a, "weft_l1", weft_l1_loss(a, b, NULL));
}

/* ---- huber, smooth l1 ----
 * d²·s/(2·delta) if |d| < delta, otherwise s·(|d| - delta/2), for a difference d and the slope s of the straight parts. A composite,
 * because the gradient of a choice between the two would be 0·∞ for infinite d. */

static weft_tensor *huber_lower(weft_tensor *y, bool inference) {
    (void)inference;
    weft_tensor *d = y->inputs[0], *size = weft_abs(d);
    const double delta = y->attributes->huber.delta, slope = y->attributes->huber.slope;
    weft_tensor *curve = weft_mul(size, weft_mul(size, weft_number(d, slope / (2 * delta))));
    weft_tensor *line = weft_mul(weft_sub(size, weft_number(d, delta / 2)), weft_number(d, slope));
    return weft_where(weft_less(size, weft_number(d, delta)), curve, line);
}

static void huber_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    const double delta = y->attributes->huber.delta, slope = y->attributes->huber.slope;
    weft_tensor *d = y->inputs[0];
    gradients[0] = weft_mul(g, weft_clamp(weft_mul(d, weft_number(d, slope / delta)), -slope, slope));
}

const wi_op wi_op_huber = {.name = "huber",
    .kind = WI_COMPOSITE,
    .attribute_bytes = sizeof(wi_huber_attributes),
    .lower = huber_lower};

static weft_tensor *huber(weft_tensor *a, weft_tensor *b, double delta, double slope) {
    weft_tensor *d = weft_sub(a, b);
    const wi_attributes attributes = {.huber = {.delta = delta, .slope = slope}};
    return d ? wi_node(d->graph, &wi_op_huber, &d, 1, d->dtype, &d->shape, &attributes) : NULL;
}

static weft_tensor *build_huber_loss(
    weft_tensor *a, weft_tensor *b, float delta, const weft_loss_options *options) {
    weft_graph *graph = begin_pair("huber", &a, &b, options);
    if (!graph || !WI_TAKES_NUMBERS(graph, "huber", {"delta", (double)delta})) return NULL;
    if (!(delta > 0 && delta <= FLT_MAX))
        return wi_graph_fail(
            graph, WEFT_ERROR_ARGUMENT, "huber: delta = %g is not positive and finite", (double)delta);
    return wi_loss_finish("huber", huber(a, b, delta, delta), -1, options);
}

weft_tensor *weft_huber_loss(weft_tensor *a, weft_tensor *b, float delta, const weft_loss_options *options) {
    return WI_CALL(a, "weft_huber_loss", build_huber_loss(a, b, delta, options));
}

weft_tensor *weft_huber(weft_tensor *a, weft_tensor *b, float delta) {
    return WI_CALL(a, "weft_huber", weft_huber_loss(a, b, delta, NULL));
}

static weft_tensor *build_smooth_l1_loss(
    weft_tensor *a, weft_tensor *b, float beta, const weft_loss_options *options) {
    weft_graph *graph = begin_pair("smooth_l1", &a, &b, options);
    if (!graph || !wi_loss_number_in(graph, "smooth_l1", "beta", beta, 0, FLT_MAX)) return NULL;
    /* A smaller beta has no effect, and 1/beta would overflow. */
    if (beta < FLT_MIN) return wi_loss_finish("smooth_l1", weft_abs(weft_sub(a, b)), -1, options);
    return wi_loss_finish("smooth_l1", huber(a, b, beta, 1), -1, options);
}

weft_tensor *weft_smooth_l1_loss(
    weft_tensor *a, weft_tensor *b, float beta, const weft_loss_options *options) {
    return WI_CALL(a, "weft_smooth_l1_loss", build_smooth_l1_loss(a, b, beta, options));
}

weft_tensor *weft_smooth_l1(weft_tensor *a, weft_tensor *b, float beta) {
    return WI_CALL(a, "weft_smooth_l1", weft_smooth_l1_loss(a, b, beta, NULL));
}

/* ---- poisson ---- */

/* Stirling's formula: log(n!) ~ n·log n - n + log(2πn)/2 if n > 1; otherwise 0, with gradient 0. */
static weft_tensor *log_factorial(weft_tensor *n) {
    weft_tensor *one = weft_number(n, 1), *few = weft_less_equal(n, one), *many = weft_where(few, one, n);
    weft_tensor *root = weft_mul(weft_log(weft_mul(many, weft_number(n, 2 * acos(-1)))), weft_number(n, 0.5));
    weft_tensor *value = weft_add(weft_sub(weft_mul(many, weft_log(many)), many), root);
    return weft_where(few, weft_number(n, 0), value);
}

static weft_tensor *build_poisson_nll_loss(
    weft_tensor *input, weft_tensor *count, bool log_input, bool full, const weft_loss_options *options) {
    static const double epsilon = 1e-8; /* PyTorch's */
    if (!begin_pair("poisson_nll", &input, &count, options)) return NULL;
    weft_tensor *rate = log_input ? weft_exp(input) : input;
    weft_tensor *log_rate = log_input ? input : weft_log(weft_add(input, weft_number(input, epsilon)));
    weft_tensor *losses = weft_sub(rate, weft_mul(count, log_rate));
    if (full) losses = weft_add(losses, log_factorial(count));
    return wi_loss_finish("poisson_nll", losses, -1, options);
}

weft_tensor *weft_poisson_nll_loss(
    weft_tensor *input, weft_tensor *count, bool log_input, bool full, const weft_loss_options *options) {
    return WI_CALL(
        input, "weft_poisson_nll_loss", build_poisson_nll_loss(input, count, log_input, full, options));
}

weft_tensor *weft_poisson_nll(weft_tensor *log_rate, weft_tensor *count) {
    return WI_CALL(log_rate, "weft_poisson_nll", weft_poisson_nll_loss(log_rate, count, true, false, NULL));
}

/* ---- gaussian ----
 * The loss of a difference and a variance of the same shape. A composite, so that variances below epsilon have a gradient, as in
 * PyTorch. */

static weft_tensor *at_least_epsilon(weft_tensor *variance) {
    return weft_maximum(variance, weft_number(variance, 1e-6));
}

static weft_tensor *gaussian_nll_lower(weft_tensor *y, bool inference) {
    (void)inference;
    weft_tensor *d = y->inputs[0], *variance = y->inputs[1], *v = at_least_epsilon(variance);
    weft_tensor *losses = weft_add(weft_log(v), weft_div(weft_square(d), v));
    losses = weft_mul(losses, weft_number(d, 0.5));
    return weft_where(weft_less(variance, weft_number(variance, 0)), weft_number(d, (double)NAN), losses);
}

static void gaussian_nll_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    weft_tensor *d = y->inputs[0], *v = at_least_epsilon(y->inputs[1]);
    weft_tensor *per_variance = weft_div(g, v);
    gradients[0] = weft_mul(per_variance, d);
    weft_tensor *rest = weft_sub(weft_number(d, 1), weft_div(weft_square(d), v));
    gradients[1] = weft_mul(weft_mul(per_variance, weft_number(d, 0.5)), rest);
}

const wi_op wi_op_gaussian_nll = {.name = "gaussian_nll", .kind = WI_COMPOSITE, .lower = gaussian_nll_lower};

/* Expands the variance to the shape of the mean. As in PyTorch, the variance has this shape, or this shape with size 1
 * on the last axis or without the last axis. NULL: the variance has another shape, and the error is recorded. */
static weft_tensor *stretch_variance(weft_tensor *variance, const weft_tensor *mean) {
    const int rank = mean->shape.rank;
    wi_shape shape = wi_loss_shapes_match(&variance->shape, &mean->shape) ? mean->shape : variance->shape;
    if (shape.rank == rank - 1) shape.dims[shape.rank++] = 1;
    bool good = shape.rank == rank;
    for (int i = 0; i < rank && good; i++)
        good = shape.dims[i] == mean->shape.dims[i] || (i == rank - 1 && shape.dims[i] == 1);
    char text_a[WI_SHAPE_TEXT], text_b[WI_SHAPE_TEXT];
    if (!good)
        return wi_graph_fail(mean->graph, WEFT_ERROR_SHAPE,
            "gaussian_nll: the variance is %s, expected the mean's shape %s, or that shape with the last "
            "axis 1 or left out",
            wi_shape_print(variance->graph, &variance->shape, text_a),
            wi_shape_print(mean->graph, &mean->shape, text_b));
    return weft_expand(weft_reshape_shape(variance, shape.rank, shape.dims), rank, mean->shape.dims);
}

static weft_tensor *build_gaussian_nll_loss(weft_tensor *mean, weft_tensor *target, weft_tensor *variance,
    bool full, const weft_loss_options *options) {
    weft_tensor *inputs[] = {mean, target, variance};
    weft_graph *graph = wi_loss_begin("gaussian_nll", inputs, 3, options);
    if (!graph || !wi_loss_match("gaussian_nll", inputs, 2)) return NULL;
    mean = inputs[0], target = inputs[1], variance = inputs[2];
    weft_tensor *parts[] = {weft_sub(mean, target), stretch_variance(variance, mean)};
    if (!parts[0] || !parts[1]) return NULL;
    weft_tensor *losses = wi_node(graph, &wi_op_gaussian_nll, parts, 2, mean->dtype, &mean->shape, NULL);
    if (full) losses = weft_add(losses, weft_constant(graph, mean->dtype, 0.5 * log(2 * acos(-1))));
    return wi_loss_finish("gaussian_nll", losses, -1, options);
}

weft_tensor *weft_gaussian_nll_loss(weft_tensor *mean, weft_tensor *target, weft_tensor *variance, bool full,
    const weft_loss_options *options) {
    return WI_CALL(
        mean, "weft_gaussian_nll_loss", build_gaussian_nll_loss(mean, target, variance, full, options));
}

weft_tensor *weft_gaussian_nll(weft_tensor *mean, weft_tensor *target, weft_tensor *variance) {
    return WI_CALL(mean, "weft_gaussian_nll", weft_gaussian_nll_loss(mean, target, variance, false, NULL));
}

const wi_op_rules wi_loss_regression_rules[] = {{.op = &wi_op_huber, .backward = huber_backward},
    {.op = &wi_op_gaussian_nll, .backward = gaussian_nll_backward}, {0}};
