/* Quantised numbers of ONNX: x = (q - zero) · scale, where q is an integer or a narrow float. */
#ifndef WI_ONNX_QUANTISED_H
#define WI_ONNX_QUANTISED_H

#include "onnx/onnx_types.h"

/* To which elements of a tensor its scales and zero points belong: a single number belongs to all elements; otherwise there is one number
 * for each index of `axis`, or, if block is above 0, one for each `block` elements along the axis. */
typedef struct wi_onnx_layout {
    int axis;
    int64_t block;
} wi_onnx_layout;

/* The scale or zero point that is input `index` of the node, reshaped or repeated so that it broadcasts to x. */
weft_tensor *wi_onnx_spread(
    wi_onnx_import *network, wi_onnx_node *node, size_t index, const weft_tensor *x, wi_onnx_layout layout);
/* (q - zero) · scale in f32. The zero point may be absent. */
weft_tensor *wi_onnx_dequantise(wi_onnx_import *network, wi_onnx_node *node, weft_tensor *q, size_t scale,
    size_t zero, wi_onnx_layout layout);
/* x / scale + zero, rounded to the type of the zero point, or to `type` if there is none. Does not set the type of an output. */
weft_tensor *wi_onnx_quantise(wi_onnx_import *network, wi_onnx_node *node, weft_tensor *x, size_t scale,
    size_t zero, int type, wi_onnx_layout layout);

#endif
