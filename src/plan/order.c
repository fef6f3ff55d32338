/* The nodes behind the outputs in an order in which inputs come before their users, composites replaced by
 * what they are lowered to; then, in a plan for training, the assignments that composites among them do (a
 * norm's running statistics). The order depends on the graph alone, so that every plan of it looks alike. */
#include "plan/order.h"

weft_tensor *wi_resolve(const wi_request *request, weft_tensor *node) {
    while (node && node->op->kind == WI_COMPOSITE) {
        weft_tensor **lowered = &node->lowered[request->inference];
        if (!*lowered) *lowered = node->op->lower(node, request->inference);
        node = *lowered;
    }
    return node;
}

typedef struct visit {
    weft_tensor *node;
    int next; /* input to be visited next */
} visit;

typedef struct walk {
    const wi_request *request;
    wi_node_order *order;
    bool *met; /* by node id */
    size_t met_capacity;
    visit *stack;
    size_t stack_capacity;
    weft_tensor **effects;
    size_t effect_count, effect_capacity;
} walk;

/* Lowering makes nodes, so the table by id grows on the way. */
static weft_status meet(walk *w, const weft_tensor *node, bool *first) {
    const size_t before = w->met_capacity;
    WI_TRY(wi_grow(w->request->context->allocator, (void **)&w->met, &w->met_capacity, (size_t)node->id + 1,
        sizeof *w->met));
    for (size_t i = before; i < w->met_capacity; i++) w->met[i] = false;
    *first = !w->met[node->id];
    w->met[node->id] = true;
    return WEFT_OK;
}

static weft_status append(walk *w, weft_tensor *node) {
    wi_node_order *order = w->order;
    WI_TRY(wi_grow(w->request->context->allocator, (void **)&order->nodes, &order->capacity, order->count + 1,
        sizeof *order->nodes));
    order->nodes[order->count++] = node;
    return WEFT_OK;
}

/* What the composites that are replaced here want of the plan, each asked once. */
static weft_status ask_composites(walk *w, weft_tensor *node) {
    const wi_request *request = w->request;
    for (; node && node->op->kind == WI_COMPOSITE; node = node->lowered[request->inference]) {
        bool first;
        WI_TRY(meet(w, node, &first));
        if (!first) return WEFT_OK;
        if (node->op->check) WI_TRY(node->op->check(node, request->batch, request->inference));
        if (!node->op->effect || request->inference) continue;
        weft_tensor *effect;
        for (int i = 0; (effect = node->op->effect(node, i)) != NULL; i++) {
            WI_TRY(wi_grow(request->context->allocator, (void **)&w->effects, &w->effect_capacity,
                w->effect_count + 1, sizeof *w->effects));
            w->effects[w->effect_count++] = effect;
        }
        WI_TRY(weft_graph_status(request->graph));
    }
    return WEFT_OK;
}

/* Onto the stack, unless it has been met. */
static weft_status enter(walk *w, weft_tensor *entering, size_t *depth) {
    weft_tensor *node = wi_resolve(w->request, entering);
    if (!node) return weft_graph_status(w->request->graph);
    WI_TRY(ask_composites(w, entering));
    bool first;
    WI_TRY(meet(w, node, &first));
    if (!first) return WEFT_OK;
    WI_TRY(wi_grow(w->request->context->allocator, (void **)&w->stack, &w->stack_capacity, *depth + 1,
        sizeof *w->stack));
    w->stack[(*depth)++] = (visit){.node = node};
    return WEFT_OK;
}

/* Depth first without recursion: graphs may be deeper than a thread's stack. */
static weft_status visit_from(walk *w, weft_tensor *root) {
    size_t depth = 0;
    WI_TRY(enter(w, root, &depth));
    while (depth > 0) {
        visit *top = &w->stack[depth - 1];
        if (top->next < top->node->input_count) {
            WI_TRY(enter(w, top->node->inputs[top->next++], &depth));
        } else {
            WI_TRY(append(w, top->node));
            depth--;
        }
    }
    return WEFT_OK;
}

static weft_status visit_all(walk *w) {
    for (size_t i = 0; i < w->request->output_count; i++) WI_TRY(visit_from(w, w->request->outputs[i]));
    for (size_t i = 0; i < w->effect_count; i++) WI_TRY(visit_from(w, w->effects[i]));
    return WEFT_OK;
}

/* id_count: all nodes of the order are below it. */
static weft_status count_readers(wi_node_order *order, size_t id_count) {
    const wi_request *request = order->request;
    order->id_count = id_count;
    order->readers = wi_arena_take(request->arena, id_count * sizeof *order->readers);
    if (!order->readers) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < order->count; i++) {
        const weft_tensor *node = order->nodes[i];
        for (int k = 0; k < node->input_count; k++)
            order->readers[wi_resolve(request, node->inputs[k])->id]++;
    }
    for (size_t i = 0; i < request->output_count; i++)
        order->readers[wi_resolve(request, request->outputs[i])->id]++;
    return WEFT_OK;
}

weft_status wi_plan_order(const wi_request *request, wi_node_order *order) {
    *order = (wi_node_order){.request = request};
    walk w = {.request = request, .order = order};
    weft_status status = visit_all(&w);
    if (status == WEFT_OK) status = count_readers(order, w.met_capacity);
    wi_release(request->context->allocator, w.met);
    wi_release(request->context->allocator, w.stack);
    wi_release(request->context->allocator, w.effects);
    return status;
}

void wi_node_order_clear(wi_node_order *order) {
    if (order->request) wi_release(order->request->context->allocator, order->nodes);
}
