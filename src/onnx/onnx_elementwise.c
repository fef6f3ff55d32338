/* Elementwise ops of ONNX (https://onnx.ai/onnx/operators). */
#include "onnx/onnx_node.h"
#include <math.h>
#include <string.h>

weft_tensor *wi_onnx_build_elementwise(wi_onnx_import *n, wi_onnx_node *node, const wi_onnx_op *op) {
    weft_tensor *result = wi_onnx_get(n, node, 0);
    if (op->one) return result ? op->one(result) : NULL;
    for (size_t i = 1; result && i < node->n_input; i++) {
        weft_tensor *const next = wi_onnx_get(n, node, i);
        result = next ? op->two(result, next) : NULL;
    }
    return result;
}

static weft_tensor *build_mean(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const sum = wi_onnx_build_elementwise(n, node, &(wi_onnx_op){.two = weft_add});
    return sum ? weft_div_number(sum, (double)node->n_input) : NULL;
}

static weft_tensor *build_pow(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0);
    const wi_onnx_numbers *const known = wi_onnx_known(n, node, 1);
    if (x && known && known->count == 1 && known->rank == 0) return weft_pow_number(x, known->data[0]);
    weft_tensor *const y = wi_onnx_get(n, node, 1);
    return x && y ? weft_pow(x, weft_cast(y, weft_tensor_dtype(x))) : NULL;
}

static weft_tensor *build_leaky_relu(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0);
    return x ? weft_leaky_relu(x, wi_onnx_real(node, "alpha", 0.01)) : NULL;
}

static weft_tensor *build_elu(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0);
    return x ? weft_elu(x, wi_onnx_real(node, "alpha", 1)) : NULL;
}

static weft_tensor *build_selu(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0);
    const double alpha = wi_onnx_real(node, "alpha", 1.67326319217681884765625);
    return x ? weft_mul_number(weft_elu(x, alpha), wi_onnx_real(node, "gamma", 1.05070102214813232421875))
             : NULL;
}

static weft_tensor *build_hard_sigmoid(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0);
    if (!x) return NULL;
    const double slope = wi_onnx_real(node, "alpha", 0.2), offset = wi_onnx_real(node, "beta", 0.5);
    return weft_clamp(weft_add_number(weft_mul_number(x, slope), offset), 0, 1);
}

static weft_tensor *build_gelu(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0);
    if (!x) return NULL;
    return wi_onnx_says(node, "approximate", "tanh") ? weft_gelu_tanh(x) : weft_gelu(x);
}

/* The slope broadcasts to x, with any number of dimensions. */
static weft_tensor *build_prelu(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0), *const slope = wi_onnx_get(n, node, 1);
    if (!x || !slope) return NULL;
    return weft_sub(weft_relu(x), weft_mul(weft_relu(weft_neg(x)), slope));
}

/* Bounds are attributes up to version 6, inputs from 11 on. */
static weft_tensor *build_clip(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0);
    const double low = wi_onnx_get_number(n, node, 1, wi_onnx_real(node, "min", -(double)INFINITY));
    const double high = wi_onnx_get_number(n, node, 2, wi_onnx_real(node, "max", (double)INFINITY));
    return x && n->status == WEFT_OK ? weft_clamp(x, low, high) : NULL;
}

static weft_tensor *build_where(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const condition = wi_onnx_get(n, node, 0), *const a = wi_onnx_get(n, node, 1),
                       *const b = wi_onnx_get(n, node, 2);
    return condition && a && b ? weft_where(condition, a, b) : NULL;
}

static weft_tensor *build_cast(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0);
    weft_dtype dtype;
    if (!x) return NULL;
    if (wi_onnx_dtype(&dtype, (int)wi_onnx_whole(node, "to", 0), node->output[0]) != WEFT_OK)
        return wi_onnx_fail(
            n, node, WEFT_ERROR_UNSUPPORTED, "type %d is not supported", (int)wi_onnx_whole(node, "to", 0));
    return weft_cast(x, dtype);
}

/* With the sign of the divisor, as in Python; fmod has that of the first. */
static weft_tensor *build_mod(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const a = wi_onnx_get(n, node, 0), *const b = wi_onnx_get(n, node, 1);
    if (wi_onnx_whole(node, "fmod", 0))
        return wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED, "fmod is not supported");
    return a && b ? weft_remainder(a, b) : NULL;
}

static weft_tensor *build_identity(wi_onnx_import *n, wi_onnx_node *node) {
    return wi_onnx_get(n, node, 0);
}

/* A file of a network in training says so; all others drop nothing. */
static weft_tensor *build_dropout(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0);
    const bool training = wi_onnx_get_number(n, node, 2, 0) != 0;
    const double ratio = wi_onnx_get_number(n, node, 1, wi_onnx_real(node, "ratio", 0.5));
    if (!x || n->status != WEFT_OK) return NULL;
    if (node->n_output > 1 && node->output[1][0])
        return wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED, "only its first output is supported");
    return training ? weft_dropout(x, (float)ratio) : x;
}

const wi_onnx_op wi_onnx_elementwise_ops[] = {{"Abs", .one = weft_abs}, {"Acos", .one = weft_acos},
    {"Asin", .one = weft_asin}, {"Atan", .one = weft_atan}, {"Ceil", .one = weft_ceil},
    {"Cos", .one = weft_cos}, {"Erf", .one = weft_erf}, {"Exp", .one = weft_exp},
    {"Floor", .one = weft_floor}, {"HardSwish", .one = weft_hardswish}, {"IsNaN", .one = weft_isnan},
    {"Log", .one = weft_log}, {"Mish", .one = weft_mish}, {"Neg", .one = weft_neg},
    {"Not", .one = weft_logical_not}, {"Reciprocal", .one = weft_reciprocal}, {"Relu", .one = weft_relu},
    {"Round", .one = weft_round}, {"Sigmoid", .one = weft_sigmoid}, {"Sign", .one = weft_sign},
    {"Sin", .one = weft_sin}, {"Softplus", .one = weft_softplus}, {"Softsign", .one = weft_softsign},
    {"Sqrt", .one = weft_sqrt}, {"Tan", .one = weft_tan}, {"Tanh", .one = weft_tanh},
    {"Add", .two = weft_add}, {"And", .two = weft_logical_and}, {"Div", .two = weft_div},
    {"Equal", .two = weft_equal}, {"Greater", .two = weft_greater},
    {"GreaterOrEqual", .two = weft_greater_equal}, {"Less", .two = weft_less},
    {"LessOrEqual", .two = weft_less_equal}, {"Max", .two = weft_maximum}, {"Min", .two = weft_minimum},
    {"Mul", .two = weft_mul}, {"Or", .two = weft_logical_or}, {"Sub", .two = weft_sub},
    {"Sum", .two = weft_add}, {"Xor", .two = weft_logical_xor}, {"Mean", .build = build_mean},
    {"Pow", .build = build_pow}, {"Mod", .build = build_mod}, {"LeakyRelu", .build = build_leaky_relu},
    {"Elu", .build = build_elu}, {"Selu", .build = build_selu}, {"HardSigmoid", .build = build_hard_sigmoid},
    {"Gelu", .build = build_gelu}, {"PRelu", .build = build_prelu, .weights = 1u << 1},
    {"Clip", .build = build_clip, .host = 1u << 1 | 1u << 2}, {"Where", .build = build_where},
    {"Cast", .build = build_cast}, {"Identity", .build = build_identity},
    {"Dropout", .build = build_dropout, .host = 1u << 1 | 1u << 2}, {0}};
