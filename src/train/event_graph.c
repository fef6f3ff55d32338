/* The network of an event (contract in event_graph.h). */
#include "train/event_graph.h"
#include "graph/weft_graph.h"
#include "train/event_queue.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME = 512 };

/* The nodes that the outputs depend on. Nodes have smaller ids than their readers. */
typedef struct node_list {
    const weft_tensor **of;
    size_t count, capacity;
    uint32_t *numbers; /* of each id: 1 + its index in the list; 0: it is not in the list */
} node_list;

static weft_status add_node(node_list *list, const weft_allocator *allocator, const weft_tensor *node) {
    if (list->numbers[node->id]) return WEFT_OK;
    WI_TRY(wi_grow(allocator, (void **)&list->of, &list->capacity, list->count + 1, sizeof *list->of));
    list->of[list->count++] = node;
    list->numbers[node->id] = 1;
    return WEFT_OK;
}

static int by_id(const void *one, const void *other) {
    const weft_tensor *const a = *(const weft_tensor *const *)one, *const b =
                                                                       *(const weft_tensor *const *)other;
    return a->id < b->id ? -1 : a->id > b->id;
}

static weft_status collect(
    node_list *list, const weft_allocator *allocator, weft_tensor *const *outputs, size_t count) {
    list->numbers = wi_allocate_array(
        allocator, (size_t)weft_tensor_graph(outputs[0])->node_count + 1, sizeof *list->numbers);
    if (!list->numbers) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < count; i++) WI_TRY(add_node(list, allocator, outputs[i]));
    for (size_t i = 0; i < list->count; i++)
        for (int k = 0; k < list->of[i]->input_count; k++)
            WI_TRY(add_node(list, allocator, list->of[i]->inputs[k]));
    qsort((void *)list->of, list->count, sizeof *list->of, by_id);
    for (size_t i = 0; i < list->count; i++) list->numbers[list->of[i]->id] = (uint32_t)(i + 1);
    return WEFT_OK;
}

/* Writes the group of a node: that of the layer whose parameter it reads, as "conv1" of "conv1.weight", otherwise the
 * scope in which it was created. */
static void print_group(const weft_tensor *node, char group[NAME]) {
    const wi_origins *const origins = &node->graph->origins;
    const char *const scope = node->origin ? origins->of[node->origin - 1].scope : NULL;
    snprintf(group, NAME, "%s", scope ? scope : "");
    for (int i = 0; i < node->input_count; i++) {
        const weft_tensor *input = node->inputs[i];
        while (input->op->kind == WI_VIEW)
            input = input->inputs[0]; /* as a product reads a transposed weight */
        const char *const dot = input->variable && input->name ? strrchr(input->name, '.') : NULL;
        if (dot) snprintf(group, NAME, "%.*s.", (int)(dot - input->name), input->name);
    }
}

static const char *name_of(wi_event *event, const weft_tensor *node, size_t index) {
    char group[NAME], name[2 * NAME];
    if (node->name && *node->name && (node->variable || node->op == &wi_op_input)) {
        snprintf(name, sizeof name, "%s", node->name);
    } else {
        print_group(node, group);
        snprintf(name, sizeof name, "%s%s_%zu", group, node->op->name, index);
    }
    for (char *c = name; *c; c++)
        if (*c == '.') *c = '/';
    return wi_event_string(event, name);
}

static weft_status fill_node(wi_event *event, const node_list *list, size_t index, wi_event_node *node) {
    const weft_tensor *const from = list->of[index];
    char shape[WI_SHAPE_TEXT];
    uint32_t *const inputs = wi_event_take(event, ((size_t)from->input_count + 1) * sizeof *inputs);
    *node = (wi_event_node){.name = name_of(event, from, index),
        .op = from->op->name,
        .shape = wi_event_string(event, wi_shape_print(from->graph, &from->shape, shape)),
        .dtype = from->dtype,
        .rank = from->shape.rank,
        .is_parameter = from->variable && from->variable->trainable,
        .inputs = inputs,
        .input_count = (size_t)from->input_count};
    if (!node->name || !node->shape || !inputs) return WEFT_ERROR_MEMORY;
    for (int i = 0; i < from->shape.rank; i++) {
        const int64_t size = from->shape.dims[i];
        node->dims[i] = size < 0 || wi_is_symbolic(size) ? -1 : size;
    }
    for (int i = 0; i < from->input_count; i++) inputs[i] = list->numbers[from->inputs[i]->id] - 1;
    return WEFT_OK;
}

static weft_status fill(wi_event *event, const node_list *list) {
    wi_event_node *const nodes = wi_event_take(event, (list->count + 1) * sizeof *nodes);
    if (!nodes) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < list->count; i++) WI_TRY(fill_node(event, list, i, &nodes[i]));
    event->of.graph = (wi_event_graph){nodes, list->count};
    return WEFT_OK;
}

weft_status wi_event_graph_fill(wi_event *event, weft_tensor *const *outputs, size_t count) {
    const weft_allocator *const allocator = event->arena.allocator;
    node_list list = {0};
    weft_status status = count ? collect(&list, allocator, outputs, count) : WEFT_OK;
    if (status == WEFT_OK) status = fill(event, &list);
    wi_release(allocator, (void *)list.of);
    wi_release(allocator, list.numbers);
    return status;
}
