/* See onnx_scope.h: copies of nodes, and nodes that are not in the file. */
#include "onnx/onnx_scope.h"
#include <stdio.h>
#include <string.h>

const char *wi_onnx_new_name(wi_onnx_import *n, const char *like) {
    char name[256];
    do snprintf(name, sizeof name, "%.200s#%zu", like, ++n->names);
    while (wi_onnx_find(n, name));
    return wi_arena_string(&n->arena, name);
}

/* ---- names ---- */

wi_onnx_name *wi_onnx_declare(wi_onnx_copier *c, const char *from) {
    wi_arena *const arena = &c->n->arena;
    wi_onnx_name *name;
    if (!from) from = "";
    HASH_FIND_STR(c->names, from, name);
    if (name) return name;
    name = wi_arena_take(arena, sizeof *name);
    if (!name) return NULL;
    *name = (wi_onnx_name){.from = from};
    HASH_ADD_KEYPTR(hh, c->names, name->from, strlen(name->from), name);
    return name->hh.tbl ? name : NULL;
}

char *wi_onnx_renamed(wi_onnx_copier *c, const char *from) {
    wi_onnx_name *name = NULL;
    if (!from || !from[0]) return (char *)"";
    HASH_FIND_STR(c->names, from, name);
    if (!name && c->call) name = wi_onnx_declare(c, from);
    if (!name) return (char *)from;
    if (!name->to) name->to = wi_onnx_new_name(c->n, from);
    return (char *)(name->to ? name->to : "");
}

/* ---- copies ---- */

static void *take(wi_onnx_copier *c, size_t count, size_t size) {
    void *const made = wi_arena_take(&c->n->arena, (count + 1) * size);
    c->failed = c->failed || !made;
    return made;
}

static char **copy_names(wi_onnx_copier *c, char *const *names, size_t count) {
    char **const made = take(c, count, sizeof *made);
    for (size_t i = 0; made && i < count; i++) made[i] = wi_onnx_renamed(c, names[i]);
    return made;
}

static WiOnnx__ValueInfoProto **copy_infos(
    wi_onnx_copier *c, WiOnnx__ValueInfoProto *const *infos, size_t count) {
    WiOnnx__ValueInfoProto **const made = take(c, count, sizeof *made);
    WiOnnx__ValueInfoProto *const each = take(c, count, sizeof *each);
    for (size_t i = 0; !c->failed && i < count; i++) {
        each[i] = *infos[i];
        each[i].name = wi_onnx_renamed(c, infos[i]->name);
        made[i] = &each[i];
    }
    return made;
}

WiOnnx__TensorProto *wi_onnx_copy_tensor(wi_onnx_copier *c, const WiOnnx__TensorProto *tensor) {
    WiOnnx__TensorProto *const made = take(c, 1, sizeof *made);
    if (made) *made = *tensor;
    if (made) made->name = wi_onnx_renamed(c, tensor->name);
    return made;
}

static WiOnnx__GraphProto *copy_graph(wi_onnx_copier *c, const WiOnnx__GraphProto *graph) {
    WiOnnx__GraphProto *const made = take(c, 1, sizeof *made);
    if (!made) return NULL;
    *made = *graph;
    c->n->copied += graph->n_input + graph->n_output + graph->n_initializer;
    made->input = copy_infos(c, graph->input, graph->n_input);
    made->output = copy_infos(c, graph->output, graph->n_output);
    made->initializer = take(c, graph->n_initializer, sizeof *made->initializer);
    made->node = take(c, graph->n_node, sizeof *made->node);
    for (size_t i = 0; !c->failed && i < graph->n_initializer; i++)
        made->initializer[i] = wi_onnx_copy_tensor(c, graph->initializer[i]);
    for (size_t i = 0; !c->failed && i < graph->n_node; i++)
        made->node[i] = wi_onnx_copy_node(c, graph->node[i]);
    return made;
}

static const WiOnnx__AttributeProto *default_of(const wi_onnx_copier *c, const char *name) {
    for (size_t i = 0; c->function && i < c->function->n_attribute_proto; i++) {
        const WiOnnx__AttributeProto *const attribute = c->function->attribute_proto[i];
        if (attribute->name && strcmp(attribute->name, name) == 0) return attribute;
    }
    return NULL;
}

/* Copies an attribute; a reference to an attribute of the function is replaced by that of the call. NULL: the call does not have it. */
static WiOnnx__AttributeProto *copy_attribute(wi_onnx_copier *c, WiOnnx__AttributeProto *attribute) {
    const WiOnnx__AttributeProto *from = attribute;
    const bool refers = c->call && attribute->ref_attr_name && attribute->ref_attr_name[0];
    if (!refers && !attribute->g) return attribute;
    if (refers) from = wi_onnx_attribute(c->call, attribute->ref_attr_name);
    if (refers && !from) from = default_of(c, attribute->ref_attr_name);
    WiOnnx__AttributeProto *const made = from ? take(c, 1, sizeof *made) : NULL;
    if (!made) return NULL;
    *made = *from;
    made->name = attribute->name;
    /* Names in a graph that is an attribute of the call belong to the caller, and are not replaced. */
    if (from->g && !refers) made->g = copy_graph(c, from->g);
    return made;
}

/* Counts the copies. False: there are too many, and an error is recorded. */
static bool count_copies(wi_onnx_copier *c, const WiOnnx__NodeProto *node, size_t more) {
    c->n->copied += more;
    if (c->n->copied > WI_ONNX_MOST_COPIED)
        wi_onnx_fail(c->n, node, WEFT_ERROR_UNSUPPORTED, "subgraphs and functions give too many nodes");
    c->failed = c->failed || c->n->copied > WI_ONNX_MOST_COPIED;
    return !c->failed;
}

WiOnnx__NodeProto *wi_onnx_copy_node(wi_onnx_copier *c, const WiOnnx__NodeProto *node) {
    if (!count_copies(c, node, 1 + node->n_input + node->n_output + node->n_attribute)) return NULL;
    WiOnnx__NodeProto *const made = take(c, 1, sizeof *made);
    WiOnnx__AttributeProto **const attributes = take(c, node->n_attribute, sizeof(WiOnnx__AttributeProto *));
    if (!made || !attributes) return NULL;
    *made = *node;
    made->input = copy_names(c, node->input, node->n_input);
    made->output = copy_names(c, node->output, node->n_output);
    made->attribute = attributes;
    made->n_attribute = 0;
    for (size_t i = 0; !c->failed && i < node->n_attribute; i++) {
        WiOnnx__AttributeProto *const attribute = copy_attribute(c, node->attribute[i]);
        if (attribute) attributes[made->n_attribute++] = attribute;
    }
    return made;
}

/* ---- nodes that are not in the file ---- */

void wi_onnx_build_part(wi_onnx_import *n, wi_onnx_node *of, const wi_onnx_part *part) {
    WiOnnx__NodeProto *const node = wi_arena_take(&n->arena, sizeof *node);
    WiOnnx__AttributeProto *const axis = wi_arena_take(&n->arena, sizeof *axis);
    WiOnnx__AttributeProto **const list = wi_arena_take(&n->arena, sizeof(WiOnnx__AttributeProto *));
    if (n->status != WEFT_OK) return;
    if (!node || !axis || !list) {
        wi_onnx_fail(n, of, WEFT_ERROR_MEMORY, "out of memory");
        return;
    }
    wi_onnx__node_proto__init(node);
    wi_onnx__attribute_proto__init(axis);
    *list = axis;
    axis->name = (char *)"axis";
    axis->has_i = true;
    axis->i = part->axis;
    node->name = of->name;
    node->op_type = (char *)part->op;
    node->input = (char **)part->inputs;
    node->n_input = part->input_count;
    node->output = (char **)part->outputs;
    node->n_output = part->output_count;
    node->attribute = list;
    node->n_attribute = part->axis != WEFT_END;
    (void)wi_onnx_build_node(n, node);
}

const char *wi_onnx_add_wholes(
    wi_onnx_import *n, wi_onnx_node *of, int rank, const int64_t *numbers, size_t count, weft_dtype dtype) {
    const char *const name = wi_onnx_new_name(n, "number");
    wi_onnx_numbers *const made = wi_arena_take(&n->arena, sizeof *made);
    char *output[] = {(char *)name};
    const WiOnnx__NodeProto node = {
        .name = of->name, .op_type = of->op_type, .output = output, .n_output = 1};
    if (!name || !made) return NULL;
    *made = (wi_onnx_numbers){.dtype = dtype,
        .type = dtype == WEFT_BOOL ? 9 : 7,
        .rank = rank,
        .dims = {(int64_t)count},
        .count = count};
    made->data = wi_arena_take(&n->arena, (count + 1) * sizeof *made->data);
    for (size_t i = 0; made->data && i < count; i++) made->data[i] = (double)numbers[i];
    if (made->data) wi_onnx_set_numbers(n, &node, 0, made);
    return made->data ? name : NULL;
}

void wi_onnx_alias(wi_onnx_import *n, wi_onnx_node *node, size_t index, const char *name) {
    if (index >= node->n_output || !node->output[index][0]) return;
    wi_onnx_build_part(n, node,
        &(wi_onnx_part){"Identity", &name, 1, (const char *const *)&node->output[index], 1, WEFT_END});
}

void wi_onnx_join(wi_onnx_import *n, wi_onnx_node *node, size_t index, const char *const *names, size_t count,
    int64_t axis, bool stacks) {
    const char **const parts = wi_arena_take(&n->arena, (count + 1) * sizeof(const char *));
    const char *const axes = stacks ? wi_onnx_add_wholes(n, node, 1, &axis, 1, WEFT_I32) : NULL;
    if (index >= node->n_output || !node->output[index][0] || n->status != WEFT_OK) return;
    for (size_t i = 0; parts && i < count; i++) {
        parts[i] = stacks ? wi_onnx_new_name(n, names[i]) : names[i];
        const char **const in = stacks ? wi_arena_take(&n->arena, 2 * sizeof(const char *)) : NULL;
        if (!in) continue;
        in[0] = names[i];
        in[1] = axes;
        wi_onnx_build_part(n, node, &(wi_onnx_part){"Unsqueeze", in, 2, &parts[i], 1, WEFT_END});
    }
    if (parts && count == 1) wi_onnx_alias(n, node, index, parts[0]);
    if (parts && count != 1)
        wi_onnx_build_part(n, node,
            &(wi_onnx_part){"Concat", parts, count, (const char *const *)&node->output[index], 1, axis});
}
