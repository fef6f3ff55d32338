/* Norms and logsumexp: composites, because the gradients of their formulas are not defined everywhere. */
#include "ops/reduction/reduce.h"
#include <math.h>

/* ---- norm ---- */

static weft_tensor *norm_lower(weft_tensor *y, bool inference) {
    (void)inference;
    weft_tensor *x = y->inputs[0];
    const wi_vector_norm_attributes *const a = &y->attributes->vector_norm;
    const uint32_t axes = a->axes;
    if (a->order == 1) return wi_sum_keep(weft_abs(x), axes);
    if (a->order == 2) return weft_sqrt(wi_sum_keep(weft_square(x), axes));
    return wi_max_keep(weft_abs(x), axes);
}

/* g with the sign of x, 0 at 0. */
static weft_tensor *signed_as(weft_tensor *x, weft_tensor *g) {
    weft_tensor *zero = weft_number(x, 0);
    return weft_where(weft_less(zero, x), g, weft_where(weft_less(x, zero), weft_neg(g), zero));
}

static void norm_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    weft_tensor *x = y->inputs[0], *zero = weft_number(y, 0);
    const wi_vector_norm_attributes *const a = &y->attributes->vector_norm;
    if (a->order == 1) {
        gradients[0] = signed_as(x, g);
    } else if (a->order == 2) {
        gradients[0] = weft_mul(x, weft_where(weft_equal(y, zero), zero, weft_div(g, y)));
    } else {
        weft_tensor *hit = weft_equal(weft_abs(x), y);
        weft_tensor *ties = wi_sum_keep(weft_cast(hit, x->dtype), a->axes);
        gradients[0] = weft_where(hit, signed_as(x, weft_div(g, ties)), zero);
    }
}

const wi_op wi_op_norm = {.name = "norm",
    .kind = WI_COMPOSITE,
    .attribute_bytes = sizeof(wi_vector_norm_attributes),
    .lower = norm_lower};

static weft_tensor *build_norm_with(weft_tensor *x, double order, const int64_t *axes, bool keep) {
    uint32_t mask;
    if (!wi_reduce_float_axes("norm", x, axes, &mask)) return NULL;
    if (order != 1 && order != 2 && order != (double)INFINITY)
        return wi_graph_fail(
            x->graph, WEFT_ERROR_ARGUMENT, "norm: order is %g, expected 1, 2 or INFINITY", order);
    const wi_attributes attributes = {.vector_norm = {.axes = mask, .order = (float)order}};
    return wi_reduce_composite(&wi_op_norm, x, mask, &attributes, keep);
}

weft_tensor *weft_norm_with(weft_tensor *x, double order, const int64_t *axes, bool keep) {
    return WI_CALL(x, "weft_norm_with", build_norm_with(x, order, axes, keep));
}

weft_tensor *weft_norm_axes(weft_tensor *x, const int64_t *axes, bool keep) {
    return WI_CALL(x, "weft_norm", weft_norm_with(x, 2, axes, keep));
}

/* ---- normalize ---- */

static weft_tensor *build_normalize(weft_tensor *x, double order, int axis, double epsilon) {
    if (!wi_inputs_graph("normalize", &x, 1) || !wi_takes_number(x->graph, "normalize", epsilon)) return NULL;
    if (!(epsilon >= 0 && epsilon < (double)INFINITY))
        return wi_graph_fail(
            x->graph, WEFT_ERROR_ARGUMENT, "normalize: epsilon is %g, expected 0 or more", epsilon);
    if (!wi_takes_dtype(x, "normalize", WI_TAKES_FLOATS)) return NULL;
    weft_tensor *const wide = wi_wide(x);
    weft_tensor *const norm = weft_norm_with(wide, order, (const int64_t[]){axis, WEFT_END}, true);
    weft_tensor *const y = weft_div(wide, weft_clamp(norm, epsilon, (double)INFINITY));
    return y ? weft_cast(y, x->dtype) : NULL;
}

weft_tensor *weft_normalize(weft_tensor *x, double order, int axis, double epsilon) {
    return WI_CALL(x, "weft_normalize", build_normalize(x, order, axis, epsilon));
}

/* ---- logsumexp ---- */

/* Nodes of the forward and the backward pass. */
typedef struct exponentials {
    weft_tensor *top; /* the maximum, or 0 if it is infinite, so that x - top is defined */
    weft_tensor *exp; /* of x - top */
    weft_tensor *sum;
} exponentials;

static exponentials exponentials_of(const weft_tensor *y) {
    weft_tensor *x = y->inputs[0];
    const uint32_t axes = y->attributes->over.axes;
    exponentials s;
    weft_tensor *most = wi_max_keep(x, axes), *zero = weft_number(most, 0);
    weft_tensor *infinite = weft_equal(weft_abs(most), weft_number(most, (double)INFINITY));
    s.top = weft_where(infinite, zero, most);
    s.exp = weft_exp(weft_sub(x, s.top));
    s.sum = wi_sum_keep(s.exp, axes);
    return s;
}

static weft_tensor *logsumexp_lower(weft_tensor *y, bool inference) {
    (void)inference;
    const exponentials s = exponentials_of(y);
    return weft_add(weft_log(s.sum), s.top);
}

static void logsumexp_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    const exponentials s = exponentials_of(y);
    weft_tensor *zero = weft_number(s.sum, 0);
    weft_tensor *share = weft_where(weft_equal(s.sum, zero), zero, weft_div(g, s.sum));
    gradients[0] = weft_mul(s.exp, share);
}

const wi_op wi_op_logsumexp = {.name = "logsumexp",
    .kind = WI_COMPOSITE,
    .attribute_bytes = sizeof(wi_over_attributes),
    .lower = logsumexp_lower};

static weft_tensor *build_logsumexp_axes(weft_tensor *x, const int64_t *axes, bool keep) {
    uint32_t mask;
    if (!wi_reduce_float_axes("logsumexp", x, axes, &mask)) return NULL;
    const wi_attributes attributes = {.over = {.axes = mask}};
    return wi_reduce_composite(&wi_op_logsumexp, x, mask, &attributes, keep);
}

weft_tensor *weft_logsumexp_axes(weft_tensor *x, const int64_t *axes, bool keep) {
    return WI_CALL(x, "weft_logsumexp", build_logsumexp_axes(x, axes, keep));
}

const wi_op_rules wi_norms_rules[] = {{.op = &wi_op_norm, .backward = norm_backward},
    {.op = &wi_op_logsumexp, .backward = logsumexp_backward}, {0}};
