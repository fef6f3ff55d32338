/* Functions that the builders of several operators share. */
#ifndef WI_ONNX_BUILD_H
#define WI_ONNX_BUILD_H

#include "onnx/onnx_node.h"

/* The size of an axis; 0: it depends on the batch or on the length. */
int64_t wi_onnx_fixed_size(const weft_tensor *x, int axis);
/* Allocates an array of this shape in the memory of the network, filled with 0. False: a size is below 1, there are too many numbers, or
 * memory ran out; the error is recorded for the node. */
bool wi_onnx_zeros(wi_onnx_numbers *numbers, wi_onnx_import *network, wi_onnx_node *node, weft_dtype dtype,
    int rank, const int64_t *dims);
/* An optional input; NULL: the node does not have it, which is not an error. */
weft_tensor *wi_onnx_optional(wi_onnx_import *network, wi_onnx_node *node, size_t index);
/* Does the node have the output with this index? */
bool wi_onnx_has_output(wi_onnx_node *node, size_t index);
/* The index of an attribute's text in a list that ends with NULL. 0: the node does not have the attribute. The length of the list: the text
 * is not in the list. */
int wi_onnx_choice(wi_onnx_node *node, const char *name, const char *const *texts);
/* Like wi_onnx_choice, but if the text is not in the list, records an error and returns -1. */
int wi_onnx_need_choice(
    wi_onnx_import *network, wi_onnx_node *node, const char *name, const char *const *texts);
/* The attribute `axis` of an op on x, as an index from 0 on; -1: x does not have this axis, and an error is recorded. */
int wi_onnx_axis_of(wi_onnx_import *network, wi_onnx_node *node, const weft_tensor *x, int64_t otherwise);

/* Norms of x over the axes from the attribute `axis` on. Layer norm also gives the statistics that the node has as outputs. weight (layer
 * norm) and bias may be NULL, and broadcast. */
weft_tensor *wi_onnx_layer_norm(
    wi_onnx_import *network, wi_onnx_node *node, weft_tensor *x, weft_tensor *weight, weft_tensor *bias);
weft_tensor *wi_onnx_rms_norm(
    wi_onnx_import *network, wi_onnx_node *node, weft_tensor *x, weft_tensor *weight);

/* Pools x as AveragePool does, with the attributes of the node. */
weft_tensor *wi_onnx_average_pool(wi_onnx_import *network, wi_onnx_node *node, weft_tensor *x);

#endif
