/* Functions of a model: each call is replaced by a copy of the function's nodes (contract in onnx_scope.h). */
#include "onnx/onnx_scope.h"
#include <string.h>

/* "" and "ai.onnx" are the standard domain. */
static bool is_domain(const char *a, const char *b) {
    const char *const p = a && strcmp(a, "ai.onnx") != 0 ? a : "", *const q = b && strcmp(b, "ai.onnx") != 0
                                                                                  ? b
                                                                                  : "";
    return strcmp(p, q) == 0;
}

/* The function that the node calls. NULL: the node is not a call, or Weft supports the operator itself. */
static const WiOnnx__FunctionProto *function_of(const wi_onnx_import *n, wi_onnx_node *node) {
    const char *const overload = node->overload ? node->overload : "";
    if (!node->op_type || n->model->n_functions == 0 || n->op_of(node)) return NULL;
    for (size_t i = 0; i < n->model->n_functions; i++) {
        const WiOnnx__FunctionProto *const function = n->model->functions[i];
        if (function->name && strcmp(function->name, node->op_type) == 0 &&
            is_domain(function->domain, node->domain) &&
            strcmp(function->overload ? function->overload : "", overload) == 0)
            return function;
    }
    return NULL;
}

static int64_t version_of(const WiOnnx__ModelProto *model) {
    int64_t version = 0;
    for (size_t i = 0; i < model->n_opset_import; i++)
        if (is_domain(model->opset_import[i]->domain, "")) version = model->opset_import[i]->version;
    return version;
}

/* Does the function use the operator set version of the model? All nodes of a network are built by the rules of one version. */
static bool has_version(const wi_onnx_import *n, const WiOnnx__FunctionProto *function) {
    for (size_t i = 0; i < function->n_opset_import; i++)
        if (is_domain(function->opset_import[i]->domain, "") &&
            function->opset_import[i]->version != version_of(n->model))
            return false;
    return true;
}

static weft_status append(wi_onnx_import *n, WiOnnx__NodeProto *node, wi_onnx_nodes *list) {
    if (list->count == list->room) {
        const size_t room = 2 * list->room + 16;
        WiOnnx__NodeProto **const of = wi_arena_take(&n->arena, room * sizeof *of);
        if (!of) return WEFT_ERROR_MEMORY;
        if (list->count > 0) memcpy(of, list->of, list->count * sizeof *of);
        *list = (wi_onnx_nodes){of, list->count, room};
    }
    list->of[list->count++] = node;
    return WEFT_OK;
}

static weft_status add_node(wi_onnx_import *n, WiOnnx__NodeProto *node, wi_onnx_nodes *list, int depth);

/* Maps the names of the function's inputs and outputs to those of the caller. If an input is also an output, an Identity node copies it to
 * the caller's output. */
static weft_status name_values(wi_onnx_copier *c, wi_onnx_nodes *list) {
    wi_onnx_node *const call = c->call;
    for (size_t i = 0; i < c->function->n_input; i++) {
        wi_onnx_name *const name = wi_onnx_declare(c, c->function->input[i]);
        if (!name) return WEFT_ERROR_MEMORY;
        name->to = i < call->n_input ? call->input[i] : "";
    }
    for (size_t i = 0; i < c->function->n_output; i++) {
        wi_onnx_name *const name = wi_onnx_declare(c, c->function->output[i]);
        if (!name) return WEFT_ERROR_MEMORY;
        if (i >= call->n_output || !call->output[i][0]) continue;
        if (!name->to) {
            name->to = call->output[i];
            continue;
        }
        WiOnnx__NodeProto *const same = wi_arena_take(&c->n->arena, sizeof *same);
        if (!same) return WEFT_ERROR_MEMORY;
        wi_onnx__node_proto__init(same);
        same->op_type = (char *)"Identity";
        same->input = (char **)wi_arena_take(&c->n->arena, sizeof(char *));
        if (!same->input) return WEFT_ERROR_MEMORY;
        same->input[0] = (char *)name->to;
        same->output = &call->output[i];
        same->n_input = same->n_output = 1;
        WI_TRY(append(c->n, same, list));
    }
    return WEFT_OK;
}

static weft_status add_call(wi_onnx_copier *c, wi_onnx_nodes *list, int depth) {
    WI_TRY(name_values(c, list));
    for (size_t i = 0; i < c->function->n_node; i++) {
        WiOnnx__NodeProto *const node = wi_onnx_copy_node(c, c->function->node[i]);
        if (!node || c->failed) return c->n->status != WEFT_OK ? c->n->status : WEFT_ERROR_MEMORY;
        WI_TRY(add_node(c->n, node, list, depth + 1));
    }
    return WEFT_OK;
}

static weft_status add_node(wi_onnx_import *n, WiOnnx__NodeProto *node, wi_onnx_nodes *list, int depth) {
    const WiOnnx__FunctionProto *const function = function_of(n, node);
    if (!function) return append(n, node, list);
    if (depth >= WI_ONNX_MOST_CALLS)
        wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED,
            "the function calls itself, or %d functions call each other", WI_ONNX_MOST_CALLS);
    else if (!has_version(n, function))
        wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED, "the function has another opset than the model");
    if (n->status != WEFT_OK) return n->status;
    wi_onnx_copier copier = {.n = n, .call = node, .function = function};
    return add_call(&copier, list, depth);
}

weft_status wi_onnx_inline(
    wi_onnx_import *n, WiOnnx__NodeProto *const *nodes, size_t count, wi_onnx_nodes *list) {
    for (size_t i = 0; i < count; i++) WI_TRY(add_node(n, nodes[i], list, 0));
    return WEFT_OK;
}

weft_status wi_onnx_inline_model(wi_onnx_import *n) {
    wi_onnx_nodes nodes = {0};
    if (n->model->n_functions == 0) return WEFT_OK;
    WiOnnx__ModelProto *const model = wi_arena_take(&n->arena, sizeof *model);
    WiOnnx__GraphProto *const graph = wi_arena_take(&n->arena, sizeof *graph);
    if (!model || !graph) return WEFT_ERROR_MEMORY;
    WI_TRY(wi_onnx_inline(n, n->model->graph->node, n->model->graph->n_node, &nodes));
    *graph = *n->model->graph;
    graph->node = nodes.of;
    graph->n_node = nodes.count;
    *model = *n->model;
    model->graph = graph;
    n->model = model;
    return WEFT_OK;
}
