/* Images of ONNX. */
#include "onnx/onnx_node.h"

static weft_tensor *build_depth_to_space(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0);
    if (!wi_onnx_says(node, "mode", "CRD"))
        return wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED, "only mode CRD is supported");
    return x ? weft_pixel_shuffle(x, wi_onnx_whole(node, "blocksize", 1)) : NULL;
}

const wi_onnx_op wi_onnx_image_ops[] = {{"DepthToSpace", .build = build_depth_to_space}, {0}};
