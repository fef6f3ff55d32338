/* Inputs, outputs and types of nodes (contract in onnx_node.h). */
#include "onnx/onnx_scope.h"
#include "onnx/onnx_types.h"
#include <string.h>

/* ---- inputs of nodes ---- */

bool wi_onnx_has(wi_onnx_node *node, size_t index) {
    return index < node->n_input && node->input[index][0];
}

static wi_onnx_value *input_of(const wi_onnx_import *n, wi_onnx_node *node, size_t index) {
    return wi_onnx_has(node, index) ? wi_onnx_find(n, node->input[index]) : NULL;
}

static wi_onnx_value *need_input(wi_onnx_import *n, wi_onnx_node *node, size_t index) {
    if (n->status != WEFT_OK) return NULL;
    wi_onnx_value *const value = input_of(n, node, index);
    if (!value && !wi_onnx_has(node, index))
        wi_onnx_fail(n, node, WEFT_ERROR_FORMAT, "input %zu is missing", index);
    else if (!value)
        wi_onnx_fail(n, node, WEFT_ERROR_FORMAT, "no node computes '%.80s'", node->input[index]);
    return value;
}

/* If the tensor is NULL, records an error of the node. A failed call has already set the thread's message; for a value without a tensor,
 * such as an output that a node does not set, a message is created. */
static weft_tensor *check(wi_onnx_import *n, wi_onnx_node *node, size_t index, weft_tensor *tensor) {
    const weft_status status = weft_graph_status(n->graph);
    if (tensor) return tensor;
    if (status != WEFT_OK) return wi_onnx_fail(n, node, status, "%s", weft_last_error());
    return wi_onnx_fail(
        n, node, WEFT_ERROR_UNSUPPORTED, "'%.80s' is not a tensor of the graph", node->input[index]);
}

weft_tensor *wi_onnx_get(wi_onnx_import *n, wi_onnx_node *node, size_t index) {
    wi_onnx_value *const value = need_input(n, node, index);
    return value ? check(n, node, index, wi_onnx_tensor_of(n, value)) : NULL;
}

weft_tensor *wi_onnx_get_state(wi_onnx_import *n, wi_onnx_node *node, size_t index) {
    wi_onnx_value *const value = need_input(n, node, index);
    return value ? check(n, node, index, wi_onnx_state_of(n, value)) : NULL;
}

const wi_onnx_numbers *wi_onnx_known(wi_onnx_import *n, wi_onnx_node *node, size_t index) {
    wi_onnx_value *const value = input_of(n, node, index);
    return value ? wi_onnx_known_of(n, value) : NULL;
}

bool wi_onnx_describe(wi_onnx_import *n, wi_onnx_node *node, size_t index, wi_onnx_numbers *description) {
    const wi_onnx_value *const value = need_input(n, node, index);
    *description = (wi_onnx_numbers){0};
    if (!value) return false;
    if (value->numbers) {
        *description = *value->numbers;
    } else if (value->tensor) {
        description->dtype = weft_tensor_dtype(value->tensor);
        description->rank = weft_tensor_rank(value->tensor);
        wi_onnx_dims(value->tensor, description->dims);
    } else if (!value->stored || wi_onnx_tensor_describe(description, value->stored) != WEFT_OK) {
        wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED, "'%.80s' is not a tensor of the graph", value->name);
    }
    if (value->type) description->type = value->type;
    return n->status == WEFT_OK;
}

static wi_onnx_list get_list(
    wi_onnx_import *n, wi_onnx_node *node, size_t index, const char *what, bool takes_open) {
    wi_onnx_list list = {0};
    const wi_onnx_numbers *const known = wi_onnx_known(n, node, index);
    const size_t most = sizeof list.of / sizeof *list.of;
    bool good = known && known->count <= most;
    if (n->status != WEFT_OK) return list;
    if (!good)
        wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED, "%s must not depend on the network's inputs", what);
    for (size_t i = 0; good && i < known->count; i++) {
        list.of[list.count++] = wi_onnx_to_size(n->graph, known->data[i], &good);
        if (good && (takes_open || !wi_onnx_is_open(known->data[i]))) continue;
        wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED,
            "%s depends on an open size of the network's inputs: give these sizes when the file is loaded",
            what);
        good = false;
    }
    return good ? list : (wi_onnx_list){0};
}

wi_onnx_list wi_onnx_get_list(wi_onnx_import *n, wi_onnx_node *node, size_t index, const char *what) {
    return get_list(n, node, index, what, false);
}

wi_onnx_list wi_onnx_get_sizes(wi_onnx_import *n, wi_onnx_node *node, size_t index, const char *what) {
    return get_list(n, node, index, what, true);
}

double wi_onnx_get_number(wi_onnx_import *n, wi_onnx_node *node, size_t index, double otherwise) {
    if (!wi_onnx_has(node, index)) return otherwise;
    const wi_onnx_numbers *const known = wi_onnx_known(n, node, index);
    const bool one = known && known->count == 1;
    if (one && !((known->open || known->dtype == WEFT_I32) && wi_onnx_is_open(known->data[0])))
        return known->data[0];
    wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED, "input %zu must be a constant number in the file", index);
    return otherwise;
}

void wi_onnx_bound(wi_onnx_import *n, wi_onnx_node *node, size_t index, int64_t bound) {
    wi_onnx_value *const value = input_of(n, node, index);
    if (value) value->bound = bound;
}

/* ---- outputs ---- */

wi_onnx_value *wi_onnx_output_value(wi_onnx_import *n, wi_onnx_node *node, size_t index) {
    if (n->status != WEFT_OK || index >= node->n_output || !node->output[index][0]) return NULL;
    wi_onnx_value *const value = wi_onnx_add(n, node->output[index]);
    if (!value) wi_onnx_fail(n, node, WEFT_ERROR_MEMORY, "out of memory");
    return value;
}

void wi_onnx_set(wi_onnx_import *n, wi_onnx_node *node, size_t index, weft_tensor *tensor) {
    wi_onnx_value *const value = wi_onnx_output_value(n, node, index);
    if (value) value->tensor = tensor;
}

void wi_onnx_set_numbers(
    wi_onnx_import *n, wi_onnx_node *node, size_t index, const wi_onnx_numbers *numbers) {
    wi_onnx_value *const value = wi_onnx_output_value(n, node, index);
    if (value) value->numbers = numbers;
}

/* ---- types ---- */

/* The ONNX type that corresponds to the dtype of the value. */
static int usual_type(const wi_onnx_value *value) {
    const weft_dtype dtype = value->tensor    ? weft_tensor_dtype(value->tensor)
                             : value->numbers ? value->numbers->dtype
                                              : WEFT_F32;
    return dtype == WEFT_I32 ? WI_ONNX_INT64 : dtype == WEFT_BOOL ? WI_ONNX_BOOL : WI_ONNX_FLOAT;
}

int wi_onnx_get_type(const wi_onnx_import *n, wi_onnx_node *node, size_t index) {
    const wi_onnx_value *const value = wi_onnx_has(node, index) ? wi_onnx_find(n, node->input[index]) : NULL;
    return !value ? 0 : value->type ? value->type : usual_type(value);
}

void wi_onnx_set_type(wi_onnx_import *n, wi_onnx_node *node, size_t index, int type) {
    wi_onnx_value *const value = wi_onnx_output_value(n, node, index);
    if (value) value->type = type;
}

/* A result for which the builder set no type has the type of the first input that has the same dtype in Weft. */
void wi_onnx_infer_types(wi_onnx_import *n, wi_onnx_node *node) {
    const WiOnnx__AttributeProto *const constant = wi_onnx_attribute(node, "value");
    for (size_t k = 0; k < node->n_output; k++) {
        wi_onnx_value *const value = node->output[k][0] ? wi_onnx_find(n, node->output[k]) : NULL;
        if (!value || value->type) continue;
        const int usual = usual_type(value);
        if (constant && constant->t) value->type = constant->t->data_type;
        for (size_t i = 0; i < node->n_input && !value->type; i++) {
            const wi_onnx_type *const type = wi_onnx_type_of(wi_onnx_get_type(n, node, i));
            if (type && type->dtype == wi_onnx_type_of(usual)->dtype) value->type = type->number;
        }
        if (!value->type) value->type = usual;
    }
}

weft_status wi_onnx_build_node(wi_onnx_import *n, wi_onnx_node *node) {
    return n->build_node(n, node);
}
