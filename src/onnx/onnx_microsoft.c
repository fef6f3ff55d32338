/* Operators of the domain com.microsoft, which quantisers and optimisers of ONNX Runtime write
 * (https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md). */
#include "onnx/onnx_attention.h"
#include <math.h>
#include <string.h>

/* ---- activations ---- */

static weft_tensor *build_gelu(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0), *const bias = wi_onnx_optional(n, node, 1);
    if (n->status != WEFT_OK) return NULL;
    weft_tensor *const sum = bias ? weft_add(x, bias) : x;
    return strcmp(node->op_type, "FastGelu") == 0 ? weft_gelu_tanh(sum) : weft_gelu(sum);
}

static weft_tensor *build_quick_gelu(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0);
    return x ? weft_mul(x, weft_sigmoid(weft_mul_number(x, wi_onnx_real(node, "alpha", 1.702)))) : NULL;
}

/* ---- products ---- */

static weft_tensor *build_fused_matmul(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const a = wi_onnx_get(n, node, 0), *const b = wi_onnx_get(n, node, 1);
    if (n->status != WEFT_OK) return NULL;
    if (wi_onnx_whole(node, "transBatchA", 0) || wi_onnx_whole(node, "transBatchB", 0) ||
        weft_tensor_rank(a) < 2 || weft_tensor_rank(b) < 2)
        return wi_onnx_fail(
            n, node, WEFT_ERROR_UNSUPPORTED, "transBatchA, transBatchB and vectors are not supported");
    weft_tensor *const product = weft_matmul(wi_onnx_whole(node, "transA", 0) ? weft_transpose(a) : a,
        wi_onnx_whole(node, "transB", 0) ? weft_transpose(b) : b);
    return weft_mul_number(product, wi_onnx_real(node, "alpha", 1));
}

/* Applies the activation of a fused op, which its attributes name. */
static weft_tensor *end_fused(wi_onnx_import *n, wi_onnx_node *node, weft_tensor *x) {
    static const struct {
        const char *name;
        weft_tensor *(*op)(weft_tensor *x);
        double first, second;
    } ends[] = {{"Relu", weft_relu, 0, 0}, {"Tanh", weft_tanh, 0, 0}, {"Sigmoid", weft_sigmoid, 0, 0},
        {"LeakyRelu", NULL, 0.01, 0}, {"Clip", NULL, -(double)INFINITY, (double)INFINITY},
        {"HardSigmoid", NULL, 0.2, 0.5}};
    const WiOnnx__AttributeProto *const given = wi_onnx_attribute(node, "activation_params");
    size_t i = 0;
    const size_t count = sizeof ends / sizeof *ends;
    if (!wi_onnx_attribute(node, "activation")) return x;
    while (i < count && !wi_onnx_says(node, "activation", ends[i].name)) i++;
    if (i == count) return wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED, "its activation is not supported");
    const double first = given && given->n_floats > 0 ? (double)given->floats[0] : ends[i].first,
                 second = given && given->n_floats > 1 ? (double)given->floats[1] : ends[i].second;
    if (ends[i].op) return ends[i].op(x);
    if (i == 3) return weft_leaky_relu(x, first);
    return i == 4 ? weft_clamp(x, first, second)
                  : weft_clamp(weft_add_number(weft_mul_number(x, first), second), 0, 1);
}

/* A convolution, to which a fourth input is added before the activation. */
static weft_tensor *build_fused_conv(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0), *const weight = wi_onnx_get(n, node, 1),
                       *const bias = wi_onnx_optional(n, node, 2), *const more = wi_onnx_optional(n, node, 3);
    weft_tensor *const y = n->status == WEFT_OK ? wi_onnx_conv(n, node, x, weight, bias, false) : NULL;
    return y ? end_fused(n, node, more ? weft_add(y, more) : y) : NULL;
}

/* ---- norms of a sum ---- */

/* The norm of x + skip + bias; the sum is an output, too. */
static weft_tensor *build_skip_norm(wi_onnx_import *n, wi_onnx_node *node) {
    const bool simple = strcmp(node->op_type, "SkipSimplifiedLayerNormalization") == 0;
    weft_tensor *const x = wi_onnx_get(n, node, 0), *const skip = wi_onnx_get(n, node, 1),
                       *const weight = wi_onnx_get(n, node, 2),
                       *const shift = simple ? NULL : wi_onnx_optional(n, node, 3),
                       *const bias = wi_onnx_optional(n, node, simple ? 3 : 4);
    if (n->status != WEFT_OK) return NULL;
    weft_tensor *const sum = bias ? weft_add(weft_add(x, skip), bias) : weft_add(x, skip);
    wi_onnx_set(n, node, 3, sum);
    return simple ? wi_onnx_rms_norm(n, node, sum, weight) : wi_onnx_layer_norm(n, node, sum, weight, shift);
}

/* Embeddings of words, positions and segments, and the norm of their sum. */
static weft_tensor *build_embed_norm(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const words = wi_onnx_get(n, node, 0), *const segments = wi_onnx_optional(n, node, 1),
                       *const word_table = wi_onnx_get(n, node, 2),
                       *const place_table = wi_onnx_get(n, node, 3),
                       *const segment_table = wi_onnx_optional(n, node, 4),
                       *const weight = wi_onnx_get(n, node, 5), *const bias = wi_onnx_get(n, node, 6),
                       *const places = wi_onnx_optional(n, node, 8);
    if (n->status != WEFT_OK) return NULL;
    if (wi_onnx_has_output(node, 1) || (segments && !segment_table) || weft_tensor_rank(words) != 2)
        return wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED, "the output mask_index is not supported");
    weft_tensor *sum = weft_add(weft_embedding_with(word_table, words),
        places ? weft_embedding_with(place_table, places)
               : weft_slice(place_table, 0, 0, weft_tensor_dimension(words, 1)));
    if (segments) sum = weft_add(sum, weft_embedding_with(segment_table, segments));
    weft_tensor *const y = wi_onnx_layer_norm(n, node, sum, weight, bias);
    wi_onnx_set(n, node, 2, sum); /* in other norms this output is 1 / the standard deviation */
    return y;
}

/* ---- attention ---- */

/* Converts a mask of integers (N, keys), which has 0 for keys that are masked, to numbers that are added to the scores. */
static weft_tensor *key_mask(wi_onnx_node *node, weft_tensor *mask) {
    weft_tensor *const hidden = weft_cast(weft_equal_number(mask, 0), WEFT_F32);
    return weft_mul_number(
        weft_unsqueeze(weft_unsqueeze(hidden, 1), 1), wi_onnx_real(node, "mask_filter_value", -10000));
}

/* Attention of q, k and v (N, L, heads · d), with a mask of keys and a bias that is added to the scores. */
static weft_tensor *attend(
    wi_onnx_import *n, wi_onnx_node *node, weft_tensor *const qkv[3], weft_tensor *keys, weft_tensor *bias) {
    const int64_t heads = wi_onnx_whole(node, "num_heads", 0);
    const double scale = wi_onnx_real(node, "scale", 0);
    wi_onnx_attention a = {.q = wi_onnx_split_heads(qkv[0], heads),
        .k = wi_onnx_split_heads(qkv[1], heads),
        .v = wi_onnx_split_heads(qkv[2], heads),
        .repeats = 1,
        .causal = wi_onnx_whole(node, "unidirectional", 0) != 0,
        .scaled = scale != 0,
        .scale = scale};
    if (!a.q || !a.k || !a.v || (keys && (a.causal || weft_tensor_rank(keys) != 2)))
        return wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED,
            "it needs num_heads that divide its width, and no mask but one of whole numbers (batch, keys) "
            "without unidirectional");
    a.mask = keys ? key_mask(node, keys) : NULL;
    if (bias) a.mask = a.mask ? weft_add(a.mask, bias) : bias;
    return wi_onnx_join_heads(wi_onnx_attend(&a, NULL, NULL));
}

/* A single matrix product computes q, k and v, which are side by side in its result. */
static weft_tensor *build_attention(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0), *const weight = wi_onnx_get(n, node, 1),
                       *const bias = wi_onnx_optional(n, node, 2), *const keys = wi_onnx_optional(n, node, 3),
                       *const scores = wi_onnx_optional(n, node, 5);
    weft_tensor *qkv[3];
    if (n->status != WEFT_OK) return NULL;
    const int64_t width = weft_tensor_dimension(weight, 1);
    if (wi_onnx_has(node, 4) || wi_onnx_has_output(node, 1) || wi_onnx_attribute(node, "qkv_hidden_sizes") ||
        wi_onnx_whole(node, "do_rotary", 0) || weft_tensor_rank(weight) != 2 || width < 3 || width % 3)
        return wi_onnx_fail(
            n, node, WEFT_ERROR_UNSUPPORTED, "a past, qkv_hidden_sizes and do_rotary are not supported");
    weft_tensor *const product = weft_matmul(x, weight);
    if (weft_split(bias ? weft_add(product, bias) : product, -1, 3, qkv) != WEFT_OK) return NULL;
    return attend(n, node, qkv, keys, scores);
}

static weft_tensor *build_multi_head(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const bias = wi_onnx_optional(n, node, 3), *const keys = wi_onnx_optional(n, node, 4),
                       *const scores = wi_onnx_optional(n, node, 5);
    weft_tensor *qkv[3];
    int64_t begin = 0;
    if (!wi_onnx_has(node, 1) || !wi_onnx_has(node, 2) || wi_onnx_has(node, 6) || wi_onnx_has(node, 7) ||
        wi_onnx_has_output(node, 1) || wi_onnx_has_output(node, 2))
        return wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED, "packed inputs and a past are not supported");
    for (size_t i = 0; i < 3; i++) {
        qkv[i] = wi_onnx_get(n, node, i);
        if (n->status != WEFT_OK) return NULL;
        const int64_t end = begin + weft_tensor_dimension(qkv[i], -1);
        if (bias) qkv[i] = weft_add(qkv[i], weft_slice(bias, 0, begin, end));
        begin = end;
    }
    return attend(n, node, qkv, keys, scores);
}

/* If the positions are a single number, it is the position of the first element of every example. */
static weft_tensor *build_rotary(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0), *positions = wi_onnx_get(n, node, 1),
                       *const cosine = wi_onnx_get(n, node, 2), *const sine = wi_onnx_get(n, node, 3);
    if (n->status != WEFT_OK) return NULL;
    if (wi_onnx_whole(node, "is_packed_batching", 0) || wi_onnx_real(node, "scale", 1) != 1)
        return wi_onnx_fail(
            n, node, WEFT_ERROR_UNSUPPORTED, "is_packed_batching and scale are not supported");
    if (weft_tensor_rank(positions) == 1) {
        const double length = (double)weft_tensor_dimension(x, weft_tensor_rank(x) == 4 ? 2 : 1);
        positions = weft_add(weft_arange(n->graph, WEFT_I32, 0, length, 1), positions);
    }
    return wi_onnx_rotary(n, node, cosine, sine, positions);
}

const wi_onnx_op wi_onnx_microsoft_ops[] = {{"Gelu", .build = build_gelu},
    {"FastGelu", .build = build_gelu, .weights = 1u << 1},
    {"BiasGelu", .build = build_gelu, .weights = 1u << 1}, {"QuickGelu", .build = build_quick_gelu},
    {"FusedMatMul", .build = build_fused_matmul, .weights = 1u << 0 | 1u << 1},
    {"FusedConv", .build = build_fused_conv, .weights = 1u << 1 | 1u << 2},
    {"SkipLayerNormalization", .build = build_skip_norm, .weights = 1u << 2 | 1u << 3 | 1u << 4},
    {"SkipSimplifiedLayerNormalization", .build = build_skip_norm, .weights = 1u << 2 | 1u << 3},
    {"EmbedLayerNormalization", .build = build_embed_norm,
        .weights = 1u << 2 | 1u << 3 | 1u << 4 | 1u << 5 | 1u << 6},
    {"Attention", .build = build_attention, .weights = 1u << 1 | 1u << 2},
    {"MultiHeadAttention", .build = build_multi_head, .weights = 1u << 3},
    {"RotaryEmbedding", .build = build_rotary}, {0}};
