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

/* ---- reductions ---- */

static weft_tensor *norm_of_one(weft_tensor *x, const int64_t *axes, bool keep) {
    return weft_norm_with(x, 1, axes, keep);
}

static weft_tensor *sum_of_squares(weft_tensor *x, const int64_t *axes, bool keep) {
    return weft_sum_axes(weft_square(x), axes, keep);
}

/* Axes are an attribute, in later versions an input; none: all, or nothing is done. */
weft_tensor *wi_onnx_build_reduction(wi_onnx_import *n, wi_onnx_node *node, const wi_onnx_op *op) {
    weft_tensor *const x = wi_onnx_get(n, node, 0);
    wi_onnx_list axes =
        wi_onnx_has(node, 1) ? wi_onnx_get_list(n, node, 1, "axes") : wi_onnx_wholes(node, "axes");
    if (!x || n->status != WEFT_OK) return NULL;
    if (axes.count == 0 && wi_onnx_whole(node, "noop_with_empty_axes", 0)) return x;
    if (axes.count > WEFT_MAX_RANK)
        return wi_onnx_fail(n, node, WEFT_ERROR_SHAPE, "there are %d axes", axes.count);
    axes.of[axes.count] = WEFT_END;
    return op->reduce(x, axes.count ? axes.of : NULL, wi_onnx_whole(node, "keepdims", 1) != 0);
}

static weft_tensor *build_extreme(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0);
    const int64_t axes[] = {wi_onnx_whole(node, "axis", 0), WEFT_END};
    const bool keep = wi_onnx_whole(node, "keepdims", 1) != 0;
    if (!x) return NULL;
    if (wi_onnx_whole(node, "select_last_index", 0))
        return wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED, "select_last_index is not supported");
    return strcmp(node->op_type, "ArgMax") == 0 ? weft_argmax_axes(x, axes, keep)
                                                : weft_argmin_axes(x, axes, keep);
}

const wi_onnx_op wi_onnx_layer_ops[] = {{"MatMul", .build = build_matmul, .weights = 1u << 0 | 1u << 1},
    {"Gemm", .build = build_gemm, .weights = 1u << 0 | 1u << 1 | 1u << 2},
    {"ReduceSum", .reduce = weft_sum_axes, .host = 1u << 1},
    {"ReduceMean", .reduce = weft_mean_axes, .host = 1u << 1},
    {"ReduceMax", .reduce = weft_max_axes, .host = 1u << 1},
    {"ReduceMin", .reduce = weft_min_axes, .host = 1u << 1},
    {"ReduceProd", .reduce = weft_prod_axes, .host = 1u << 1},
    {"ReduceL1", .reduce = norm_of_one, .host = 1u << 1},
    {"ReduceL2", .reduce = weft_norm_axes, .host = 1u << 1},
    {"ReduceSumSquare", .reduce = sum_of_squares, .host = 1u << 1},
    {"ReduceLogSumExp", .reduce = weft_logsumexp_axes, .host = 1u << 1}, {"ArgMax", .build = build_extreme},
    {"ArgMin", .build = build_extreme}, {0}};
