/* The nodes behind the outputs in an order in which inputs come before their users, composites replaced by
 * what they are lowered to; then, in a plan for training, the assignments that composites among them do (a
 * norm's running statistics). The order depends on the graph alone, so that every plan of it looks alike. */
#include "plan/steps.h"

weft_tensor *wi_plan_resolve(const weft_plan *plan, weft_tensor *node) {
    while (node && node->op->kind == WI_COMPOSITE) {
        weft_tensor **lowered = &node->lowered[plan->inference];
        if (!*lowered) *lowered = node->op->lower(node, plan->inference);
        node = *lowered;
    }
    return node;
}

/* Lowering makes nodes, so the table by id grows on the way. 0: not met; -1: its inputs are being visited. */
static weft_status mark(weft_plan *plan, const weft_tensor *node, int **slot) {
    const size_t before = plan->value_of_capacity;
    WI_TRY(wi_grow(plan->context->allocator, (void **)&plan->value_of, &plan->value_of_capacity,
        (size_t)node->id + 1, sizeof *plan->value_of));
    for (size_t i = before; i < plan->value_of_capacity; i++) plan->value_of[i] = 0;
    *slot = &plan->value_of[node->id];
    return WEFT_OK;
}

static weft_status append(weft_plan *plan, weft_tensor *node) {
    WI_TRY(wi_grow(plan->context->allocator, (void **)&plan->order, &plan->order_capacity,
        plan->order_count + 1, sizeof *plan->order));
    plan->order[plan->order_count++] = node;
    return WEFT_OK;
}

typedef struct visit {
    weft_tensor *node;
    int next; /* input to be visited next */
} visit;

typedef struct walk {
    visit *stack;
    size_t stack_capacity;
    weft_tensor **effects;
    size_t effect_count, effect_capacity;
} walk;

/* What the composites that are replaced here want of the plan, each asked once. */
static weft_status ask_composites(weft_plan *plan, weft_tensor *node, walk *w) {
    for (; node && node->op->kind == WI_COMPOSITE; node = node->lowered[plan->inference]) {
        int *slot;
        WI_TRY(mark(plan, node, &slot));
        if (*slot != 0) return WEFT_OK;
        *slot = -1;
        if (node->op->check) WI_TRY(node->op->check(node, plan->batch, plan->inference));
        if (!node->op->effect || plan->inference) continue;
        weft_tensor *effect;
        for (int i = 0; (effect = node->op->effect(node, i)) != NULL; i++) {
            WI_TRY(wi_grow(plan->context->allocator, (void **)&w->effects, &w->effect_capacity,
                w->effect_count + 1, sizeof *w->effects));
            w->effects[w->effect_count++] = effect;
        }
        WI_TRY(weft_graph_status(plan->graph));
    }
    return WEFT_OK;
}

/* Depth first without recursion: graphs may be deeper than a thread's stack. */
static weft_status visit_from(weft_plan *plan, weft_tensor *root, walk *w) {
    size_t depth = 0;
    weft_tensor *entering = root;
    for (;;) {
        if (entering) {
            weft_tensor *node = wi_plan_resolve(plan, entering);
            if (!node) return weft_graph_status(plan->graph);
            WI_TRY(ask_composites(plan, entering, w));
            int *slot;
            WI_TRY(mark(plan, node, &slot));
            entering = NULL;
            if (*slot == 0) {
                *slot = -1;
                WI_TRY(wi_grow(plan->context->allocator, (void **)&w->stack, &w->stack_capacity, depth + 1,
                    sizeof *w->stack));
                w->stack[depth++] = (visit){.node = node};
            }
        }
        if (depth == 0) return WEFT_OK;
        visit *top = &w->stack[depth - 1];
        if (top->next < top->node->input_count) {
            entering = top->node->inputs[top->next++];
        } else {
            WI_TRY(append(plan, top->node));
            depth--;
        }
    }
}

weft_status wi_plan_order(weft_plan *plan) {
    walk w = {0};
    weft_status status = WEFT_OK;
    for (size_t i = 0; i < plan->output_count && status == WEFT_OK; i++)
        status = visit_from(plan, plan->outputs[i], &w);
    for (size_t i = 0; i < w.effect_count && status == WEFT_OK; i++)
        status = visit_from(plan, w.effects[i], &w);
    wi_release(plan->context->allocator, w.stack);
    wi_release(plan->context->allocator, w.effects);
    for (size_t i = 0; i < plan->value_of_capacity; i++) plan->value_of[i] = 0;
    return status;
}
