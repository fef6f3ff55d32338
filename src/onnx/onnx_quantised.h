/* Quantised numbers of ONNX: x = (q - zero) · scale, with whole numbers or narrow floats q. */
#ifndef WI_ONNX_QUANTISED_H
#define WI_ONNX_QUANTISED_H

#include "onnx/onnx_types.h"

/* How scales and zero points lie beside a tensor: a single number of any rank, one number for each index of `axis`, or, if block is
 * above 0, one for each `block` elements along the axis. */
typedef struct wi_onnx_layout {
    int axis;
    int64_t block;
} wi_onnx_layout;

/* The input `index` of a node, in a shape that broadcasts to x. */
weft_tensor *wi_onnx_spread(
    wi_onnx_import *network, wi_onnx_node *node, size_t index, const weft_tensor *x, wi_onnx_layout layout);
/* (q - zero) · scale in f32. The zero point may be absent. */
weft_tensor *wi_onnx_dequantise(wi_onnx_import *network, wi_onnx_node *node, weft_tensor *q, size_t scale,
    size_t zero, wi_onnx_layout layout);
/* x / scale, rounded to the type of the zero point, or to `type` if there is none. Sets no type. */
weft_tensor *wi_onnx_quantise(wi_onnx_import *network, wi_onnx_node *node, weft_tensor *x, size_t scale,
    size_t zero, int type, wi_onnx_layout layout);

#endif
