/* Products, norms, softmax and reductions of ONNX. */
#include "onnx/onnx_node.h"
#include <string.h>

/* ---- products ---- */

/* Vectors are matrices of one row or column; that axis goes away afterwards. */
static weft_tensor *build_matmul(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *a = wi_onnx_get(n, node, 0), *b = wi_onnx_get(n, node, 1);
    if (!a || !b) return NULL;
    const bool row = weft_tensor_rank(a) == 1, column = weft_tensor_rank(b) == 1;
    if (row) a = weft_unsqueeze(a, 0);
    if (column) b = weft_unsqueeze(b, -1);
    weft_tensor *c = weft_matmul(a, b);
    if (column) c = weft_squeeze_axes(c, (const int64_t[]){-1, WEFT_END});
    return row ? weft_squeeze_axes(c, (const int64_t[]){column ? -1 : -2, WEFT_END}) : c;
}

/* alpha · A' · B' + beta · C */
static weft_tensor *build_gemm(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *a = wi_onnx_get(n, node, 0), *b = wi_onnx_get(n, node, 1);
    weft_tensor *c = wi_onnx_has(node, 2) ? wi_onnx_get(n, node, 2) : NULL;
    const double alpha = wi_onnx_real(node, "alpha", 1), beta = wi_onnx_real(node, "beta", 1);
    if (n->status != WEFT_OK) return NULL;
    if (wi_onnx_whole(node, "transA", 0)) a = weft_transpose(a);
    if (wi_onnx_whole(node, "transB", 0)) b = weft_transpose(b);
    weft_tensor *product = weft_matmul(a, b);
    if (alpha != 1) product = weft_mul_number(product, alpha);
    if (c && beta != 1) c = weft_mul_number(c, beta);
    return c ? weft_add(product, c) : product;
}

/* Of one operand or two. */
static weft_tensor *build_einsum(wi_onnx_import *n, wi_onnx_node *node) {
    char equation[256];
    const WiOnnx__AttributeProto *const attribute = wi_onnx_attribute(node, "equation");
    weft_tensor *const a = wi_onnx_get(n, node, 0), *const b =
                                                        wi_onnx_has(node, 1) ? wi_onnx_get(n, node, 1) : NULL;
    if (n->status != WEFT_OK) return NULL;
    if (!attribute || attribute->s.len >= sizeof equation || node->n_input > 2)
        return wi_onnx_fail(
            n, node, WEFT_ERROR_UNSUPPORTED, "equations of more than two operands are not supported");
    memcpy(equation, attribute->s.data, attribute->s.len);
    equation[attribute->s.len] = '\0';
    return weft_einsum(equation, a, b);
}

/* ---- norms ---- */

/* Running statistics are states, which training moves; momentum is that of the old ones there. */
static weft_tensor *build_batch_norm(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0), *const weight = wi_onnx_get(n, node, 1),
                       *const bias = wi_onnx_get(n, node, 2);
    weft_tensor *const mean = wi_onnx_get_state(n, node, 3), *const var = wi_onnx_get_state(n, node, 4);
    if (n->status != WEFT_OK) return NULL;
    const weft_running running = {
        .mean = mean, .var = var, .momentum = (float)(1 - wi_onnx_real(node, "momentum", 0.9))};
    return weft_batch_norm_with(x, weight, bias, &running, (float)wi_onnx_real(node, "epsilon", 1e-5));
}

static weft_tensor *build_instance_norm(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0), *const weight = wi_onnx_get(n, node, 1),
                       *const bias = wi_onnx_get(n, node, 2);
    if (n->status != WEFT_OK) return NULL;
    return weft_instance_norm_with(x, weight, bias, NULL, (float)wi_onnx_real(node, "epsilon", 1e-5));
}

/* (x - mean) / sqrt(var + epsilon) of the last axes, times a weight, plus a bias where there is one. */
static weft_tensor *build_layer_norm(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0), *const weight = wi_onnx_get(n, node, 1);
    weft_tensor *const bias = wi_onnx_has(node, 2) ? wi_onnx_get(n, node, 2) : NULL;
    int64_t dims[WEFT_MAX_RANK];
    if (n->status != WEFT_OK) return NULL;
    const int rank = weft_tensor_rank(x), axis = wi_onnx_axis(wi_onnx_whole(node, "axis", -1), rank);
    wi_onnx_dims(x, dims);
    if (axis < 0 || axis >= rank) return wi_onnx_fail(n, node, WEFT_ERROR_SHAPE, "there is no axis %d", axis);
    weft_tensor *const zeros = bias ? bias : weft_full(n->graph, WEFT_F32, 0, rank - axis, dims + axis);
    return weft_layer_norm_with(x, rank - axis, weight, zeros, (float)wi_onnx_real(node, "epsilon", 1e-5));
}

static weft_tensor *build_local_norm(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0);
    if (!x) return NULL;
    return weft_local_response_norm(x, wi_onnx_whole(node, "size", 1), wi_onnx_real(node, "alpha", 1e-4),
        wi_onnx_real(node, "beta", 0.75), wi_onnx_real(node, "bias", 1));
}

/* ---- softmax ---- */

/* Up to version 12 over all axes from `axis` on, which is 1 where nothing is said; later over one, the last. */
static weft_tensor *build_softmax(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *(*const op)(weft_tensor *, int) = node->op_type[0] == 'L' ? weft_log_softmax : weft_softmax;
    weft_tensor *const x = wi_onnx_get(n, node, 0);
    int64_t dims[WEFT_MAX_RANK], flat[2] = {1, 1};
    if (!x) return NULL;
    const bool old = n->version < 13;
    const int rank = weft_tensor_rank(x),
              axis = wi_onnx_axis(wi_onnx_whole(node, "axis", old ? 1 : -1), rank);
    if (!old || axis == rank - 1) return op(x, axis);
    wi_onnx_dims(x, dims);
    for (int d = 0; d < rank; d++) flat[d >= axis] *= dims[d];
    return weft_reshape_shape(op(weft_reshape_shape(x, 2, flat), 1), rank, dims);
}

const wi_onnx_op wi_onnx_layer_ops[] = {{"MatMul", .build = build_matmul, .weights = 1u << 0 | 1u << 1},
    {"Gemm", .build = build_gemm, .weights = 1u << 0 | 1u << 1 | 1u << 2}, {"Einsum", .build = build_einsum},
    {"BatchNormalization", .build = build_batch_norm, .weights = 1u << 1 | 1u << 2},
    {"InstanceNormalization", .build = build_instance_norm, .weights = 1u << 1 | 1u << 2},
    {"LayerNormalization", .build = build_layer_norm, .weights = 1u << 1 | 1u << 2},
    {"LRN", .build = build_local_norm}, {"Softmax", .build = build_softmax},
    {"LogSoftmax", .build = build_softmax}, {0}};
