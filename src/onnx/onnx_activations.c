/* Activations of ONNX, and functions of one float. */
#include "onnx/onnx_build.h"
#include <math.h>

static weft_tensor *build_leaky_relu(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0);
    return x ? weft_leaky_relu(x, wi_onnx_real(node, "alpha", 0.01)) : NULL;
}

static weft_tensor *build_elu(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0);
    return x ? weft_elu(x, wi_onnx_real(node, "alpha", 1)) : NULL;
}

/* max(x, 0) + min(alpha · (exp(x / alpha) - 1), 0) */
static weft_tensor *build_celu(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0);
    const double alpha = wi_onnx_real(node, "alpha", 1);
    return x ? weft_where(weft_greater_number(x, 0), x,
                   weft_mul_number(weft_elu(weft_mul_number(x, 1 / alpha), 1), alpha))
             : NULL;
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
    const int kind = wi_onnx_need_choice(n, node, "approximate", (const char *const[]){"none", "tanh", NULL});
    if (!x || kind < 0) return NULL;
    return kind == 1 ? weft_gelu_tanh(x) : weft_gelu(x);
}

/* x · sigmoid(alpha · x) */
static weft_tensor *build_swish(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0);
    const double alpha = wi_onnx_real(node, "alpha", 1);
    if (!x || alpha == 1) return x ? weft_silu(x) : NULL;
    return weft_mul(x, weft_sigmoid(weft_mul_number(x, alpha)));
}

static weft_tensor *build_thresholded_relu(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0);
    return x ? weft_where(weft_greater_number(x, wi_onnx_real(node, "alpha", 1)), x, weft_number(x, 0))
             : NULL;
}

/* Numbers between -lambd and lambd become 0; the bias is subtracted from larger numbers and added to smaller ones. */
static weft_tensor *build_shrink(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0);
    const double lambda = wi_onnx_real(node, "lambd", 0.5), bias = wi_onnx_real(node, "bias", 0);
    if (!x) return NULL;
    weft_tensor *const low =
        weft_where(weft_less_number(x, -lambda), weft_add_number(x, bias), weft_number(x, 0));
    return weft_where(weft_greater_number(x, lambda), weft_sub_number(x, bias), low);
}

/* The slope broadcasts to x; up to version 6 it has one number for each channel. */
static weft_tensor *build_prelu(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0), *const slope = wi_onnx_get(n, node, 1);
    if (!x || !slope) return NULL;
    if (n->version < 7 && weft_tensor_rank(slope) == 1) return weft_prelu(x, slope);
    return weft_where(weft_less_number(x, 0), weft_mul(x, slope), x);
}

const wi_onnx_op wi_onnx_activation_ops[] = {{"Acos", .one = weft_acos}, {"Acosh", .one = weft_acosh},
    {"Asin", .one = weft_asin}, {"Asinh", .one = weft_asinh}, {"Atan", .one = weft_atan},
    {"Atanh", .one = weft_atanh}, {"Cos", .one = weft_cos}, {"Cosh", .one = weft_cosh},
    {"Erf", .one = weft_erf}, {"Exp", .one = weft_exp}, {"HardSwish", .one = weft_hardswish},
    {"Log", .one = weft_log}, {"Mish", .one = weft_mish}, {"Reciprocal", .one = weft_reciprocal},
    {"Sigmoid", .one = weft_sigmoid}, {"Sin", .one = weft_sin}, {"Sinh", .one = weft_sinh},
    {"Softplus", .one = weft_softplus}, {"Softsign", .one = weft_softsign}, {"Sqrt", .one = weft_sqrt},
    {"Tan", .one = weft_tan}, {"Tanh", .one = weft_tanh}, {"LeakyRelu", .build = build_leaky_relu},
    {"Elu", .build = build_elu}, {"Celu", .build = build_celu}, {"Selu", .build = build_selu},
    {"HardSigmoid", .build = build_hard_sigmoid}, {"Gelu", .build = build_gelu},
    {"Swish", .build = build_swish}, {"ThresholdedRelu", .build = build_thresholded_relu},
    {"Shrink", .build = build_shrink}, {"PRelu", .build = build_prelu, .weights = 1u << 1}, {0}};
