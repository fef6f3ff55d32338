/* Elementwise ops of ONNX (https://onnx.ai/onnx/operators). Those that are one op of Weft's stand in tables. */
#include "onnx_node.h"
#include <math.h>
#include <string.h>

static const struct {
    const char *name;
    weft_tensor *(*op)(weft_tensor *x);
} of_one[] = {{"Abs", weft_abs}, {"Acos", weft_acos}, {"Asin", weft_asin}, {"Atan", weft_atan},
    {"Ceil", weft_ceil}, {"Cos", weft_cos}, {"Erf", weft_erf}, {"Exp", weft_exp}, {"Floor", weft_floor},
    {"HardSwish", weft_hardswish}, {"IsNaN", weft_isnan}, {"Log", weft_log}, {"Mish", weft_mish},
    {"Neg", weft_neg}, {"Not", weft_logical_not}, {"Reciprocal", weft_reciprocal}, {"Relu", weft_relu},
    {"Round", weft_round}, {"Sigmoid", weft_sigmoid}, {"Sign", weft_sign}, {"Sin", weft_sin},
    {"Softplus", weft_softplus}, {"Softsign", weft_softsign}, {"Sqrt", weft_sqrt}, {"Tan", weft_tan},
    {"Tanh", weft_tanh}};

static const struct {
    const char *name;
    weft_tensor *(*op)(weft_tensor *a, weft_tensor *b);
} of_two[] = {{"Add", weft_add}, {"And", weft_logical_and}, {"Div", weft_div}, {"Equal", weft_equal},
    {"Greater", weft_greater}, {"GreaterOrEqual", weft_greater_equal}, {"Less", weft_less},
    {"LessOrEqual", weft_less_equal}, {"Max", weft_maximum}, {"Mean", weft_add}, {"Min", weft_minimum},
    {"Mul", weft_mul}, {"Or", weft_logical_or}, {"Sub", weft_sub}, {"Sum", weft_add},
    {"Xor", weft_logical_xor}};

static weft_tensor *one(onnx_network *n, onnx_node *node) {
    weft_tensor *const x = onnx_get(n, node, 0);
    for (size_t i = 0; x && i < sizeof of_one / sizeof *of_one; i++)
        if (strcmp(of_one[i].name, node->op_type) == 0) return of_one[i].op(x);
    return NULL;
}

/* Of two inputs, or one by one of any number. */
static weft_tensor *several(onnx_network *n, onnx_node *node) {
    weft_tensor *(*op)(weft_tensor *, weft_tensor *) = NULL;
    for (size_t i = 0; i < sizeof of_two / sizeof *of_two; i++)
        if (strcmp(of_two[i].name, node->op_type) == 0) op = of_two[i].op;
    weft_tensor *result = onnx_get(n, node, 0);
    for (size_t i = 1; result && op && i < node->n_input; i++) {
        weft_tensor *const next = onnx_get(n, node, i);
        result = next ? op(result, next) : NULL;
    }
    if (result && strcmp(node->op_type, "Mean") == 0) return weft_div_number(result, (double)node->n_input);
    return result;
}

static weft_tensor *build_pow(onnx_network *n, onnx_node *node) {
    weft_tensor *const x = onnx_get(n, node, 0);
    const onnx_numbers *const known = onnx_known(n, node, 1);
    if (x && known && known->count == 1 && known->rank == 0) return weft_pow_number(x, known->data[0]);
    weft_tensor *const y = onnx_get(n, node, 1);
    return x && y ? weft_pow(x, weft_cast(y, weft_tensor_dtype(x))) : NULL;
}

static weft_tensor *build_leaky_relu(onnx_network *n, onnx_node *node) {
    weft_tensor *const x = onnx_get(n, node, 0);
    return x ? weft_leaky_relu(x, onnx_real(node, "alpha", 0.01)) : NULL;
}

static weft_tensor *build_elu(onnx_network *n, onnx_node *node) {
    weft_tensor *const x = onnx_get(n, node, 0);
    return x ? weft_elu(x, onnx_real(node, "alpha", 1)) : NULL;
}

static weft_tensor *build_selu(onnx_network *n, onnx_node *node) {
    weft_tensor *const x = onnx_get(n, node, 0);
    const double alpha = onnx_real(node, "alpha", 1.67326319217681884765625);
    return x ? weft_mul_number(weft_elu(x, alpha), onnx_real(node, "gamma", 1.05070102214813232421875))
             : NULL;
}

static weft_tensor *build_hard_sigmoid(onnx_network *n, onnx_node *node) {
    weft_tensor *const x = onnx_get(n, node, 0);
    if (!x) return NULL;
    const double slope = onnx_real(node, "alpha", 0.2), offset = onnx_real(node, "beta", 0.5);
    return weft_clamp(weft_add_number(weft_mul_number(x, slope), offset), 0, 1);
}

static weft_tensor *build_gelu(onnx_network *n, onnx_node *node) {
    weft_tensor *const x = onnx_get(n, node, 0);
    if (!x) return NULL;
    return onnx_says(node, "approximate", "tanh") ? weft_gelu_tanh(x) : weft_gelu(x);
}

/* The slope broadcasts to x, with any number of dimensions. */
static weft_tensor *build_prelu(onnx_network *n, onnx_node *node) {
    weft_tensor *const x = onnx_get(n, node, 0), *const slope = onnx_get(n, node, 1);
    if (!x || !slope) return NULL;
    return weft_sub(weft_relu(x), weft_mul(weft_relu(weft_neg(x)), slope));
}

/* Bounds are attributes up to version 6, inputs from 11 on. */
static weft_tensor *build_clip(onnx_network *n, onnx_node *node) {
    weft_tensor *const x = onnx_get(n, node, 0);
    const double low = onnx_get_number(n, node, 1, onnx_real(node, "min", -(double)INFINITY));
    const double high = onnx_get_number(n, node, 2, onnx_real(node, "max", (double)INFINITY));
    return x && n->status == WEFT_OK ? weft_clamp(x, low, high) : NULL;
}

static weft_tensor *build_where(onnx_network *n, onnx_node *node) {
    weft_tensor *const condition = onnx_get(n, node, 0), *const a = onnx_get(n, node, 1),
                       *const b = onnx_get(n, node, 2);
    return condition && a && b ? weft_where(condition, a, b) : NULL;
}

static weft_tensor *build_cast(onnx_network *n, onnx_node *node) {
    weft_tensor *const x = onnx_get(n, node, 0);
    weft_dtype dtype;
    if (!x) return NULL;
    if (onnx_dtype(&dtype, (int)onnx_whole(node, "to", 0), node->output[0]) != WEFT_OK)
        return onnx_fail(
            n, node, WEFT_ERROR_UNSUPPORTED, "type %d is not supported", (int)onnx_whole(node, "to", 0));
    return weft_cast(x, dtype);
}

/* With the sign of the divisor, as in Python; fmod has that of the first. */
static weft_tensor *build_mod(onnx_network *n, onnx_node *node) {
    weft_tensor *const a = onnx_get(n, node, 0), *const b = onnx_get(n, node, 1);
    if (onnx_whole(node, "fmod", 0))
        return onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED, "fmod is not supported");
    return a && b ? weft_remainder(a, b) : NULL;
}

static weft_tensor *build_identity(onnx_network *n, onnx_node *node) {
    return onnx_get(n, node, 0);
}

/* A file of a network in training says so; all others drop nothing. */
static weft_tensor *build_dropout(onnx_network *n, onnx_node *node) {
    weft_tensor *const x = onnx_get(n, node, 0);
    const bool training = onnx_get_number(n, node, 2, 0) != 0;
    const double ratio = onnx_get_number(n, node, 1, onnx_real(node, "ratio", 0.5));
    if (!x || n->status != WEFT_OK) return NULL;
    if (node->n_output > 1 && node->output[1][0])
        return onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED, "only its first output is supported");
    return training ? weft_dropout(x, (float)ratio) : x;
}

const onnx_op onnx_elementwise_ops[] = {{"Abs", one}, {"Acos", one}, {"Asin", one}, {"Atan", one},
    {"Ceil", one}, {"Cos", one}, {"Erf", one}, {"Exp", one}, {"Floor", one}, {"HardSwish", one},
    {"IsNaN", one}, {"Log", one}, {"Mish", one}, {"Neg", one}, {"Not", one}, {"Reciprocal", one},
    {"Relu", one}, {"Round", one}, {"Sigmoid", one}, {"Sign", one}, {"Sin", one}, {"Softplus", one},
    {"Softsign", one}, {"Sqrt", one}, {"Tan", one}, {"Tanh", one}, {"Add", several}, {"And", several},
    {"Div", several}, {"Equal", several}, {"Greater", several}, {"GreaterOrEqual", several},
    {"Less", several}, {"LessOrEqual", several}, {"Max", several}, {"Mean", several}, {"Min", several},
    {"Mul", several}, {"Or", several}, {"Sub", several}, {"Sum", several}, {"Xor", several},
    {"Pow", build_pow}, {"Mod", build_mod}, {"LeakyRelu", build_leaky_relu}, {"Elu", build_elu},
    {"Selu", build_selu}, {"HardSigmoid", build_hard_sigmoid}, {"Gelu", build_gelu}, {"PRelu", build_prelu},
    {"Clip", build_clip}, {"Where", build_where}, {"Cast", build_cast}, {"Identity", build_identity},
    {"Dropout", build_dropout}, {NULL, NULL}};
