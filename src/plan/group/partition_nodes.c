/* Assigns each node to a step.
 *
 * Nodes are taken in order. A map joins the latest of the steps that compute its inputs, if the map's shape is the space of this step
 * and the inputs from this step are still in registers. The other inputs come from earlier steps, so no cycle can arise. A reduction
 * joins the step that computes its input. A node that can join no step begins a new one. A value gets memory only if something outside
 * its step reads it.
 *
 * Decisions depend on general sizes (graph/shape.h) only, so that plans of all batch sizes have the same steps. */
#include "base/key_map.h"
#include "graph/weft_graph.h"
#include "ops/op_descriptors.h"
#include "plan/group/partition.h"

static weft_status group_output(wi_partition *p, size_t output) {
    p->output_values[output] = -1;
    weft_tensor *node = p->order->roots[output];
    p->device = wi_node_device(p->order, node);
    if (node->op->kind == WI_ASSIGN) return WEFT_OK;
    int index = wi_value_index(p, node);
    WI_TRY(wi_in_memory(p, &index));
    const wi_value *value = &p->values[index];
    const wi_storage *storage = &p->storages[wi_base_storage(p, index)];
    if (storage->kind == WI_STORAGE_BLOCK || !wi_layout_is_contiguous(value->layout, value->extent))
        WI_TRY(wi_copy_value(p, index, -1, NULL, &index));
    p->output_values[output] = index;
    return WEFT_OK;
}

/* at: the node's place in the order. */
static weft_status group_node(wi_partition *p, weft_tensor *node, size_t at) {
    int index;
    p->device = wi_node_device(p->order, node);
    WI_TRY(wi_new_value(p, node, &index));
    p->value_of[at] = index + 1;
    switch (node->op->kind) {
    case WI_SOURCE: return wi_group_source(p, index);
    case WI_GENERATOR: return wi_group_generator(p, index);
    case WI_VIEW: return wi_group_view(p, index);
    case WI_MAP: return wi_group_map(p, index, at);
    case WI_REDUCE: return wi_group_reduce(p, index);
    case WI_PRODUCT:
        return node->op == &wi_op_matmul ? wi_group_product(p, index) : wi_group_convolution(p, index);
    case WI_KERNEL: return wi_group_kernel(p, index);
    case WI_JOIN: return wi_group_join(p, index);
    case WI_ASSIGN: return wi_group_assign(p, index);
    case WI_TRANSFER: return wi_group_transfer(p, index);
    case WI_COMPOSITE: break;
    }
    WI_FAIL(WEFT_ERROR_INTERNAL, "%s: a plan cannot hold this node", node->op->name);
}

/* The block that an assignment writes; its target is a variable or a view of one. */
static size_t assigned_block(const weft_tensor *assign) {
    const weft_tensor *source = assign->inputs[0];
    while (source->op->kind == WI_VIEW) source = source->inputs[0];
    return wi_graph_block_of(source);
}

/* Marks the blocks that the plan's assignments write. wi_op_assign_all only groups assignments. */
static weft_status find_assigned(wi_partition *p) {
    const wi_node_order *order = p->order;
    p->assigned = wi_arena_take(p->request->arena, p->request->graph->block_count * sizeof *p->assigned);
    if (!p->assigned) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < order->count; i++) {
        if (order->nodes[i]->op == &wi_op_assign) p->assigned[assigned_block(order->nodes[i])] = true;
    }
    return WEFT_OK;
}

weft_status wi_plan_partition(const wi_node_order *order, wi_partition *p) {
    const wi_request *request = order->request;
    *p = (wi_partition){.request = request, .order = order};
    for (int d = 0; d < WI_MAX_DEVICES; d++) p->faults[d] = -1;
    p->selections = wi_key_map_new(request->arena);
    WI_TRY(wi_grow(request->allocator, (void **)&p->values, &p->value_capacity,
        order->count + order->count / 8, sizeof *p->values)); /* room for values that later passes add */
    p->value_of = wi_arena_take(request->arena, order->count * sizeof *p->value_of);
    p->output_values = wi_arena_take(request->arena, order->output_count * sizeof *p->output_values);
    if (!p->selections || !p->value_of || !p->output_values) return WEFT_ERROR_MEMORY;
    WI_TRY(find_assigned(p));
    for (size_t i = 0; i < order->count; i++) WI_TRY(group_node(p, order->nodes[i], i));
    for (size_t i = 0; i < order->output_count; i++) WI_TRY(group_output(p, i));
    p->device = 0; /* later passes copy assigned values on device 0 */
    return wi_drop_unread(p);
}

void wi_partition_clear(wi_partition *p) {
    if (!p->request) return;
    const weft_allocator *allocator = p->request->allocator;
    wi_release(allocator, p->values);
    wi_release(allocator, p->storages);
    wi_release(allocator, p->steps);
    wi_release(allocator, p->assignments);
}
