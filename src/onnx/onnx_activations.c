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

/* ---- hyperbolic functions ---- */

/* exp(|x|) / 2. It overflows only if the hyperbolic function itself does, because exp(|x| / 2) is squared instead of computing exp(|x|). */
static weft_tensor *half_exp(weft_tensor *magnitude) {
    weft_tensor *const root = weft_exp(weft_mul_number(magnitude, 0.5));
    return weft_mul(weft_mul_number(root, 0.5), root);
}

/* For small x, exp(x) - exp(-x) is computed as e + e / (e + 1) with e = exp(x) - 1, which loses no digits. The inputs of the branch that is
 * not selected are bounded, because its gradient is multiplied by 0 and must be finite. */
static weft_tensor *hyperbolic_sine(weft_tensor *x) {
    enum { LARGE = 10 };
    weft_tensor *const magnitude = weft_abs(x);
    weft_tensor *const e = weft_expm1(weft_minimum_number(magnitude, LARGE));
    weft_tensor *const small = weft_mul_number(weft_add(e, weft_div(e, weft_add_number(e, 1))), 0.5);
    return weft_mul(
        weft_sign(x), weft_where(weft_greater_number(magnitude, LARGE), half_exp(magnitude), small));
}

static weft_tensor *hyperbolic_cosine(weft_tensor *x) {
    weft_tensor *const magnitude = weft_abs(x);
    return weft_add(half_exp(magnitude), weft_mul_number(weft_exp(weft_neg(magnitude)), 0.5));
}

/* log(2x) for x so large that x² and x² ± 1 are equal in f32; otherwise log1p(t). */
static weft_tensor *log_of(weft_tensor *x, weft_tensor *t, double large) {
    return weft_where(weft_greater_number(x, large),
        weft_add_number(weft_log(weft_maximum_number(x, large)), 0.693147180559945309417), weft_log1p(t));
}

static weft_tensor *area_sine(weft_tensor *x) {
    const double large = 1e6;
    weft_tensor *const magnitude = weft_abs(x), *const m = weft_minimum_number(magnitude, large);
    weft_tensor *const square = weft_square(m);
    weft_tensor *const root = weft_add_number(weft_sqrt(weft_add_number(square, 1)), 1);
    return weft_mul(weft_sign(x), log_of(magnitude, weft_add(m, weft_div(square, root)), large));
}

static weft_tensor *area_cosine(weft_tensor *x) {
    const double large = 1e6;
    weft_tensor *const t = weft_sub_number(weft_minimum_number(x, large), 1);
    weft_tensor *const root = weft_sqrt(weft_mul(t, weft_add_number(t, 2)));
    return log_of(x, weft_add(t, root), large);
}

static weft_tensor *area_tangent(weft_tensor *x) {
    return weft_mul_number(weft_sub(weft_log1p(x), weft_log1p(weft_neg(x))), 0.5);
}

const wi_onnx_op wi_onnx_activation_ops[] = {{"Acos", .one = weft_acos}, {"Acosh", .one = area_cosine},
    {"Asin", .one = weft_asin}, {"Asinh", .one = area_sine}, {"Atan", .one = weft_atan},
    {"Atanh", .one = area_tangent}, {"Cos", .one = weft_cos}, {"Cosh", .one = hyperbolic_cosine},
    {"Erf", .one = weft_erf}, {"Exp", .one = weft_exp}, {"HardSwish", .one = weft_hardswish},
    {"Log", .one = weft_log}, {"Mish", .one = weft_mish}, {"Reciprocal", .one = weft_reciprocal},
    {"Sigmoid", .one = weft_sigmoid}, {"Sin", .one = weft_sin}, {"Sinh", .one = hyperbolic_sine},
    {"Softplus", .one = weft_softplus}, {"Softsign", .one = weft_softsign}, {"Sqrt", .one = weft_sqrt},
    {"Tan", .one = weft_tan}, {"Tanh", .one = weft_tanh}, {"LeakyRelu", .build = build_leaky_relu},
    {"Elu", .build = build_elu}, {"Celu", .build = build_celu}, {"Selu", .build = build_selu},
    {"HardSigmoid", .build = build_hard_sigmoid}, {"Gelu", .build = build_gelu},
    {"Swish", .build = build_swish}, {"ThresholdedRelu", .build = build_thresholded_relu},
    {"Shrink", .build = build_shrink}, {"PRelu", .build = build_prelu, .weights = 1u << 1}, {0}};
