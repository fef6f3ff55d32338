/* See onnx_node.h: attributes and errors of nodes. */
#include "onnx/onnx_node.h"
#include "base/utf8.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- errors ---- */

enum { LINE = 400 };

/* Replaces control characters, and bytes that are not valid UTF-8, by question marks. */
static void make_printable(char *line) {
    size_t left = strlen(line), step;
    for (char *at = line; left > 0; at += step, left -= step) {
        step = wi_utf8_length(at, left);
        const unsigned char first = (unsigned char)*at, second = (unsigned char)at[1];
        if (step == 0) step = 1, *at = '?';
        if (first < 0x20 || first == 0x7f) *at = '?';
        if (step == 2 && first == 0xc2 && second < 0xa0) at[0] = at[1] = '?';
    }
}

static void format_line(char line[LINE], const char *format, va_list list) {
    if (vsnprintf(line, LINE, format, list) >= LINE) snprintf(line + LINE - 5, 5, " ...");
    make_printable(line);
}

weft_status wi_onnx_error(weft_status status, const char *format, ...) {
    char line[LINE];
    va_list list;
    va_start(list, format);
    format_line(line, format, list);
    va_end(list);
    return wi_fail(status, "ONNX: %s", line);
}

/* The name of the node, or, as many files have no names of nodes, of its first result. */
static const char *name_of(wi_onnx_node *node) {
    if (node->name && node->name[0]) return node->name;
    return node->n_output > 0 ? node->output[0] : "";
}

weft_tensor *wi_onnx_fail(
    wi_onnx_import *n, wi_onnx_node *node, weft_status status, const char *format, ...) {
    char line[LINE], name[LINE];
    va_list list;
    if (n->status != WEFT_OK) return NULL;
    va_start(list, format);
    format_line(line, format, list);
    va_end(list);
    snprintf(name, sizeof name, "node '%.60s' (%.40s)", name_of(node), node->op_type ? node->op_type : "");
    make_printable(name);
    n->status = wi_fail(status, "ONNX: %s: %s", name, line);
    return NULL;
}

/* ---- attributes ---- */

/* The types of attributes, by their numbers in the specification. WRONG marks an attribute that was read as another type than it has. */
enum { FLOAT_TYPE = 1, INT_TYPE = 2, STRING_TYPE = 3, INTS_TYPE = 7, WRONG = -1 };

const WiOnnx__AttributeProto *wi_onnx_attribute(wi_onnx_node *node, const char *name) {
    for (size_t i = 0; i < node->n_attribute; i++)
        if (node->attribute[i]->name && strcmp(node->attribute[i]->name, name) == 0)
            return node->attribute[i];
    return NULL;
}

/* The attribute, if it has the type. Files before version 3 do not have the types of attributes. */
static const WiOnnx__AttributeProto *typed(wi_onnx_node *node, const char *name, int type) {
    WiOnnx__AttributeProto *attribute = NULL;
    for (size_t i = 0; i < node->n_attribute && !attribute; i++)
        if (node->attribute[i]->name && strcmp(node->attribute[i]->name, name) == 0)
            attribute = node->attribute[i];
    if (!attribute || !attribute->has_type || attribute->type == 0 || attribute->type == type)
        return attribute;
    attribute->type = WRONG;
    return NULL;
}

const char *wi_onnx_wrong_attribute(wi_onnx_node *node) {
    for (size_t i = 0; i < node->n_attribute; i++)
        if (node->attribute[i]->type == WRONG) return node->attribute[i]->name;
    return NULL;
}

int64_t wi_onnx_whole(wi_onnx_node *node, const char *name, int64_t otherwise) {
    const WiOnnx__AttributeProto *const attribute = typed(node, name, INT_TYPE);
    return attribute ? attribute->i : otherwise;
}

double wi_onnx_real(wi_onnx_node *node, const char *name, double otherwise) {
    const WiOnnx__AttributeProto *const attribute = typed(node, name, FLOAT_TYPE);
    return attribute ? (double)attribute->f : otherwise;
}

wi_onnx_list wi_onnx_wholes(wi_onnx_node *node, const char *name) {
    wi_onnx_list list = {0};
    const WiOnnx__AttributeProto *const attribute = typed(node, name, INTS_TYPE);
    const size_t most = sizeof list.of / sizeof *list.of;
    for (size_t i = 0; attribute && i < attribute->n_ints && i < most; i++)
        list.of[list.count++] = attribute->ints[i];
    return list;
}

bool wi_onnx_says(wi_onnx_node *node, const char *name, const char *text) {
    const WiOnnx__AttributeProto *const attribute = typed(node, name, STRING_TYPE);
    return attribute && attribute->s.len == strlen(text) &&
           (!text[0] || memcmp(attribute->s.data, text, attribute->s.len) == 0);
}

int wi_onnx_axis(int64_t axis, int rank) {
    if (axis < INT16_MIN || axis > INT16_MAX) return axis < 0 ? INT16_MIN : INT16_MAX;
    return (int)(axis < 0 ? axis + rank : axis);
}

void wi_onnx_dims(const weft_tensor *tensor, int64_t *dims) {
    for (int d = 0; d < weft_tensor_rank(tensor); d++) dims[d] = weft_tensor_dimension(tensor, d);
}
