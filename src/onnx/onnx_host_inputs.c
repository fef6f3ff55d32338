/* See onnx_host_inputs.h: one walk from the last node to the first, since a node stands after those that compute its inputs. */
#include "onnx/onnx_host_inputs.h"
#include "onnx/onnx_node.h"
#include <string.h>

/* An element of the set of the names of values that must be known. */
typedef struct needed_name {
    const char *name;
    UT_hash_handle hh;
} needed_name;

typedef struct needed_set {
    needed_name *names;
    wi_arena arena;
    bool failed;
} needed_set;

static bool is_needed(const needed_set *set, const char *name) {
    needed_name *found = NULL;
    if (name) HASH_FIND_STR(set->names, name, found);
    return found != NULL;
}

static void need(needed_set *set, const char *name) {
    wi_arena *const arena = &set->arena;
    if (!name || !name[0] || is_needed(set, name)) return;
    needed_name *const added = wi_arena_take(arena, sizeof *added);
    set->failed = set->failed || !added;
    if (!added) return;
    added->name = name;
    HASH_ADD_KEYPTR(hh, set->names, added->name, strlen(added->name), added);
    set->failed = set->failed || !added->hh.tbl;
}

/* Does the node read only the shape of its input, which is known without the input's values? */
static bool takes_shape_only(wi_onnx_node *node) {
    return node->op_type && (strcmp(node->op_type, "Shape") == 0 || strcmp(node->op_type, "Size") == 0);
}

static void walk_graph(needed_set *set, const WiOnnx__GraphProto *graph, bool all);

/* Walks through a body. Returns true if the values of an input of the body are needed; then those of the loop's inputs are, too. */
static bool walk_body(needed_set *set, const WiOnnx__GraphProto *body, bool all) {
    bool needs_inputs = false;
    walk_graph(set, body, all);
    for (size_t i = 0; i < body->n_input; i++)
        needs_inputs = needs_inputs || is_needed(set, body->input[i]->name);
    return needs_inputs;
}

static bool walk_bodies(needed_set *set, wi_onnx_node *node, bool all) {
    bool needs_inputs = false;
    for (size_t i = 0; i < node->n_attribute; i++) {
        const WiOnnx__AttributeProto *const attribute = node->attribute[i];
        if (attribute->g) needs_inputs = walk_body(set, attribute->g, all) || needs_inputs;
    }
    return needs_inputs;
}

static void walk_node(needed_set *set, wi_onnx_node *node) {
    const wi_onnx_op *const op = wi_onnx_op_of(node);
    bool all = false;
    for (size_t i = 0; i < node->n_output; i++) all = all || is_needed(set, node->output[i]);
    all = all && !takes_shape_only(node);
    if (walk_bodies(set, node, all) && !all) all = true, (void)walk_bodies(set, node, true);
    for (size_t i = 0; i < node->n_input; i++)
        if (all || (op && i < 32 && op->host >> i & 1)) need(set, node->input[i]);
}

/* all: all outputs of the graph are needed. */
static void walk_graph(needed_set *set, const WiOnnx__GraphProto *graph, bool all) {
    for (size_t i = 0; all && i < graph->n_output; i++) need(set, graph->output[i]->name);
    for (size_t i = graph->n_node; i-- > 0;) walk_node(set, graph->node[i]);
}

/* Is the input a number or a list? The caller can give only such inputs in advance, not an image from which a shape is computed. */
static bool is_list(const WiOnnx__ValueInfoProto *input) {
    const WiOnnx__TensorTypeProto *const type = input->type ? input->type->tensor_type : NULL;
    return type && (!type->shape || type->shape->n_dim <= 1);
}

weft_status wi_onnx_host_inputs(bool *decides, const WiOnnx__GraphProto *graph) {
    needed_set set = {0};
    wi_arena_init(&set.arena, NULL);
    walk_graph(&set, graph, false);
    for (size_t i = 0; i < graph->n_input; i++)
        decides[i] = is_list(graph->input[i]) && is_needed(&set, graph->input[i]->name);
    HASH_CLEAR(hh, set.names);
    wi_arena_clear(&set.arena);
    return set.failed ? WEFT_ERROR_MEMORY : WEFT_OK;
}
