/* Batch, instance and group norm: composites of channels-last images (N, spatial..., C).
 *
 * Training needs two launches: one computes sums over x for each channel, and one maps x to y. To be exact for a large mean and a small
 * variance, the sums are those of x - s, where s is the first element of the channel (T. Chan, G. Golub and R. LeVeque 1983: the
 * shifted algorithm):
 *   drift = mean(x - s),  v = mean((x - s)²) - drift²,  x - m = (x - s) - drift
 *   y = (x - s)·a + b,  a = weight / sqrt(v + epsilon),  b = bias - drift·a
 * The gradients need two more. One computes sum(g) and sum(g·(x - s)), from which sum(g·x̂) follows, where x̂ is y without weight and
 * bias; the other one is a map:
 *   dx = a·g - (mean(weight·g) + x̂·mean(weight·g·x̂)) / sqrt(v + epsilon) = a·g + k·(x - s) + c
 * Batch norm sums over all axes but C; instance and group norm sum for each example. A group combines the sums of its channels, which
 * are few numbers: "small" tensors of shape (N, groups, C / groups).
 *
 * A plan visits inputs in the order in which expressions name them. Values for each channel are named before values for each element,
 * so that the plan adds the elements to the right step. */
#include "graph/rewrite.h"
#include "graph/scope.h"
#include "ops/normalization/normalization_shared.h"
#include <math.h>

/* ---- the statistics of a batch ---- */

typedef struct channels {
    weft_tensor *x;     /* (N, spatial..., C) */
    uint32_t axes;      /* that are summed for each channel */
    int64_t groups;     /* 0: each channel is a group */
    weft_tensor *share; /* 1 / the number of elements of a channel; rank 0 */
    weft_tensor *shift; /* s, in the shape of sums over the axes */
    /* small: */
    weft_tensor *mean, *variance, *root; /* root: 1 / sqrt(v + epsilon) */
    weft_tensor *offset;                 /* x - m = (x - s) + offset */
} channels;

static wi_shape rows_shape(const channels *c) {
    wi_shape shape = c->x->shape;
    for (int i = 0; i < shape.rank; i++) {
        if (c->axes >> i & 1) shape.dims[i] = 1;
    }
    return shape;
}

static int64_t channel_count(const channels *c) {
    return c->x->shape.dims[c->x->shape.rank - 1];
}

/* to_small reshapes v, which has a number for each channel, to (N, groups, channels of a group); to_rows reshapes it back. */
static weft_tensor *to_small(const channels *c, weft_tensor *v) {
    if (c->groups == 0) return v;
    const int64_t dims[] = {c->x->shape.dims[0], c->groups, channel_count(c) / c->groups};
    return weft_reshape_shape(v, 3, dims);
}

static weft_tensor *to_rows(const channels *c, weft_tensor *v) {
    if (c->groups == 0) return v;
    const wi_shape shape = rows_shape(c);
    const int64_t dims[] = {c->x->shape.dims[0], c->groups, channel_count(c) / c->groups};
    return weft_reshape_shape(weft_expand(v, 3, dims), shape.rank, shape.dims);
}

/* A weight (C) in the shape of small tensors. */
static weft_tensor *small_weight(const channels *c, weft_tensor *weight) {
    wi_shape shape = rows_shape(c);
    shape.dims[0] = 1;
    if (!weight || c->groups == 0) return weight ? weft_reshape_shape(weight, shape.rank, shape.dims) : NULL;
    return weft_reshape_shape(weight, 3, (const int64_t[]){1, c->groups, channel_count(c) / c->groups});
}

/* The mean over a group's channels. */
static weft_tensor *group_mean(const channels *c, weft_tensor *v) {
    if (c->groups == 0) return v;
    return weft_mul(wi_sum_keep(v, 1u << 2), weft_number(v, (double)c->groups / (double)channel_count(c)));
}

/* x - s */
static weft_tensor *near_of(const channels *c) {
    return weft_sub(c->x, c->shift);
}

/* Combines the channels of a group, which have different shifts. v is the mean over the channels of (variance + d²), where d is the
 * difference of the channel's mean from the group's. */
static void combine_group(channels *c, weft_tensor *drift, weft_tensor *variance) {
    weft_tensor *shift = to_small(c, c->shift);
    weft_tensor *apart = weft_sub(shift, wi_slice_dims(shift, 2, 0, 1, 1));
    weft_tensor *mean = weft_add(apart, drift); /* all means are relative to the first channel's shift */
    weft_tensor *whole = group_mean(c, mean);
    weft_tensor *d = weft_sub(mean, whole);
    c->variance = group_mean(c, weft_add(variance, weft_square(d)));
    c->offset = weft_sub(apart, whole);
}

static channels channels_of(const weft_tensor *y, bool statistics) {
    channels c = {.x = y->inputs[0], .groups = y->attributes->norm.groups};
    const uint32_t all = (1u << (c.x->shape.rank - 1)) - 1;
    c.axes = y->attributes->norm.per_example ? all & ~1u : all;
    c.share = wi_axes_share(c.x, c.x->dtype, c.axes);
    if (!statistics) return c;
    c.shift = c.x;
    for (int i = 0; i < c.x->shape.rank - 1; i++) {
        if (c.axes >> i & 1) c.shift = wi_slice_dims(c.shift, i, 0, 1, 1);
    }
    weft_tensor *near = near_of(&c);
    weft_tensor *drift = weft_mul(to_small(&c, wi_sum_keep(near, c.axes)), c.share);
    weft_tensor *square = weft_mul(to_small(&c, wi_sum_keep(weft_square(near), c.axes)), c.share);
    weft_tensor *variance = weft_sub(square, weft_square(drift));
    if (c.groups) {
        combine_group(&c, drift, variance);
    } else {
        c.variance = weft_maximum(variance, weft_number(variance, 0));
        c.mean = weft_add(c.shift, drift);
        c.offset = weft_neg(drift);
    }
    c.root = wi_norm_scale(c.variance, y->attributes->norm.epsilon);
    return c;
}

/* Do the running statistics stay as they are in training? weft_freeze may change the answer between plans. */
static bool stays(const weft_tensor *y) {
    const weft_tensor *const mean = wi_norm_inputs_of(y).mean;
    return mean && (y->attributes->norm.fixed || mean->variable->frozen);
}

static bool uses_running(const weft_tensor *y, bool inference) {
    return y->attributes->norm.inputs & WI_NORM_RUNNING && (inference || stays(y));
}

static const weft_tensor *norm_in_training(const weft_tensor *y) {
    const weft_tensor *const mean = wi_norm_inputs_of(y).mean;
    return mean && !uses_running(y, false) ? mean : NULL;
}

/* ---- forward ---- */

static weft_tensor *scaled(weft_tensor *root, weft_tensor *weight) {
    return weight ? weft_mul(root, weight) : root;
}

static weft_tensor *running_root(const channels *c, const weft_tensor *y, weft_tensor *variance) {
    weft_tensor *v = small_weight(c, variance);
    return weft_rsqrt(weft_add(v, weft_number(v, y->attributes->norm.epsilon)));
}

/* A multiplication and an addition for each element, which can be in the epilogue of the node that computes x. */
static weft_tensor *running_lower(const weft_tensor *y) {
    const wi_norm_inputs in = wi_norm_inputs_of(y);
    const channels c = channels_of(y, false);
    weft_tensor *a = scaled(running_root(&c, y, in.var), small_weight(&c, in.weight));
    weft_tensor *b = weft_neg(weft_mul(small_weight(&c, in.mean), a));
    if (in.bias) b = weft_add(small_weight(&c, in.bias), b);
    return weft_add(b, weft_mul(a, c.x));
}

static weft_tensor *batch_lower(const weft_tensor *y) {
    const wi_norm_inputs in = wi_norm_inputs_of(y);
    const channels c = channels_of(y, true);
    weft_tensor *a = scaled(c.root, small_weight(&c, in.weight));
    weft_tensor *b = weft_mul(a, c.offset);
    if (in.bias) b = weft_add(b, small_weight(&c, in.bias));
    return weft_add(to_rows(&c, b), weft_mul(to_rows(&c, a), near_of(&c)));
}

static weft_tensor *channel_norm_lower(weft_tensor *y, bool inference) {
    return uses_running(y, inference) ? running_lower(y) : batch_lower(y);
}

/* ---- running statistics ---- */

/* The weight of a batch in the running statistics, of rank 0. */
static weft_tensor *momentum_of(const weft_tensor *y, weft_tensor *batches) {
    if (!batches) return weft_constant(y->graph, y->dtype, y->attributes->norm.momentum);
    weft_tensor *count = weft_cast(weft_add(batches, weft_number(batches, 1)), y->dtype);
    return weft_reciprocal(count);
}

/* The mean over examples; their axis keeps size 1. */
static weft_tensor *over_examples(const channels *c, weft_tensor *v) {
    if (!v || c->axes & 1) return v;
    return weft_mul(wi_sum_keep(v, 1), wi_axes_share(v, v->dtype, 1));
}

static weft_tensor *move_running(
    const channels *c, weft_tensor *running, weft_tensor *value, weft_tensor *m, const wi_rewrite *rewrite) {
    weft_tensor *old = small_weight(c, wi_rewrite_value(rewrite, running));
    weft_tensor *kept = weft_mul(old, weft_sub(weft_number(m, 1), m));
    weft_tensor *moved = weft_add(weft_mul(over_examples(c, value), m), kept);
    return weft_assign(running, weft_reshape_shape(moved, 1, &running->shape.dims[0]));
}

/* The running variance is unbiased: n / (n - 1) times that of the batch. */
static weft_tensor *channel_norm_effect(weft_tensor *y, int number, const wi_rewrite *rewrite) {
    const wi_norm_inputs in = wi_norm_inputs_of(y);
    if (!in.mean || stays(y) || number > 2) return NULL;
    weft_tensor *const batches = in.batches ? wi_rewrite_value(rewrite, in.batches) : NULL;
    if (number == 2)
        return batches ? weft_assign(in.batches, weft_add(batches, weft_number(batches, 1))) : NULL;
    const channels c = channels_of(y, true);
    weft_tensor *m = momentum_of(y, batches);
    if (number == 0) return move_running(&c, in.mean, c.mean, m, rewrite);
    weft_tensor *one = weft_number(c.share, 1), *unbiased = weft_div(one, weft_sub(one, c.share));
    return move_running(&c, in.var, weft_mul(c.variance, unbiased), m, rewrite);
}

/* A channel with a single value has no variance. */
static weft_status channel_norm_check(const weft_tensor *y, int64_t batch, bool inference) {
    if (uses_running(y, inference) || y->attributes->norm.groups) return WEFT_OK;
    int64_t values = 1;
    const wi_extent extent = wi_extent_of(&y->shape, batch);
    for (int i = y->attributes->norm.per_example ? 1 : 0; i < extent.rank - 1; i++)
        values *= extent.dims[i].actual;
    if (values > 1) return WEFT_OK;
    char text[WI_SHAPE_TEXT];
    wi_shape shape = y->shape; /* (N, C, spatial...) */
    for (int i = 1; i < shape.rank; i++) shape.dims[i] = y->shape.dims[i == 1 ? shape.rank - 1 : i - 1];
    WI_FAIL(WEFT_ERROR_SHAPE,
        "%s: %s at batch %lld has only one value per channel, so there is no variance; use a larger batch or "
        "more spatial positions%s",
        y->op->name, wi_shape_print(y->graph, &shape, text), (long long)batch,
        y->attributes->norm.inputs & WI_NORM_RUNNING ? " in training" : "");
}

/* ---- backward ---- */

enum { OF_X, OF_WEIGHT, OF_BIAS };

/* The gradient of a weight, (C): sums the values for each channel, the tensor `small`, over the examples unless they
 * are summed already. */
static weft_tensor *weight_gradient(const channels *c, weft_tensor *small) {
    const int64_t count = channel_count(c);
    if (!(c->axes & 1)) small = wi_sum_keep(small, 1);
    return weft_reshape_shape(small, 1, &count);
}

static weft_tensor *running_gradient(
    const weft_tensor *y, const wi_norm_inputs *in, weft_tensor *g, int which) {
    const channels c = channels_of(y, false);
    weft_tensor *root = running_root(&c, y, in->var);
    if (which == OF_X) return weft_mul(scaled(root, small_weight(&c, in->weight)), g);
    if (which == OF_BIAS) return weight_gradient(&c, wi_sum_keep(g, c.axes));
    weft_tensor *near = weft_sub(c.x, small_weight(&c, in->mean));
    weft_tensor *sum = weft_mul(wi_sum_keep(weft_mul(near, g), c.axes), root);
    return weight_gradient(&c, sum);
}

static weft_tensor *batch_gradient(
    const weft_tensor *y, const wi_norm_inputs *in, weft_tensor *g, int which) {
    const channels c = channels_of(y, true);
    weft_tensor *product = wi_sum_keep(weft_mul(near_of(&c), g), c.axes);
    weft_tensor *product_sum = to_small(&c, product), *sum = to_small(&c, wi_sum_keep(g, c.axes));
    weft_tensor *hat = weft_mul(weft_add(weft_mul(c.offset, sum), product_sum), c.root); /* sum(g·x̂) */
    if (which == OF_BIAS) return weight_gradient(&c, sum);
    if (which == OF_WEIGHT) return weight_gradient(&c, hat);
    weft_tensor *weight = small_weight(&c, in->weight);
    weft_tensor *mean_hat = group_mean(&c, weft_mul(scaled(hat, weight), c.share));
    weft_tensor *mean = group_mean(&c, weft_mul(scaled(sum, weight), c.share));
    weft_tensor *k = weft_neg(weft_mul(weft_square(c.root), mean_hat));
    weft_tensor *rest = weft_sub(weft_mul(c.offset, k), weft_mul(c.root, mean));
    weft_tensor *a = to_rows(&c, scaled(c.root, weight));
    weft_tensor *straight = weft_add(to_rows(&c, rest), weft_mul(to_rows(&c, k), near_of(&c)));
    return weft_add(straight, weft_mul(a, g));
}

static weft_tensor *gradient_of(
    const weft_tensor *y, const wi_norm_inputs *in, weft_tensor *g, int which, bool inference) {
    return (uses_running(y, inference) ? running_gradient : batch_gradient)(y, in, g, which);
}

/* If the forms for training and inference differ, a gradient is also a composite, of the inputs of y and g. Its attributes say of which
 * input it is the gradient. */
static weft_tensor *back_lower(weft_tensor *node, bool inference) {
    const wi_norm_inputs in = wi_norm_inputs_of(node);
    return gradient_of(node, &in, in.g, node->attributes->norm.gradient, inference);
}

/* The gradient as a choice between its forms for training and for inference (normalization_choice.c). */
static weft_tensor *back_composed(weft_tensor *node, weft_tensor *leaves[WI_COMPOSED_LEAVES]) {
    const wi_norm_inputs in = wi_norm_inputs_of(node);
    const int which = node->attributes->norm.gradient;
    for (int i = 0; i < node->input_count; i++) leaves[i] = node->inputs[i];
    return wi_norm_choice(
        batch_gradient(node, &in, in.g, which), running_gradient(node, &in, in.g, which), in.mean);
}

static const wi_op norm_back = {.name = "norm gradient",
    .kind = WI_COMPOSITE,
    .attribute_bytes = sizeof(wi_norm_attributes),
    .lower = back_lower,
    .composed = back_composed};

static weft_tensor *gradient_node(const weft_tensor *y, weft_tensor *g, int which) {
    wi_norm_inputs in = wi_norm_inputs_of(y);
    const bool always = !in.mean || y->attributes->norm.fixed;
    if (always) return gradient_of(y, &in, g, which, false);
    weft_tensor *list[WI_NORM_INPUTS];
    wi_attributes attributes = wi_attributes_of(y);
    attributes.norm.gradient = which;
    in.g = g;
    const int count = wi_norm_list_inputs(&in, list);
    const wi_shape *shape = which == OF_X        ? &y->shape
                            : which == OF_WEIGHT ? &in.weight->shape
                                                 : &in.bias->shape;
    return wi_node(y->graph, &norm_back, list, count, y->dtype, shape, &attributes);
}

static void channel_norm_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    const wi_norm_inputs in = wi_norm_inputs_of(y);
    int next = 0;
    if (!g) return;
    gradients[next++] = gradient_node(y, g, OF_X);
    if (in.weight) gradients[next++] = gradient_node(y, g, OF_WEIGHT);
    if (in.bias) gradients[next++] = gradient_node(y, g, OF_BIAS);
}

/* ---- the ops ---- */

#define CHANNEL_NORM(which)                                                                                  \
    const wi_op wi_op_##which = {.name = #which,                                                             \
        .kind = WI_COMPOSITE,                                                                                \
        .attribute_bytes = sizeof(wi_norm_attributes),                                                       \
        .lower = channel_norm_lower,                                                                         \
        .in_training = norm_in_training,                                                                     \
        .effect = channel_norm_effect,                                                                       \
        .check = channel_norm_check};
CHANNEL_NORM(batch_norm)
CHANNEL_NORM(instance_norm)
CHANNEL_NORM(group_norm)

static bool check_images(const wi_op *op, weft_tensor *x, int least) {
    char text[WI_SHAPE_TEXT];
    if (!wi_inputs_graph(op->name, &x, 1)) return false;
    if (x->shape.rank >= least && x->shape.rank <= 5 && x->shape.dims[1] > 0 && !wi_axis_is_symbolic(x, 1))
        return true;
    wi_graph_fail(x->graph, WEFT_ERROR_SHAPE,
        "%s: x is %s, expected (N, C%s...) of rank %d to 5 with a fixed number of channels", op->name,
        wi_shape_print(x->graph, &x->shape, text), least > 2 ? ", L" : "", least);
    return false;
}

static bool check_state(const wi_op *op, const char *what, const weft_tensor *state, const wi_shape *shape,
    weft_dtype dtype, weft_graph *graph) {
    if (state && state->op == &wi_op_state && state->graph == graph && state->dtype == dtype)
        return wi_norm_has_shape(op, what, state, shape);
    wi_graph_fail(graph, WEFT_ERROR_ARGUMENT, "%s: %s is not an %s state of the graph", op->name, what,
        weft_dtype_name(dtype));
    return false;
}

static bool check_running(const wi_op *op, const weft_running *running, const wi_shape *shape,
    weft_dtype dtype, weft_graph *graph) {
    const wi_shape number = {.rank = 0};
    if (!check_state(op, "the running mean", running->mean, shape, dtype, graph) ||
        !check_state(op, "the running variance", running->var, shape, dtype, graph))
        return false;
    if (running->batches)
        return check_state(op, "the count of batches", running->batches, &number, WEFT_I32, graph);
    if (running->momentum >= 0 && running->momentum <= 1) return true;
    wi_graph_fail(graph, WEFT_ERROR_ARGUMENT, "%s: momentum is %g, expected 0 to 1", op->name,
        (double)running->momentum);
    return false;
}

/* Creates the norm of an image x in memory order (channels last), and returns a view of the norm in the usual order. */
static weft_tensor *image_norm(const wi_op *op, wi_norm_inputs inputs, wi_norm_attributes attributes) {
    const bool is_image = inputs.x->shape.rank > 2;
    if (is_image) inputs.x = wi_channels_last(inputs.x);
    if (!inputs.x) return NULL;
    weft_tensor *y = wi_norm_node(op, &inputs, attributes);
    return y && is_image ? wi_channels_first(y) : y;
}

/* (N, C) is computed as an image of one element. */
static weft_tensor *build_group_norm_with(
    weft_tensor *x, int64_t groups, weft_tensor *weight, weft_tensor *bias, float epsilon) {
    const wi_op *const op = &wi_op_group_norm;
    if (!check_images(op, x, 2)) return NULL;
    const int64_t channel_number = x->shape.dims[1];
    const wi_shape shape = {.rank = 1, .dims = {channel_number}};
    if (groups < 1 || channel_number % groups != 0)
        return wi_graph_fail(x->graph, WEFT_ERROR_ARGUMENT,
            "group_norm: %lld groups do not divide %lld channels", (long long)groups,
            (long long)channel_number);
    const bool flat = x->shape.rank == 2;
    if (flat) x = weft_unsqueeze(x, 2);
    wi_norm_inputs inputs = {.x = x, .weight = weight, .bias = bias};
    if (!wi_norm_check(op, &inputs, &shape, epsilon)) return NULL;
    const wi_norm_attributes attributes = {
        .epsilon = epsilon, .groups = (int32_t)groups, .per_example = true};
    weft_tensor *y = weft_cast(image_norm(op, inputs, attributes), x->dtype);
    return flat ? weft_flatten(y) : y;
}

/* The instance norm of x as the group norm of the image, which is computed in the memory order of images. Exporters write a group norm
 * as an instance norm of groups. */
static weft_tensor *norm_of_groups(
    weft_tensor *x, weft_tensor *image, const wi_norm_inputs *inputs, float epsilon) {
    const int64_t count = image->shape.dims[1];
    weft_tensor *const y = build_group_norm_with(image, x->shape.dims[1],
        wi_norm_for_channels(inputs->weight, count), wi_norm_for_channels(inputs->bias, count), epsilon);
    return y ? weft_reshape_shape(y, x->shape.rank, x->shape.dims) : NULL;
}

static weft_tensor *running_norm(const wi_op *op, weft_tensor *x, weft_tensor *weight, weft_tensor *bias,
    const weft_running *running, float epsilon, bool examples) {
    if (!check_images(op, x, examples ? 3 : 2)) return NULL;
    const wi_shape shape = {.rank = 1, .dims = {x->shape.dims[1]}};
    wi_norm_inputs inputs = {.x = x, .weight = weight, .bias = bias};
    weft_graph *graph = wi_norm_check(op, &inputs, &shape, epsilon);
    if (!graph) return NULL;
    wi_norm_attributes attributes = {.epsilon = epsilon, .per_example = examples};
    weft_tensor *const image = examples && !running ? wi_norm_grouped_image(x) : NULL;
    if (image) return norm_of_groups(x, image, &inputs, epsilon);
    if (running) {
        if (!check_running(op, running, &shape, inputs.x->dtype, graph)) return NULL;
        inputs.mean = running->mean;
        inputs.var = running->var;
        inputs.batches = running->batches;
        attributes.momentum = running->batches ? 0 : running->momentum;
        attributes.fixed = running->fixed || wi_scope_is_inference(graph);
    }
    return weft_cast(image_norm(op, inputs, attributes), x->dtype);
}

weft_tensor *weft_batch_norm_with(
    weft_tensor *x, weft_tensor *weight, weft_tensor *bias, const weft_running *running, float epsilon) {
    return WI_CALL(
        x, "weft_batch_norm_with", running_norm(&wi_op_batch_norm, x, weight, bias, running, epsilon, false));
}

weft_tensor *weft_instance_norm_with(
    weft_tensor *x, weft_tensor *weight, weft_tensor *bias, const weft_running *running, float epsilon) {
    return WI_CALL(x, "weft_instance_norm_with",
        running_norm(&wi_op_instance_norm, x, weight, bias, running, epsilon, true));
}

weft_tensor *weft_group_norm_with(
    weft_tensor *x, int64_t groups, weft_tensor *weight, weft_tensor *bias, float epsilon) {
    return WI_CALL(x, "weft_group_norm_with", build_group_norm_with(x, groups, weight, bias, epsilon));
}

const wi_op_rules wi_normalization_rules[] = {{.op = &wi_op_batch_norm, .backward = channel_norm_backward},
    {.op = &wi_op_instance_norm, .backward = channel_norm_backward},
    {.op = &wi_op_group_norm, .backward = channel_norm_backward}, {0}};
