/* Activations with parameters. They create nodes of other elementwise ops, which are fused as one op would be. */
#include "ops/op_table.h"
#include <math.h>

/* Replaces x by 0 where the condition holds, because another branch of the activation is used there: an overflow of the
 * unused branch, such as exp of a large number, would make the gradient NaN. */
static weft_tensor *except_where(weft_tensor *condition, weft_tensor *x) {
    return weft_where(condition, weft_number(x, 0), x);
}

static weft_tensor *positive(weft_tensor *x) {
    return weft_less(weft_number(x, 0), x);
}

static bool is_float(const char *op, weft_tensor *x) {
    if (wi_dtype_is_float(x->dtype)) return true;
    wi_graph_fail(x->graph, WEFT_ERROR_DTYPE, "%s: takes %s, not %s; weft_cast converts", op,
        wi_dtypes_text(WI_TAKES_FLOATS), weft_dtype_name(x->dtype));
    return false;
}

static bool bounds_valid(const char *op, weft_tensor *x, double low, double high) {
    if (!wi_dtype_computes(x->dtype)) {
        wi_graph_fail(x->graph, WEFT_ERROR_DTYPE, "%s: takes %s, not %s; weft_cast converts", op,
            wi_dtypes_text(WI_TAKES_FLOATS | WI_TAKES_INTEGERS), weft_dtype_name(x->dtype));
        return false;
    }
    if (!wi_takes_number(x->graph, op, low) || !wi_takes_number(x->graph, op, high)) return false;
    if (!isnan(low) && !isnan(high)) return true;
    wi_graph_fail(
        x->graph, WEFT_ERROR_ARGUMENT, "%s: a bound is NaN; use -INFINITY or INFINITY for no bound", op);
    return false;
}

static weft_tensor *build_clamp(weft_tensor *x, double low, double high) {
    if (!wi_inputs_graph("clamp", &x, 1) || !bounds_valid("clamp", x, low, high)) return NULL;
    weft_tensor *bottom = weft_number(x, low), *top = weft_number(x, high);
    const bool has_bottom = low > -(double)INFINITY, has_top = high < (double)INFINITY;
    weft_tensor *raised = has_bottom ? weft_where(weft_less_equal(x, bottom), bottom, x) : x;
    return has_top ? weft_where(weft_less_equal(top, raised), top, raised) : raised;
}

weft_tensor *weft_clamp(weft_tensor *x, double low, double high) {
    return WI_CALL(x, "weft_clamp", build_clamp(x, low, high));
}

static weft_tensor *build_hardtanh(weft_tensor *x, double low, double high) {
    if (!wi_inputs_graph("hardtanh", &x, 1) || !is_float("hardtanh", x) ||
        !bounds_valid("hardtanh", x, low, high))
        return NULL;
    if (!(low < high))
        return wi_graph_fail(
            x->graph, WEFT_ERROR_ARGUMENT, "hardtanh: low %g is not below high %g", low, high);
    weft_tensor *bottom = weft_number(x, low), *top = weft_number(x, high);
    return weft_where(weft_less_equal(x, bottom), bottom, weft_where(weft_less_equal(top, x), top, x));
}

weft_tensor *weft_hardtanh(weft_tensor *x, double low, double high) {
    return WI_CALL(x, "weft_hardtanh", build_hardtanh(x, low, high));
}

static weft_tensor *build_leaky_relu(weft_tensor *x, double slope) {
    if (!wi_inputs_graph("leaky_relu", &x, 1) || !is_float("leaky_relu", x) ||
        !wi_takes_number(x->graph, "leaky_relu", slope))
        return NULL;
    return weft_where(positive(x), x, weft_mul_number(x, slope));
}

weft_tensor *weft_leaky_relu(weft_tensor *x, double slope) {
    return WI_CALL(x, "weft_leaky_relu", build_leaky_relu(x, slope));
}

static weft_tensor *build_elu(weft_tensor *x, double alpha) {
    if (!wi_inputs_graph("elu", &x, 1) || !is_float("elu", x) || !wi_takes_number(x->graph, "elu", alpha))
        return NULL;
    if (wi_dtype_rounds(x->dtype)) return weft_cast(weft_elu(wi_wide(x), alpha), x->dtype);
    weft_tensor *up = positive(x), *curve = weft_expm1(except_where(up, x));
    return weft_where(up, x, weft_mul(curve, weft_number(x, alpha)));
}

weft_tensor *weft_elu(weft_tensor *x, double alpha) {
    return WI_CALL(x, "weft_elu", build_elu(x, alpha));
}

/* Reshapes the weight, (1) or (C), so that it broadcasts along axis 1 of x. */
static weft_tensor *along_channels(weft_tensor *x, weft_tensor *weight) {
    int64_t dims[WEFT_MAX_RANK];
    const int channel_axis = x->shape.rank > 1 ? 1 : 0;
    for (int i = 0; i < x->shape.rank; i++) dims[i] = 1;
    if (x->shape.rank > 0) dims[channel_axis] = weight->shape.dims[0];
    return weft_reshape_shape(weight, x->shape.rank, dims);
}

static weft_tensor *build_prelu(weft_tensor *x, weft_tensor *weight) {
    weft_tensor *inputs[] = {x, weight};
    if (!wi_inputs_graph("prelu", inputs, 2) || !is_float("prelu", x) || !is_float("prelu", weight))
        return NULL;
    const int64_t channels = x->shape.rank > 1 ? x->shape.dims[1] : 1;
    const bool fits =
        weight->shape.rank == 1 &&
        (weight->shape.dims[0] == 1 || (x->shape.rank > 1 && weight->shape.dims[0] == channels));
    char text_x[WI_SHAPE_TEXT], text_weight[WI_SHAPE_TEXT];
    if (!fits)
        return wi_graph_fail(x->graph, WEFT_ERROR_SHAPE,
            "prelu: the weight %s is neither (1) nor as long as axis 1 of %s",
            wi_shape_print(weight->graph, &weight->shape, text_weight),
            wi_shape_print(x->graph, &x->shape, text_x));
    weft_tensor *up = positive(x);
    return weft_where(up, x, weft_mul(except_where(up, x), along_channels(x, weight)));
}

weft_tensor *weft_prelu(weft_tensor *x, weft_tensor *weight) {
    return WI_CALL(x, "weft_prelu", build_prelu(x, weight));
}

static weft_tensor *build_glu(weft_tensor *x, int axis) {
    weft_tensor *halves[2];
    if (!wi_inputs_graph("glu", &x, 1) || !is_float("glu", x)) return NULL;
    return weft_split(x, axis, 2, halves) ? NULL : weft_mul(halves[0], weft_sigmoid(halves[1]));
}

weft_tensor *weft_glu(weft_tensor *x, int axis) {
    return WI_CALL(x, "weft_glu", build_glu(x, axis));
}
