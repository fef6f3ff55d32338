/* Registers the names of a network, and sorts its nodes so that each node comes after those whose results it reads. */
#include "onnx/onnx_node.h"
#include <stdio.h>
#include <string.h>

enum { OLDEST_FORMAT = 3, NEWEST_FORMAT = 13, NEWEST_OPSET = 28, LONGEST_LIST = 300 };

/* ---- names ---- */

static weft_status add_new(wi_onnx_value **value, wi_onnx_import *n, const char *name, const char *what) {
    if (!name || !name[0]) return wi_onnx_error(WEFT_ERROR_FORMAT, "%s has no name", what);
    if (wi_onnx_find(n, name))
        return wi_onnx_error(WEFT_ERROR_FORMAT, "the name '%.80s' is given twice", name);
    *value = wi_onnx_add(n, name);
    return *value ? WEFT_OK : WEFT_ERROR_MEMORY;
}

static weft_status add_initializers(wi_onnx_import *n, const WiOnnx__GraphProto *graph) {
    if (graph->n_sparse_initializer > 0)
        return wi_onnx_error(WEFT_ERROR_UNSUPPORTED, "sparse initializers are not supported");
    for (size_t i = 0; i < graph->n_initializer; i++) {
        wi_onnx_value *value;
        wi_onnx_numbers shape;
        WI_TRY(add_new(&value, n, graph->initializer[i]->name, "an initializer"));
        value->stored = graph->initializer[i];
        value->type = value->stored->data_type;
        WI_TRY(wi_onnx_tensor_describe(&shape, value->stored));
    }
    return WEFT_OK;
}

static bool is_given(const wi_onnx_import *n, const char *name) {
    for (size_t i = 0; i < n->options->value_count; i++)
        if (strcmp(n->options->values[i].name, name) == 0) return true;
    return false;
}

/* Registers the inputs. In older files initializers are also listed as inputs. If the caller gives the value of an input, its initializer is
 * ignored. */
static weft_status add_input_names(wi_onnx_import *n, const WiOnnx__GraphProto *graph) {
    n->inputs = wi_arena_take(&n->arena, (graph->n_input + 1) * sizeof *n->inputs);
    if (!n->inputs) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < graph->n_input; i++) {
        const char *const name = graph->input[i]->name;
        wi_onnx_value *value = name ? wi_onnx_find(n, name) : NULL;
        if (value && value->stored && !value->info) {
            value->info = graph->input[i];
            if (!is_given(n, name)) continue;
            value->stored = NULL;
        } else {
            WI_TRY(add_new(&value, n, name, "an input"));
        }
        value->info = graph->input[i];
        const WiOnnx__TypeProto *const type = value->info->type;
        value->type = type && type->tensor_type ? type->tensor_type->elem_type : 0;
        value->is_active = !is_given(n, name);
        n->inputs[n->input_count++] = value;
    }
    return WEFT_OK;
}

/* The tensor of a node Constant, which is like an initializer. */
static const WiOnnx__TensorProto *constant_of(wi_onnx_node *node) {
    const WiOnnx__AttributeProto *const value =
        node->op_type && strcmp(node->op_type, "Constant") == 0 && (!node->domain || !node->domain[0])
            ? wi_onnx_attribute(node, "value")
            : NULL;
    wi_onnx_numbers shape;
    return value && value->t && wi_onnx_tensor_describe(&shape, value->t) == WEFT_OK ? value->t : NULL;
}

static weft_status add_results(wi_onnx_import *n, const WiOnnx__GraphProto *graph) {
    for (size_t i = 0; i < graph->n_node; i++) {
        wi_onnx_node *const node = graph->node[i];
        for (size_t k = 0; k < node->n_output; k++) {
            wi_onnx_value *value;
            if (!node->output[k][0]) continue;
            WI_TRY(add_new(&value, n, node->output[k], "a result"));
            value->maker = node;
            value->place = i;
            if (k == 0) value->stored = constant_of(node);
            if (value->stored) value->type = value->stored->data_type;
        }
    }
    for (size_t i = 0; i < graph->n_value_info; i++) {
        const WiOnnx__ValueInfoProto *const info = graph->value_info[i];
        wi_onnx_value *const value = info->name ? wi_onnx_find(n, info->name) : NULL;
        if (value && !value->type && info->type && info->type->tensor_type)
            value->type = info->type->tensor_type->elem_type;
    }
    return WEFT_OK;
}

static weft_status add_outputs(wi_onnx_import *n, const WiOnnx__GraphProto *graph) {
    n->outputs = wi_arena_take(&n->arena, (graph->n_output + 1) * sizeof *n->outputs);
    if (!n->outputs) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < graph->n_output; i++) {
        const char *const name = graph->output[i]->name;
        wi_onnx_value *const value = name ? wi_onnx_find(n, name) : NULL;
        if (!value)
            return wi_onnx_error(WEFT_ERROR_FORMAT, "no node computes the output '%.80s'", name ? name : "");
        value->is_used = true;
        n->outputs[n->output_count++] = value;
    }
    if (n->output_count == 0) return wi_onnx_error(WEFT_ERROR_FORMAT, "the network has no output");
    return WEFT_OK;
}

/* ---- the order ---- */

/* For each node, the numbers of the nodes whose results it needs. The needs of a subgraph are needs of the node that has the subgraph. */
typedef struct order {
    wi_onnx_import *n;
    size_t *needs, need_count, need_capacity; /* the needs of all nodes, one node after the other */
    size_t *first; /* by node: where its needs begin; then the end of the last node's needs */
    bool failed;
} order;

static void need(order *o, const char *name) {
    wi_onnx_value *const value = name[0] ? wi_onnx_find(o->n, name) : NULL;
    if (!value || value->hidden > 0) return;
    value->is_used = true;
    if (!value->maker) return;
    if (wi_grow(o->n->arena.allocator, (void **)&o->needs, &o->need_capacity, o->need_count + 1,
            sizeof *o->needs) != WEFT_OK)
        o->failed = true;
    else
        o->needs[o->need_count++] = value->place;
}

static void need_inputs(order *o, wi_onnx_node *node);

/* Adds `by` to value->hidden of the value with this name, when the walk enters or leaves a subgraph that has a value of the same name. */
static void hide(const wi_onnx_import *n, const char *name, int by) {
    wi_onnx_value *const value = name && name[0] ? wi_onnx_find(n, name) : NULL;
    if (value) value->hidden += by;
}

/* Inside of a subgraph, the names of the subgraph's values hide equal names of the main graph. */
static void hide_names(const wi_onnx_import *n, const WiOnnx__GraphProto *graph, int by) {
    for (size_t i = 0; i < graph->n_input; i++) hide(n, graph->input[i]->name, by);
    for (size_t i = 0; i < graph->n_initializer; i++) hide(n, graph->initializer[i]->name, by);
    for (size_t i = 0; i < graph->n_node; i++)
        for (size_t k = 0; k < graph->node[i]->n_output; k++) hide(n, graph->node[i]->output[k], by);
}

static void need_of_graph(order *o, const WiOnnx__GraphProto *graph) {
    hide_names(o->n, graph, 1);
    for (size_t i = 0; i < graph->n_node; i++) need_inputs(o, graph->node[i]);
    for (size_t i = 0; i < graph->n_output; i++)
        if (graph->output[i]->name) need(o, graph->output[i]->name);
    hide_names(o->n, graph, -1);
}

/* No operator that is supported has a list of graphs as an attribute. */
static void need_inputs(order *o, wi_onnx_node *node) {
    for (size_t i = 0; i < node->n_input && !o->failed; i++) need(o, node->input[i]);
    for (size_t i = 0; i < node->n_attribute; i++)
        if (node->attribute[i]->g) need_of_graph(o, node->attribute[i]->g);
}

/* Depth-first search with an explicit stack, because a chain in a file may be longer than the recursion that a thread's stack
 * allows. `next` of a node is its next need to visit. A node is placed in the order after all its needs. */
static weft_status place_from(
    order *o, const WiOnnx__GraphProto *graph, size_t root, size_t *stack, size_t *next) {
    size_t depth = 0;
    if (next[root] == SIZE_MAX) return WEFT_OK;
    stack[depth++] = root;
    next[root] = o->first[root] + 1;
    while (depth > 0) {
        const size_t at = stack[depth - 1];
        if (next[at] > o->first[at + 1]) {
            o->n->nodes[o->n->node_count++] = graph->node[at];
            next[at] = SIZE_MAX;
            depth--;
            continue;
        }
        const size_t needed = o->needs[next[at]++ - 1];
        if (next[needed] == SIZE_MAX) continue;
        if (next[needed] != 0) {
            wi_onnx_node *const node = graph->node[needed];
            return wi_onnx_error(WEFT_ERROR_FORMAT, "the node '%.80s' (%.40s) depends on its own result",
                node->name ? node->name : "", node->op_type ? node->op_type : "");
        }
        stack[depth++] = needed;
        next[needed] = o->first[needed] + 1;
    }
    return WEFT_OK;
}

static weft_status place_all(order *o, const WiOnnx__GraphProto *graph) {
    size_t *const stack = wi_arena_take(&o->n->arena, (graph->n_node + 1) * sizeof *stack);
    size_t *const next = wi_arena_take(&o->n->arena, (graph->n_node + 1) * sizeof *next);
    o->first = wi_arena_take(&o->n->arena, (graph->n_node + 1) * sizeof *o->first);
    o->n->nodes = wi_arena_take(&o->n->arena, (graph->n_node + 1) * sizeof *o->n->nodes);
    if (!stack || !next || !o->first || !o->n->nodes) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < graph->n_node; i++) {
        need_inputs(o, graph->node[i]);
        o->first[i + 1] = o->need_count;
    }
    if (o->failed) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < graph->n_node; i++) WI_TRY(place_from(o, graph, i, stack, next));
    return WEFT_OK;
}

/* ---- what the file asks for ---- */

static weft_status check_versions(wi_onnx_import *n) {
    const WiOnnx__ModelProto *const model = n->model;
    if (model->ir_version < OLDEST_FORMAT || model->ir_version > NEWEST_FORMAT)
        return wi_onnx_error(WEFT_ERROR_UNSUPPORTED,
            "the file has format version %lld; versions %d to %d are supported", (long long)model->ir_version,
            OLDEST_FORMAT, NEWEST_FORMAT);
    for (size_t i = 0; i < model->n_opset_import; i++) {
        const WiOnnx__OperatorSetProto *const set = model->opset_import[i];
        if (set->domain && set->domain[0] && strcmp(set->domain, "ai.onnx") != 0) continue;
        if (set->version < 1 || set->version > INT32_MAX)
            return wi_onnx_error(WEFT_ERROR_FORMAT, "there is no operator set %lld", (long long)set->version);
        n->version = (int)set->version;
    }
    if (n->version > NEWEST_OPSET && !n->options->any_opset)
        return wi_onnx_error(WEFT_ERROR_UNSUPPORTED,
            "operator set %d is newer than %d, the newest that is supported: the option any_opset reads it "
            "nevertheless",
            n->version, NEWEST_OPSET);
    return WEFT_OK;
}

static bool is_same_op(wi_onnx_node *a, wi_onnx_node *b) {
    return strcmp(a->op_type ? a->op_type : "", b->op_type ? b->op_type : "") == 0 &&
           strcmp(a->domain ? a->domain : "", b->domain ? b->domain : "") == 0;
}

enum { MOST_MISSING = 64 };
typedef struct missing_op {
    wi_onnx_node *node; /* the first node with this operator */
    size_t count;
} missing_op;

/* Fails if operators are not supported; the message lists all of them. */
weft_status wi_onnx_check_operators(const wi_onnx_import *n) {
    missing_op missing[MOST_MISSING];
    char line[LONGEST_LIST + 200] = "";
    size_t kinds = 0, length = 0;
    for (size_t i = 0; i < n->node_count; i++) {
        wi_onnx_node *const node = n->nodes[i];
        size_t k = 0;
        if (n->version == 0 && (!node->domain || !node->domain[0]))
            return wi_onnx_error(
                WEFT_ERROR_FORMAT, "the file does not say which version of the operator set it uses");
        if (n->op_of(node)) continue;
        while (k < kinds && !is_same_op(missing[k].node, node)) k++;
        if (k == kinds && kinds < MOST_MISSING) missing[kinds++] = (missing_op){node, 0};
        if (k < kinds) missing[k].count++;
    }
    for (size_t k = 0; k < kinds && length < LONGEST_LIST; k++) {
        const char *const domain = missing[k].node->domain ? missing[k].node->domain : "";
        const char *const name = missing[k].node->op_type ? missing[k].node->op_type : "?";
        length += (size_t)snprintf(line + length, sizeof line - length, "%s%.60s%s%.60s", k ? ", " : "",
            domain, domain[0] ? "." : "", name);
        if (missing[k].count > 1)
            length += (size_t)snprintf(line + length, sizeof line - length, " (%zu nodes)", missing[k].count);
    }
    if (kinds == 0) return WEFT_OK;
    return wi_onnx_error(
        WEFT_ERROR_UNSUPPORTED, "not supported: %s%s", line, length >= LONGEST_LIST ? ", ..." : "");
}

weft_status wi_onnx_register(wi_onnx_import *n) {
    const WiOnnx__GraphProto *const graph = n->model->graph;
    WI_TRY(check_versions(n));
    WI_TRY(add_initializers(n, graph));
    WI_TRY(add_input_names(n, graph));
    WI_TRY(add_results(n, graph));
    WI_TRY(add_outputs(n, graph));
    order o = {.n = n};
    const weft_status status = place_all(&o, graph);
    wi_release(n->arena.allocator, o.needs);
    return status;
}
