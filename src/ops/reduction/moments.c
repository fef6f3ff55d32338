/* Variance and standard deviation: composites of two passes over the elements.
 *
 * The first pass takes the mean m, rounded to f32. The second sums x - m, which is exact where x is near m,
 * and its squares. The drift d = mean(x - m), which is the rounding error of m, is then subtracted:
 *   sum (x - mean)² = sum (x - m)² - n d²
 * so that a large mean costs no digits (the corrected two-pass algorithm, Chan, Golub and LeVeque 1983). */
#include "graph/sizes.h"
#include "ops/reduction/reduce.h"

/* Nodes of the forward and the backward pass. */
typedef struct centred {
    weft_tensor *near;  /* x - m */
    weft_tensor *total; /* sum of near */
    weft_tensor *drift; /* mean of near */
} centred;

static centred centre(weft_tensor *x, uint32_t axes) {
    centred c;
    weft_tensor *share = wi_axes_share(x, x->dtype, axes);
    c.near = weft_sub(x, weft_mul(wi_sum_keep(x, axes), share));
    c.total = wi_sum_keep(c.near, axes);
    c.drift = weft_mul(c.total, share);
    return c;
}

/* max(n - correction, 0), of rank 0. */
static weft_tensor *divisor(const weft_tensor *y) {
    weft_tensor *x = y->inputs[0];
    int64_t count;
    int power;
    wi_axes_count(x, y->attributes->variance.axes, &count, &power);
    const int32_t correction = y->attributes->variance.correction;
    if (power == 0) return wi_constant_count(x->graph, x->dtype, count - correction, 0);
    weft_tensor *all = wi_constant_count(x->graph, x->dtype, count, power);
    weft_tensor *rest = weft_sub(all, weft_number(all, correction));
    return correction > 0 ? weft_maximum(rest, weft_number(all, 0)) : rest;
}

static weft_tensor *var_lower(weft_tensor *y, bool inference) {
    (void)inference;
    const uint32_t axes = y->attributes->variance.axes;
    const centred c = centre(y->inputs[0], axes);
    weft_tensor *spread = weft_sub(wi_sum_keep(weft_square(c.near), axes), weft_mul(c.total, c.drift));
    return weft_div(weft_maximum(spread, weft_number(spread, 0)), divisor(y));
}

/* The gradient of the variance: 2 (x - mean) / divisor. */
static weft_tensor *spread_back(weft_tensor *y, weft_tensor *g) {
    const centred c = centre(y->inputs[0], y->attributes->variance.axes);
    return weft_mul(weft_sub(c.near, c.drift), weft_div(weft_mul(g, weft_number(g, 2)), divisor(y)));
}

static void var_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    gradients[0] = spread_back(y, g);
}

const wi_op wi_op_var = {.name = "var",
    .kind = WI_COMPOSITE,
    .attribute_bytes = sizeof(wi_variance_attributes),
    .lower = var_lower};

static weft_tensor *std_lower(weft_tensor *y, bool inference) {
    return weft_sqrt(var_lower(y, inference));
}

static void std_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    weft_tensor *zero = weft_number(g, 0);
    weft_tensor *slope = weft_div(weft_mul(g, weft_number(g, 0.5)), y);
    gradients[0] = spread_back(y, weft_where(weft_equal(y, zero), zero, slope));
}

const wi_op wi_op_std = {.name = "std",
    .kind = WI_COMPOSITE,
    .attribute_bytes = sizeof(wi_variance_attributes),
    .lower = std_lower};

static weft_tensor *moment(const wi_op *op, weft_tensor *x, int correction, const int64_t *axes, bool keep) {
    uint32_t mask;
    if (!wi_reduce_float_axes(op->name, x, axes, &mask)) return NULL;
    if (!WI_TAKES_NUMBERS(x->graph, op->name, {"correction", (double)correction})) return NULL;
    if (correction < 0)
        return wi_graph_fail(
            x->graph, WEFT_ERROR_ARGUMENT, "%s: correction is %d, expected 0 or more", op->name, correction);
    const wi_attributes attributes = {.variance = {.axes = mask, .correction = correction}};
    return wi_reduce_composite(op, x, mask, &attributes, keep);
}

weft_tensor *weft_var_with(weft_tensor *x, int correction, const int64_t *axes, bool keep) {
    return WI_CALL(x, "weft_var_with", moment(&wi_op_var, x, correction, axes, keep));
}
weft_tensor *weft_std_with(weft_tensor *x, int correction, const int64_t *axes, bool keep) {
    return WI_CALL(x, "weft_std_with", moment(&wi_op_std, x, correction, axes, keep));
}
weft_tensor *weft_var_axes(weft_tensor *x, const int64_t *axes, bool keep) {
    return WI_CALL(x, "weft_var", weft_var_with(x, 1, axes, keep));
}
weft_tensor *weft_std_axes(weft_tensor *x, const int64_t *axes, bool keep) {
    return WI_CALL(x, "weft_std", weft_std_with(x, 1, axes, keep));
}

const wi_op_rules wi_moments_rules[] = {
    {.op = &wi_op_var, .backward = var_backward}, {.op = &wi_op_std, .backward = std_backward}, {0}};
