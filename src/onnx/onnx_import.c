/* See onnx_import.h: what a network is built of, one after the other. */
#include "onnx/onnx_scope.h"
#include <string.h>

static weft_tensor *build(wi_onnx_import *n, wi_onnx_node *node, const wi_onnx_op *op) {
    if (op->build) return op->build(n, node);
    return op->reduce ? wi_onnx_build_reduction(n, node, op) : wi_onnx_build_elementwise(n, node, op);
}

/* Records an error for the node if the graph has one, or if an attribute was read as another type than it has. */
static void check_node(wi_onnx_import *n, wi_onnx_node *node) {
    const char *const wrong = wi_onnx_wrong_attribute(node);
    if (n->status != WEFT_OK) return; /* the message already names a node inside of a subgraph */
    if (wrong) wi_onnx_fail(n, node, WEFT_ERROR_FORMAT, "the attribute '%.80s' has the wrong type", wrong);
    const weft_status status = weft_graph_status(n->graph);
    if (n->status == WEFT_OK && status != WEFT_OK) wi_onnx_fail(n, node, status, "%s", weft_last_error());
}

static weft_status build_node(wi_onnx_import *n, wi_onnx_node *node) {
    const wi_onnx_op *const op = wi_onnx_op_of(node);
    if (!op) wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED, "this op is not supported");
    if (op && !wi_onnx_fold(n, node) && !wi_onnx_pass_sequence(n, node)) {
        weft_tensor *const result = build(n, node, op);
        if (result) wi_onnx_set(n, node, 0, result);
    }
    check_node(n, node);
    if (n->status == WEFT_OK) wi_onnx_infer_types(n, node);
    return n->status;
}

/* Are all results of the node known already, as initialisers or constants, so that it needs no building? */
static bool is_given(const wi_onnx_import *n, wi_onnx_node *node) {
    const wi_onnx_value *const value = node->n_output > 0 ? wi_onnx_find(n, node->output[0]) : NULL;
    return value && value->stored;
}

static weft_status build_nodes(wi_onnx_import *n) {
    for (size_t i = 0; i < n->node_count; i++)
        if (!is_given(n, n->nodes[i])) WI_TRY(build_node(n, n->nodes[i]));
    for (size_t i = 0; i < n->output_count; i++) {
        if (wi_onnx_tensor_of(n, n->outputs[i])) continue;
        WI_TRY(weft_graph_status(n->graph));
        return wi_onnx_error(
            WEFT_ERROR_UNSUPPORTED, "the output '%.80s' is not a tensor of the graph", n->outputs[i]->name);
    }
    return WEFT_OK;
}

weft_status wi_onnx_import_begin(
    wi_onnx_import *network, const wi_onnx_file *file, const weft_onnx_options *options) {
    *network = (wi_onnx_import){
        .model = file->model, .options = options, .build_node = build_node, .op_of = wi_onnx_op_of};
    wi_arena_init(&network->arena, file->arena.allocator);
    WI_TRY(wi_onnx_inline_model(network));
    WI_TRY(wi_onnx_register(network));
    return wi_onnx_mark_weights(network);
}

weft_status wi_onnx_import_build(
    wi_onnx_import *network, weft_graph *graph, const wi_onnx_file *file, const weft_onnx_options *options) {
    WI_TRY(weft_graph_status(graph));
    WI_TRY(wi_onnx_import_begin(network, file, options));
    network->graph = graph;
    WI_TRY(wi_onnx_check_operators(network));
    WI_TRY(wi_onnx_add_inputs(network));
    const weft_status status = build_nodes(network);
    network->options = NULL;
    return status;
}

void wi_onnx_import_clear(wi_onnx_import *network) {
    wi_arena_clear(&network->arena);
    *network = (wi_onnx_import){0};
}
