/* Products of ONNX. */
#include "onnx/onnx_node.h"

/* A vector is multiplied as a matrix with one row or column; the result does not have this axis. */
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

/* alpha · A' · B' + beta · C, where A' and B' are A and B, transposed if the node says so. */
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

const wi_onnx_op wi_onnx_layer_ops[] = {{"MatMul", .build = build_matmul, .weights = 1u << 0 | 1u << 1},
    {"Gemm", .build = build_gemm, .weights = 1u << 0 | 1u << 1 | 1u << 2}, {0}};
