/* What several builders of operators share. */
#ifndef WI_ONNX_BUILD_H
#define WI_ONNX_BUILD_H

#include "onnx/onnx_node.h"

/* The size of an axis; 0: it depends on the batch or on the length. */
int64_t wi_onnx_fixed_size(const weft_tensor *x, int axis);
/* Numbers of a shape, all 0, for the caller to fill, in the memory of the network. False, with an error of the node: a size is below 1, there
 * are too many numbers, or there is no memory. */
bool wi_onnx_zeros(wi_onnx_numbers *numbers, wi_onnx_import *network, wi_onnx_node *node, weft_dtype dtype,
    int rank, const int64_t *dims);
/* An input that may be missing: NULL without any error. */
weft_tensor *wi_onnx_optional(wi_onnx_import *network, wi_onnx_node *node, size_t index);
/* Does the node have this output? */
bool wi_onnx_gives(wi_onnx_node *node, size_t index);
/* The index of an attribute's text in a list that NULL ends: 0 without the attribute, the length of the list if it is none of these. */
int wi_onnx_choice(wi_onnx_node *node, const char *name, const char *const *texts);
/* wi_onnx_choice, but -1, with an error, if the text is none of these. */
int wi_onnx_need_choice(
    wi_onnx_import *network, wi_onnx_node *node, const char *name, const char *const *texts);
/* The attribute `axis` of an op on x, counted from the first; -1, with an error: x does not have it. */
int wi_onnx_axis_of(wi_onnx_import *network, wi_onnx_node *node, const weft_tensor *x, int64_t otherwise);

/* Norms of x over the axes from the attribute `axis` on. Layer norm also gives the statistics that the node has as outputs. weight (layer
 * norm) and bias may be NULL, and broadcast. */
weft_tensor *wi_onnx_layer_norm(
    wi_onnx_import *network, wi_onnx_node *node, weft_tensor *x, weft_tensor *weight, weft_tensor *bias);
weft_tensor *wi_onnx_rms_norm(
    wi_onnx_import *network, wi_onnx_node *node, weft_tensor *x, weft_tensor *weight);

/* The pooling of AveragePool, of x and with the attributes of the node. */
weft_tensor *wi_onnx_average_pool(wi_onnx_import *network, wi_onnx_node *node, weft_tensor *x);

#endif
