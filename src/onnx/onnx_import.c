/* See onnx_import.h: the values of a file, and its nodes one after the other. */
#include "graph/dtype.h"
#include "onnx/onnx_scope.h"
#include "onnx/onnx_types.h"
#include <stdio.h>
#include <string.h>

/* MOST_KNOWN: constants with more numbers are not read by the host. */
enum { MOST_KNOWN = 1 << 20 };

wi_onnx_value *wi_onnx_find(const wi_onnx_import *n, const char *name) {
    wi_onnx_value *value;
    HASH_FIND_STR(n->values, name, value);
    return value;
}

wi_onnx_value *wi_onnx_add(wi_onnx_import *n, const char *name) {
    wi_arena *const arena = &n->arena;
    wi_onnx_value *value = wi_onnx_find(n, name);
    if (value) return value;
    value = wi_arena_take(arena, sizeof *value);
    if (!value) return NULL;
    *value = (wi_onnx_value){.name = name};
    HASH_ADD_KEYPTR(hh, n->values, value->name, strlen(value->name), value);
    return value->hh.tbl ? value : NULL;
}

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

/* An error that happened now has a line; a value that has no tensor, such as an output that a node does not give, none. */
static weft_tensor *check(wi_onnx_import *n, wi_onnx_node *node, size_t index, weft_tensor *tensor) {
    const weft_status status = weft_graph_status(n->graph);
    if (tensor) return tensor;
    if (status != WEFT_OK) return wi_onnx_fail(n, node, status, "%s", weft_last_error());
    return wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED, "'%.80s' is no tensor here", node->input[index]);
}

weft_tensor *wi_onnx_get(wi_onnx_import *n, wi_onnx_node *node, size_t index) {
    wi_onnx_value *const value = need_input(n, node, index);
    return value ? check(n, node, index, wi_onnx_tensor_of(n, value)) : NULL;
}

weft_tensor *wi_onnx_get_state(wi_onnx_import *n, wi_onnx_node *node, size_t index) {
    wi_onnx_value *const value = need_input(n, node, index);
    return value ? check(n, node, index, wi_onnx_state_of(n, value)) : NULL;
}

const wi_onnx_numbers *wi_onnx_known_of(wi_onnx_import *n, wi_onnx_value *value) {
    wi_onnx_numbers shape;
    if (value->numbers || !value->stored || value->is_weight || value->is_trained) return value->numbers;
    if (wi_onnx_tensor_describe(&shape, value->stored) != WEFT_OK || shape.count > MOST_KNOWN) return NULL;
    wi_onnx_numbers *const numbers = wi_arena_take(&n->arena, sizeof *numbers);
    if (numbers && wi_onnx_tensor_read(numbers, &n->arena, value->stored) == WEFT_OK)
        value->numbers = numbers;
    return value->numbers;
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
        wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED, "'%.80s' is no tensor here", value->name);
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
        list.of[list.count++] = wi_onnx_to_size(known->data[i], &good);
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

/* The type that stands for what Weft computes. */
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

/* A result whose type the op does not say has the type of the first input that Weft computes in the result's dtype. */
static void infer_types(wi_onnx_import *n, wi_onnx_node *node) {
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

/* ---- nodes ---- */

/* NULL: the list has no such op. */
static const wi_onnx_op *find_op(const wi_onnx_op *list, const char *name) {
    for (const wi_onnx_op *op = list; op->name; op++)
        if (strcmp(op->name, name) == 0) return op;
    return NULL;
}

const wi_onnx_op *wi_onnx_op_of(wi_onnx_node *node) {
    static const wi_onnx_op *const standard[] = {wi_onnx_elementwise_ops, wi_onnx_activation_ops,
        wi_onnx_integer_ops, wi_onnx_reduce_ops, wi_onnx_index_ops, wi_onnx_block_ops, wi_onnx_quantised_ops,
        wi_onnx_loss_ops, wi_onnx_signal_ops, wi_onnx_layer_ops, wi_onnx_movement_ops, wi_onnx_recurrent_ops,
        wi_onnx_conv_ops, wi_onnx_pool_ops, wi_onnx_resize_ops, wi_onnx_sample_ops, wi_onnx_norm_ops,
        wi_onnx_attention_ops, wi_onnx_einsum_ops, wi_onnx_host_ops, wi_onnx_control_ops,
        wi_onnx_sequence_ops};
    const char *const domain = node->domain ? node->domain : "";
    const wi_onnx_op *op = NULL;
    if (!node->op_type) return NULL;
    if (strcmp(domain, "com.microsoft") == 0) return find_op(wi_onnx_microsoft_ops, node->op_type);
    if (strcmp(domain, "ai.onnx.preview.training") == 0) return find_op(wi_onnx_training_ops, node->op_type);
    if (domain[0] && strcmp(domain, "ai.onnx") != 0) return NULL;
    for (size_t i = 0; !op && i < sizeof standard / sizeof *standard; i++)
        op = find_op(standard[i], node->op_type);
    return op;
}

static weft_tensor *build(wi_onnx_import *n, wi_onnx_node *node, const wi_onnx_op *op) {
    if (op->build) return op->build(n, node);
    return op->reduce ? wi_onnx_build_reduction(n, node, op) : wi_onnx_build_elementwise(n, node, op);
}

/* An error of the graph, or an attribute that was read as another type than it has. */
static void check_node(wi_onnx_import *n, wi_onnx_node *node) {
    const weft_status status = weft_graph_status(n->graph);
    const char *const wrong = wi_onnx_wrong_attribute(node);
    if (n->status == WEFT_OK && wrong)
        wi_onnx_fail(n, node, WEFT_ERROR_FORMAT, "the attribute '%.80s' has the wrong type", wrong);
    if (n->status == WEFT_OK && status != WEFT_OK) wi_onnx_fail(n, node, status, "%s", weft_last_error());
}

weft_status wi_onnx_build_node(wi_onnx_import *n, wi_onnx_node *node) {
    const wi_onnx_op *const op = wi_onnx_op_of(node);
    if (!op) wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED, "this op is not supported");
    if (op && !wi_onnx_fold(n, node) && !wi_onnx_pass_sequence(n, node)) {
        weft_tensor *const result = build(n, node, op);
        if (result) wi_onnx_set(n, node, 0, result);
    }
    check_node(n, node);
    if (n->status == WEFT_OK) infer_types(n, node);
    return n->status;
}

/* A node of which an initialiser or a constant already gives the result needs nothing. */
static bool is_given(const wi_onnx_import *n, wi_onnx_node *node) {
    const wi_onnx_value *const value = node->n_output > 0 ? wi_onnx_find(n, node->output[0]) : NULL;
    return value && value->stored;
}

static weft_status build_nodes(wi_onnx_import *n) {
    for (size_t i = 0; i < n->node_count; i++)
        if (!is_given(n, n->nodes[i])) WI_TRY(wi_onnx_build_node(n, n->nodes[i]));
    for (size_t i = 0; i < n->output_count; i++) {
        if (wi_onnx_tensor_of(n, n->outputs[i])) continue;
        WI_TRY(weft_graph_status(n->graph));
        return wi_onnx_error(
            WEFT_ERROR_UNSUPPORTED, "the output '%.80s' is no tensor here", n->outputs[i]->name);
    }
    return WEFT_OK;
}

weft_status wi_onnx_import_build(
    wi_onnx_import *network, weft_graph *graph, const wi_onnx_file *file, const weft_onnx_options *options) {
    *network = (wi_onnx_import){.graph = graph, .file = file, .model = file->model, .options = options};
    wi_arena_init(&network->arena, file->arena.allocator);
    WI_TRY(weft_graph_status(graph));
    WI_TRY(wi_onnx_inline_model(network));
    WI_TRY(wi_onnx_register(network));
    WI_TRY(wi_onnx_mark_weights(network));
    WI_TRY(wi_onnx_add_inputs(network));
    const weft_status status = build_nodes(network);
    network->options = NULL;
    return status;
}

void wi_onnx_import_clear(wi_onnx_import *network) {
    wi_arena_clear(&network->arena);
    *network = (wi_onnx_import){0};
}
