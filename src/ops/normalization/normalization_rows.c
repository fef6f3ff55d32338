/* Layer and RMS norm: composites over the last axes, whose rows fit into a cache.
 *
 * The mean m of a row is computed first and rounded to f32; then the mean of x - m (the drift, which is the rounding error of m) and of
 * its square, so that a large mean costs no digits; then the row is written. This is one launch, because a plan reads short rows
 * several times. The gradients, where x̂ is y without weight and bias, and w = weight·g:
 *   dx = (w - mean(w) - x̂·mean(w·x̂)) / sqrt(v + epsilon)        one launch over rows
 *   dweight = sum(g·x̂), dbias = sum(g) over the rows              one launch over columns */
#include "ops/normalization/normalization_shared.h"
#include <math.h>

typedef struct rows {
    weft_tensor *x;
    uint32_t axes;
    weft_tensor *share;        /* 1 / the number of elements of a row; rank 0 */
    weft_tensor *mean, *drift; /* of each row; NULL: RMS norm */
    weft_tensor *root;         /* 1 / sqrt(v + epsilon) */
} rows;

static weft_tensor *row_mean(const rows *r, weft_tensor *v) {
    return weft_mul(wi_sum_keep(v, r->axes), r->share);
}

/* x - mean */
static weft_tensor *centred_row(const rows *r) {
    return r->mean ? weft_sub(r->x, r->mean) : r->x;
}

static weft_tensor *hat_of(const rows *r) {
    weft_tensor *near = centred_row(r);
    return weft_mul(r->drift ? weft_sub(near, r->drift) : near, r->root);
}

static rows rows_of(const weft_tensor *y) {
    rows r = {.x = y->inputs[0]};
    const int rank = r.x->shape.rank, first = rank - y->attributes->norm.last_axes;
    r.axes = ((1u << rank) - 1) & ~((1u << first) - 1);
    r.share = wi_axes_share(r.x, r.x->dtype, r.axes);
    const bool centres = y->op == &wi_op_layer_norm;
    if (centres) r.mean = row_mean(&r, r.x);
    weft_tensor *near = centred_row(&r), *variance = row_mean(&r, weft_square(near));
    if (centres) {
        r.drift = row_mean(&r, near);
        variance = weft_sub(variance, weft_square(r.drift));
    }
    r.root = wi_norm_scale(variance, y->attributes->norm.epsilon);
    return r;
}

static weft_tensor *row_norm_lower(weft_tensor *y, bool inference) {
    (void)inference;
    const wi_norm_inputs in = wi_norm_inputs_of(y);
    const rows r = rows_of(y);
    weft_tensor *result = hat_of(&r);
    if (in.weight) result = weft_mul(result, in.weight);
    return in.bias ? weft_add(result, in.bias) : result;
}

static weft_tensor *over_rows(const rows *r, weft_tensor *v, const wi_shape *shape) {
    const uint32_t all = (1u << r->x->shape.rank) - 1;
    return weft_reshape_shape(wi_sum_keep(v, all & ~r->axes), shape->rank, shape->dims);
}

static void row_norm_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    const wi_norm_inputs in = wi_norm_inputs_of(y);
    if (!g) return;
    const rows r = rows_of(y);
    weft_tensor *hat = hat_of(&r), *w = in.weight ? weft_mul(g, in.weight) : g;
    weft_tensor *along = weft_mul(hat, row_mean(&r, weft_mul(w, hat)));
    weft_tensor *rest = r.mean ? weft_sub(w, row_mean(&r, w)) : w;
    int next = 0;
    gradients[next++] = weft_mul(weft_sub(rest, along), r.root);
    if (in.weight) gradients[next++] = over_rows(&r, weft_mul(hat_of(&r), g), &in.weight->shape);
    if (in.bias) gradients[next++] = over_rows(&r, g, &in.bias->shape);
}

#define ROW_NORM(which)                                                                                      \
    const wi_op wi_op_##which = {.name = #which,                                                             \
        .kind = WI_COMPOSITE,                                                                                \
        .attribute_bytes = sizeof(wi_norm_attributes),                                                       \
        .lower = row_norm_lower};
ROW_NORM(layer_norm)
ROW_NORM(rms_norm)

static weft_tensor *row_norm(
    const wi_op *op, weft_tensor *x, int axes, weft_tensor *weight, weft_tensor *bias, float epsilon) {
    weft_graph *graph = wi_inputs_graph(op->name, &x, 1);
    if (!graph) return NULL;
    char text[WI_SHAPE_TEXT];
    const int rank = x->shape.rank;
    if (axes < 1 || axes > rank)
        return wi_graph_fail(
            graph, WEFT_ERROR_ARGUMENT, "%s: axes is %d, expected 1 to %d", op->name, axes, rank);
    wi_shape shape = {.rank = axes};
    for (int i = 0; i < axes; i++) {
        shape.dims[i] = x->shape.dims[rank - axes + i];
        if (shape.dims[i] < 0)
            return wi_graph_fail(graph, WEFT_ERROR_SHAPE,
                "%s: the last %d axes of %s depend on the batch; only fixed axes can be normalised", op->name,
                axes, wi_shape_print(x->graph, &x->shape, text));
    }
    wi_norm_inputs inputs = {.x = x, .weight = weight, .bias = bias};
    if (!wi_norm_check(op, &inputs, &shape, epsilon)) return NULL;
    const wi_norm_attributes attributes = {.epsilon = epsilon, .last_axes = axes};
    return weft_cast(wi_norm_node(op, &inputs, attributes), x->dtype);
}

weft_tensor *weft_layer_norm_with(
    weft_tensor *x, int axes, weft_tensor *weight, weft_tensor *bias, float epsilon) {
    return WI_CALL(x, "weft_layer_norm_with", row_norm(&wi_op_layer_norm, x, axes, weight, bias, epsilon));
}

weft_tensor *weft_rms_norm_with(weft_tensor *x, int axes, weft_tensor *weight, float epsilon) {
    return WI_CALL(x, "weft_rms_norm_with", row_norm(&wi_op_rms_norm, x, axes, weight, NULL, epsilon));
}

const wi_op_rules wi_normalization_rows_rules[] = {{.op = &wi_op_layer_norm, .backward = row_norm_backward},
    {.op = &wi_op_rms_norm, .backward = row_norm_backward}, {0}};
