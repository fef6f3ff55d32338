/* Elementwise ops of ONNX (https://onnx.ai/onnx/operators): arithmetic, comparisons, logic and casts. */
#include "onnx/onnx_types.h"
#include <math.h>

/* Up to version 6, the attribute `axis` says with which axis of the first input the first axis of the second input is aligned. */
static weft_tensor *at_axis(wi_onnx_import *n, wi_onnx_node *node, weft_tensor *a, weft_tensor *b) {
    if (n->version >= 7 || !b || !wi_onnx_attribute(node, "axis")) return b;
    const int axis = wi_onnx_axis(wi_onnx_whole(node, "axis", 0), weft_tensor_rank(a));
    for (int d = axis + weft_tensor_rank(b); d < weft_tensor_rank(a); d++) b = weft_unsqueeze(b, -1);
    return b;
}

weft_tensor *wi_onnx_build_elementwise(wi_onnx_import *n, wi_onnx_node *node, const wi_onnx_op *op) {
    weft_tensor *result = wi_onnx_get(n, node, 0);
    if (op->one) result = result ? op->one(result) : NULL;
    for (size_t i = 1; op->two && result && i < node->n_input; i++) {
        weft_tensor *const next = at_axis(n, node, result, wi_onnx_get(n, node, i));
        result = next ? op->two(result, next) : NULL;
    }
    return op->wraps ? wi_onnx_wrap(result, wi_onnx_get_type(n, node, 0)) : result;
}

static weft_tensor *build_mean(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const sum = wi_onnx_build_elementwise(n, node, &(wi_onnx_op){.two = weft_add});
    return sum ? weft_div_number(sum, (double)node->n_input) : NULL;
}

static weft_tensor *equal(weft_tensor *a, weft_tensor *b) {
    return weft_tensor_dtype(a) == WEFT_BOOL ? weft_logical_not(weft_logical_xor(a, b)) : weft_equal(a, b);
}

/* A bound that is a tensor; NULL: there is no such input, or the host knows its number. */
static weft_tensor *bound_of(wi_onnx_import *n, wi_onnx_node *node, size_t index) {
    return wi_onnx_has(node, index) && !wi_onnx_known(n, node, index) ? wi_onnx_get(n, node, index) : NULL;
}

/* Bounds are attributes up to version 6, inputs from 11 on. */
static weft_tensor *build_clip(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *x = wi_onnx_get(n, node, 0);
    weft_tensor *const least = bound_of(n, node, 1), *const most = bound_of(n, node, 2);
    const double low = least ? -(double)INFINITY
                             : wi_onnx_get_number(n, node, 1, wi_onnx_real(node, "min", -(double)INFINITY));
    const double high =
        most ? (double)INFINITY : wi_onnx_get_number(n, node, 2, wi_onnx_real(node, "max", (double)INFINITY));
    if (!x || n->status != WEFT_OK) return NULL;
    if (!least && !most) return weft_clamp(x, low, high);
    x = least ? weft_maximum(x, least) : isinf(low) ? x : weft_maximum_number(x, low);
    return most ? weft_minimum(x, most) : isinf(high) ? x : weft_minimum_number(x, high);
}

static weft_tensor *build_where(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const condition = wi_onnx_get(n, node, 0), *const a = wi_onnx_get(n, node, 1),
                       *const b = wi_onnx_get(n, node, 2);
    if (!condition || !a || !b) return NULL;
    if (weft_tensor_dtype(a) != WEFT_BOOL) return weft_where(condition, a, b);
    return weft_logical_or(weft_logical_and(condition, a), weft_logical_and(weft_logical_not(condition), b));
}

/* Cast and CastLike. The type of CastLike is that of its second input. */
static weft_tensor *build_cast(wi_onnx_import *n, wi_onnx_node *node) {
    const int type = node->op_type[4] ? wi_onnx_get_type(n, node, 1) : (int)wi_onnx_whole(node, "to", 0);
    weft_tensor *const y =
        wi_onnx_cast(n, node, wi_onnx_get(n, node, 0), type, wi_onnx_whole(node, "saturate", 1) != 0);
    if (y) wi_onnx_set_type(n, node, 0, type);
    return y;
}

static weft_tensor *build_identity(wi_onnx_import *n, wi_onnx_node *node) {
    return wi_onnx_get(n, node, 0);
}

static weft_tensor *build_is_inf(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0);
    const bool below = wi_onnx_whole(node, "detect_negative", 1) != 0,
               above = wi_onnx_whole(node, "detect_positive", 1) != 0;
    if (!x || (below && above)) return x ? weft_isinf(x) : NULL;
    return weft_logical_and(weft_isinf(x), below   ? weft_less_number(x, 0)
                                           : above ? weft_greater_number(x, 0)
                                                   : weft_constant(n->graph, WEFT_BOOL, 0));
}

/* Drops elements only if the file says that the network is in training. Otherwise the result is x, and the mask is true everywhere. */
static weft_tensor *build_dropout(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0);
    const bool training = wi_onnx_get_number(n, node, 2, 0) != 0;
    const double ratio = wi_onnx_get_number(n, node, 1, wi_onnx_real(node, "ratio", 0.5));
    const bool masks = node->n_output > 1 && node->output[1][0];
    int64_t dims[WEFT_MAX_RANK];
    if (!x || n->status != WEFT_OK) return NULL;
    if (masks && training && ratio != 0)
        return wi_onnx_fail(
            n, node, WEFT_ERROR_UNSUPPORTED, "the mask of a dropout in training is not supported");
    wi_onnx_dims(x, dims);
    if (masks) wi_onnx_set(n, node, 1, weft_full(n->graph, WEFT_BOOL, 1, weft_tensor_rank(x), dims));
    return training ? weft_dropout(x, (float)ratio) : x;
}

const wi_onnx_op wi_onnx_elementwise_ops[] = {{"Abs", .one = weft_abs, .wraps = true},
    {"Ceil", .one = weft_ceil}, {"Floor", .one = weft_floor}, {"IsNaN", .one = weft_isnan},
    {"Neg", .one = weft_neg, .wraps = true}, {"Not", .one = weft_logical_not}, {"Relu", .one = weft_relu},
    {"Round", .one = weft_round}, {"Sign", .one = weft_sign}, {"Add", .two = weft_add, .wraps = true},
    {"And", .two = weft_logical_and}, {"Equal", .two = equal}, {"Greater", .two = weft_greater},
    {"GreaterOrEqual", .two = weft_greater_equal}, {"Less", .two = weft_less},
    {"LessOrEqual", .two = weft_less_equal}, {"Max", .two = weft_maximum}, {"Min", .two = weft_minimum},
    {"Mul", .two = weft_mul, .wraps = true}, {"Or", .two = weft_logical_or},
    {"Sub", .two = weft_sub, .wraps = true}, {"Sum", .two = weft_add, .wraps = true},
    {"Xor", .two = weft_logical_xor}, {"Mean", .build = build_mean}, {"IsInf", .build = build_is_inf},
    {"Clip", .build = build_clip, .host = 1u << 1 | 1u << 2}, {"Where", .build = build_where},
    {"Cast", .build = build_cast}, {"CastLike", .build = build_cast}, {"Identity", .build = build_identity},
    {"Dropout", .build = build_dropout, .host = 1u << 1 | 1u << 2}, {0}};
