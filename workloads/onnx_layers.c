/* Products, norms, softmax and reductions of ONNX. */
#include "onnx_node.h"
#include <string.h>

/* ---- products ---- */

/* Vectors are matrices of one row or column; that axis goes away afterwards. */
static weft_tensor *build_matmul(onnx_network *n, onnx_node *node) {
    weft_tensor *a = onnx_get(n, node, 0), *b = onnx_get(n, node, 1);
    if (!a || !b) return NULL;
    const bool row = weft_tensor_rank(a) == 1, column = weft_tensor_rank(b) == 1;
    if (row) a = weft_unsqueeze(a, 0);
    if (column) b = weft_unsqueeze(b, -1);
    weft_tensor *c = weft_matmul(a, b);
    if (column) c = weft_squeeze_axes(c, (const int64_t[]){-1, WEFT_END});
    return row ? weft_squeeze_axes(c, (const int64_t[]){column ? -1 : -2, WEFT_END}) : c;
}

/* alpha · A' · B' + beta · C */
static weft_tensor *build_gemm(onnx_network *n, onnx_node *node) {
    weft_tensor *a = onnx_get(n, node, 0), *b = onnx_get(n, node, 1);
    weft_tensor *c = onnx_has(node, 2) ? onnx_get(n, node, 2) : NULL;
    const double alpha = onnx_real(node, "alpha", 1), beta = onnx_real(node, "beta", 1);
    if (n->status != WEFT_OK) return NULL;
    if (onnx_whole(node, "transA", 0)) a = weft_transpose(a);
    if (onnx_whole(node, "transB", 0)) b = weft_transpose(b);
    weft_tensor *product = weft_matmul(a, b);
    if (alpha != 1) product = weft_mul_number(product, alpha);
    if (c && beta != 1) c = weft_mul_number(c, beta);
    return c ? weft_add(product, c) : product;
}

/* Of one operand or two. */
static weft_tensor *build_einsum(onnx_network *n, onnx_node *node) {
    char equation[256];
    const Onnx__AttributeProto *const attribute = onnx_attribute(node, "equation");
    weft_tensor *const a = onnx_get(n, node, 0), *const b = onnx_has(node, 1) ? onnx_get(n, node, 1) : NULL;
    if (n->status != WEFT_OK) return NULL;
    if (!attribute || attribute->s.len >= sizeof equation || node->n_input > 2)
        return onnx_fail(
            n, node, WEFT_ERROR_UNSUPPORTED, "equations of more than two operands are not supported");
    memcpy(equation, attribute->s.data, attribute->s.len);
    equation[attribute->s.len] = '\0';
    return weft_einsum(equation, a, b);
}

/* ---- norms ---- */

/* Running statistics are states, which training moves; momentum is that of the old ones there. */
static weft_tensor *build_batch_norm(onnx_network *n, onnx_node *node) {
    weft_tensor *const x = onnx_get(n, node, 0), *const weight = onnx_get(n, node, 1),
                       *const bias = onnx_get(n, node, 2);
    weft_tensor *const mean = onnx_get_state(n, node, 3), *const var = onnx_get_state(n, node, 4);
    if (n->status != WEFT_OK) return NULL;
    const weft_running running = {
        .mean = mean, .var = var, .momentum = (float)(1 - onnx_real(node, "momentum", 0.9))};
    return weft_batch_norm_with(x, weight, bias, &running, (float)onnx_real(node, "epsilon", 1e-5));
}

static weft_tensor *build_instance_norm(onnx_network *n, onnx_node *node) {
    weft_tensor *const x = onnx_get(n, node, 0), *const weight = onnx_get(n, node, 1),
                       *const bias = onnx_get(n, node, 2);
    if (n->status != WEFT_OK) return NULL;
    return weft_instance_norm_with(x, weight, bias, NULL, (float)onnx_real(node, "epsilon", 1e-5));
}

/* (x - mean) / sqrt(var + epsilon) of the last axes, times a weight, plus a bias where there is one. */
static weft_tensor *build_layer_norm(onnx_network *n, onnx_node *node) {
    weft_tensor *const x = onnx_get(n, node, 0), *const weight = onnx_get(n, node, 1);
    weft_tensor *const bias = onnx_has(node, 2) ? onnx_get(n, node, 2) : NULL;
    int64_t dims[WEFT_MAX_RANK];
    if (n->status != WEFT_OK) return NULL;
    const int rank = weft_tensor_rank(x), axis = onnx_axis(onnx_whole(node, "axis", -1), rank);
    onnx_dims(x, dims);
    if (axis < 0 || axis >= rank) return onnx_fail(n, node, WEFT_ERROR_SHAPE, "there is no axis %d", axis);
    weft_tensor *const zeros = bias ? bias : weft_full(n->graph, WEFT_F32, 0, rank - axis, dims + axis);
    return weft_layer_norm_with(x, rank - axis, weight, zeros, (float)onnx_real(node, "epsilon", 1e-5));
}

static weft_tensor *build_local_norm(onnx_network *n, onnx_node *node) {
    weft_tensor *const x = onnx_get(n, node, 0);
    if (!x) return NULL;
    return weft_local_response_norm(x, onnx_whole(node, "size", 1), onnx_real(node, "alpha", 1e-4),
        onnx_real(node, "beta", 0.75), onnx_real(node, "bias", 1));
}

/* ---- softmax ---- */

/* Up to version 12 over all axes from `axis` on, which is 1 where nothing is said; later over one, the last. */
static weft_tensor *build_softmax(onnx_network *n, onnx_node *node) {
    weft_tensor *(*const op)(weft_tensor *, int) = node->op_type[0] == 'L' ? weft_log_softmax : weft_softmax;
    weft_tensor *const x = onnx_get(n, node, 0);
    int64_t dims[WEFT_MAX_RANK], flat[2] = {1, 1};
    if (!x) return NULL;
    const bool old = n->version < 13;
    const int rank = weft_tensor_rank(x), axis = onnx_axis(onnx_whole(node, "axis", old ? 1 : -1), rank);
    if (!old || axis == rank - 1) return op(x, axis);
    onnx_dims(x, dims);
    for (int d = 0; d < rank; d++) flat[d >= axis] *= dims[d];
    return weft_reshape_shape(op(weft_reshape_shape(x, 2, flat), 1), rank, dims);
}

/* ---- reductions ---- */

static weft_tensor *norm_of_one(weft_tensor *x, const int64_t *axes, bool keep) {
    return weft_norm_with(x, 1, axes, keep);
}

static weft_tensor *sum_of_squares(weft_tensor *x, const int64_t *axes, bool keep) {
    return weft_sum_axes(weft_square(x), axes, keep);
}

/* Axes are an attribute, in later versions an input; none: all, or nothing is done. */
weft_tensor *onnx_build_reduction(onnx_network *n, onnx_node *node, const onnx_op *op) {
    weft_tensor *const x = onnx_get(n, node, 0);
    onnx_list axes = onnx_has(node, 1) ? onnx_get_list(n, node, 1, "axes") : onnx_wholes(node, "axes");
    if (!x || n->status != WEFT_OK) return NULL;
    if (axes.count == 0 && onnx_whole(node, "noop_with_empty_axes", 0)) return x;
    if (axes.count > WEFT_MAX_RANK)
        return onnx_fail(n, node, WEFT_ERROR_SHAPE, "there are %d axes", axes.count);
    axes.of[axes.count] = WEFT_END;
    return op->reduce(x, axes.count ? axes.of : NULL, onnx_whole(node, "keepdims", 1) != 0);
}

static weft_tensor *build_extreme(onnx_network *n, onnx_node *node) {
    weft_tensor *const x = onnx_get(n, node, 0);
    const int64_t axes[] = {onnx_whole(node, "axis", 0), WEFT_END};
    const bool keep = onnx_whole(node, "keepdims", 1) != 0;
    if (!x) return NULL;
    if (onnx_whole(node, "select_last_index", 0))
        return onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED, "select_last_index is not supported");
    return strcmp(node->op_type, "ArgMax") == 0 ? weft_argmax_axes(x, axes, keep)
                                                : weft_argmin_axes(x, axes, keep);
}

const onnx_op onnx_layer_ops[] = {{"MatMul", .build = build_matmul}, {"Gemm", .build = build_gemm},
    {"Einsum", .build = build_einsum}, {"BatchNormalization", .build = build_batch_norm},
    {"InstanceNormalization", .build = build_instance_norm},
    {"LayerNormalization", .build = build_layer_norm}, {"LRN", .build = build_local_norm},
    {"Softmax", .build = build_softmax}, {"LogSoftmax", .build = build_softmax},
    {"ReduceSum", .reduce = weft_sum_axes}, {"ReduceMean", .reduce = weft_mean_axes},
    {"ReduceMax", .reduce = weft_max_axes}, {"ReduceMin", .reduce = weft_min_axes},
    {"ReduceProd", .reduce = weft_prod_axes}, {"ReduceL1", .reduce = norm_of_one},
    {"ReduceL2", .reduce = weft_norm_axes}, {"ReduceSumSquare", .reduce = sum_of_squares},
    {"ReduceLogSumExp", .reduce = weft_logsumexp_axes}, {"ArgMax", .build = build_extreme},
    {"ArgMin", .build = build_extreme}, {0}};
