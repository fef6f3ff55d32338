/* See onnx_node.h: attributes and errors of nodes. */
#include "onnx/onnx_node.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const WiOnnx__AttributeProto *wi_onnx_attribute(wi_onnx_node *node, const char *name) {
    for (size_t i = 0; i < node->n_attribute; i++)
        if (node->attribute[i]->name && strcmp(node->attribute[i]->name, name) == 0)
            return node->attribute[i];
    return NULL;
}

int64_t wi_onnx_whole(wi_onnx_node *node, const char *name, int64_t otherwise) {
    const WiOnnx__AttributeProto *const attribute = wi_onnx_attribute(node, name);
    return attribute && attribute->has_i ? attribute->i : otherwise;
}

double wi_onnx_real(wi_onnx_node *node, const char *name, double otherwise) {
    const WiOnnx__AttributeProto *const attribute = wi_onnx_attribute(node, name);
    return attribute && attribute->has_f ? (double)attribute->f : otherwise;
}

wi_onnx_list wi_onnx_wholes(wi_onnx_node *node, const char *name) {
    wi_onnx_list list = {0};
    const WiOnnx__AttributeProto *const attribute = wi_onnx_attribute(node, name);
    const size_t most = sizeof list.of / sizeof *list.of;
    for (size_t i = 0; attribute && i < attribute->n_ints && i < most; i++)
        list.of[list.count++] = attribute->ints[i];
    return list;
}

bool wi_onnx_says(wi_onnx_node *node, const char *name, const char *text) {
    const WiOnnx__AttributeProto *const attribute = wi_onnx_attribute(node, name);
    return attribute && attribute->has_s && attribute->s.len == strlen(text) &&
           memcmp(attribute->s.data, text, attribute->s.len) == 0;
}

weft_tensor *wi_onnx_fail(
    wi_onnx_import *n, wi_onnx_node *node, weft_status status, const char *format, ...) {
    char line[512];
    va_list list;
    if (n->status != WEFT_OK) return NULL;
    va_start(list, format);
    vsnprintf(line, sizeof line, format, list);
    va_end(list);
    n->status = wi_fail(status, "ONNX: node '%s' (%s): %s", node->name ? node->name : "",
        node->op_type ? node->op_type : "", line);
    return NULL;
}

int wi_onnx_axis(int64_t axis, int rank) {
    return (int)(axis < 0 ? axis + rank : axis);
}

void wi_onnx_dims(const weft_tensor *tensor, int64_t *dims) {
    for (int d = 0; d < weft_tensor_rank(tensor); d++) dims[d] = weft_tensor_dimension(tensor, d);
}
