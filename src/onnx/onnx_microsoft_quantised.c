/* Quantised operators of the domain com.microsoft: their inputs become floats, and results are quantised again. Each quantised tensor is
 * followed by its scale and its zero point. */
#include "onnx/onnx_build.h"
#include "onnx/onnx_quantised.h"
#include "onnx/onnx_recurrent.h"
#include <string.h>

/* Input `index` converted to floats; the two inputs after it are its scale and zero point. */
static weft_tensor *floats_of(wi_onnx_import *n, wi_onnx_node *node, size_t index) {
    weft_tensor *const q = wi_onnx_get(n, node, index);
    return q ? wi_onnx_dequantise(n, node, q, index + 1, index + 2, (wi_onnx_layout){0}) : NULL;
}

/* Quantises y with the scale in input `scale` and the zero point in the next input, to the type of input `like`. */
static weft_tensor *quantised(
    wi_onnx_import *n, wi_onnx_node *node, weft_tensor *y, size_t scale, size_t like) {
    return y ? wi_onnx_quantise(
                   n, node, y, scale, scale + 1, wi_onnx_get_type(n, node, like), (wi_onnx_layout){0})
             : NULL;
}

static weft_tensor *build_two(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const a = floats_of(n, node, 0), *const b = floats_of(n, node, 3);
    if (n->status != WEFT_OK) return NULL;
    return quantised(
        n, node, strcmp(node->op_type, "QLinearAdd") == 0 ? weft_add(a, b) : weft_mul(a, b), 6, 0);
}

static weft_tensor *build_one(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = floats_of(n, node, 0);
    if (!x) return NULL;
    return quantised(n, node,
        strcmp(node->op_type, "QLinearSigmoid") == 0 ? weft_sigmoid(x)
                                                     : weft_leaky_relu(x, wi_onnx_real(node, "alpha", 0.01)),
        3, 0);
}

static weft_tensor *build_pool(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = floats_of(n, node, 0);
    if (!x) return NULL;
    if (wi_onnx_whole(node, "channels_last", 0))
        return wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED, "channels_last is not supported");
    return quantised(n, node,
        strcmp(node->op_type, "QLinearAveragePool") == 0 ? wi_onnx_average_pool(n, node, x)
                                                         : weft_global_avg_pool(x),
        3, 0);
}

/* The first two inputs are the scale and the zero point of the result. */
static weft_tensor *build_concat(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *parts[64];
    const size_t count = node->n_input > 2 ? (node->n_input - 2) / 3 : 0;
    if (count == 0 || count > 64 || node->n_input != 2 + 3 * count)
        return wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED,
            "the number of its inputs is %zu, expected 2 and 3 for each of up to 64 parts", node->n_input);
    for (size_t i = 0; i < count; i++) parts[i] = floats_of(n, node, 2 + 3 * i);
    if (n->status != WEFT_OK) return NULL;
    const int axis = wi_onnx_axis_of(n, node, parts[0], 0);
    return axis < 0 ? NULL : quantised(n, node, weft_concat(parts, count, axis), 0, 2);
}

static weft_tensor *plus_bias(wi_onnx_import *n, wi_onnx_node *node, weft_tensor *y, size_t bias) {
    weft_tensor *const more = wi_onnx_optional(n, node, bias);
    return y && more ? weft_add(y, more) : n->status == WEFT_OK ? y : NULL;
}

/* Input B converted to floats; it may have a scale for each column. */
static weft_tensor *columns_of(wi_onnx_import *n, wi_onnx_node *node, size_t scale, size_t zero) {
    weft_tensor *const b = wi_onnx_get(n, node, 1);
    return b ? wi_onnx_dequantise(n, node, b, scale, zero, (wi_onnx_layout){weft_tensor_rank(b) - 1, 0})
             : NULL;
}

static weft_tensor *build_integer_matmul(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const q = wi_onnx_get(n, node, 0), *const b = columns_of(n, node, 3, 5);
    weft_tensor *const a = q ? wi_onnx_dequantise(n, node, q, 2, 4, (wi_onnx_layout){0}) : NULL;
    return a && b ? plus_bias(n, node, weft_matmul(a, b), 6) : NULL;
}

/* Rounds a to the values that it would have in 8 bits, with a scale and a zero point computed from its smallest and largest element. */
static weft_tensor *as_stored(weft_tensor *a) {
    weft_tensor *const low = weft_minimum_number(weft_min_axes(a, NULL, false), 0), *const high =
                                                                                        weft_maximum_number(
                                                                                            weft_max_axes(a,
                                                                                                NULL, false),
                                                                                            0);
    weft_tensor *const span = weft_sub(high, low);
    weft_tensor *const scale =
        weft_where(weft_equal_number(span, 0), weft_number(span, 1), weft_div_number(span, 255));
    weft_tensor *const zero = weft_clamp(weft_round(weft_neg(weft_div(low, scale))), 0, 255);
    weft_tensor *const stored = weft_clamp(weft_add(weft_round(weft_div(a, scale)), zero), 0, 255);
    return weft_mul(weft_sub(stored, zero), scale);
}

static weft_tensor *build_dynamic_matmul(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const a = wi_onnx_get(n, node, 0), *const b = columns_of(n, node, 2, 3);
    return a && b ? plus_bias(n, node, weft_matmul(as_stored(a), b), 4) : NULL;
}

/* Reshapes scales or zero points, (directions) or (directions, 4 · hidden), so that they broadcast to (directions, n, 4 · hidden). */
static weft_tensor *over_gates(weft_tensor *v) {
    v = weft_cast(weft_unsqueeze(v, 1), WEFT_F32);
    return weft_tensor_rank(v) == 2 ? weft_unsqueeze(v, 2) : v;
}

/* Converts weights of 8 bits, (directions, n, 4 · hidden), to floats in the shape of ONNX's LSTM, (directions, 4 · hidden, n). */
static weft_tensor *gates_of(wi_onnx_import *n, wi_onnx_node *node, size_t index, size_t scale) {
    weft_tensor *const q = wi_onnx_get(n, node, index), *const by = wi_onnx_get(n, node, scale),
                       *const zero = wi_onnx_get(n, node, scale + 1);
    if (!q || !by || !zero) return NULL;
    return weft_swap_axes(weft_mul(weft_sub(weft_cast(q, WEFT_F32), over_gates(zero)), over_gates(by)), 1, 2);
}

/* x is rounded to 8 bits as ONNX Runtime does. ONNX Runtime also rounds the states to 8 bits in each step; here they stay in f32. */
static weft_tensor *build_lstm(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0), *const w = gates_of(n, node, 1, 8),
                       *const r = gates_of(n, node, 2, 10);
    return x && w && r ? wi_onnx_build_scan(n, node, 'L', as_stored(x), w, r) : NULL;
}

const wi_onnx_op wi_onnx_microsoft_quantised_ops[] = {{"QLinearAdd", .build = build_two},
    {"QLinearMul", .build = build_two}, {"QLinearSigmoid", .build = build_one},
    {"QLinearLeakyRelu", .build = build_one}, {"QLinearAveragePool", .build = build_pool},
    {"QLinearGlobalAveragePool", .build = build_pool}, {"QLinearConcat", .build = build_concat},
    {"MatMulIntegerToFloat", .build = build_integer_matmul},
    {"DynamicQuantizeMatMul", .build = build_dynamic_matmul}, {"DynamicQuantizeLSTM", .build = build_lstm},
    {0}};
