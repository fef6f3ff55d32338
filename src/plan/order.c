/* The nodes behind the outputs, rewritten, in an order in which inputs come before their users; then, in a
 * plan for training, the assignments that composites among them do (a norm's running statistics). The order
 * depends on the graph alone, so that every plan of it looks alike. */
#include "graph/rewrite.h"
#include "plan/steps.h"
#include <string.h>

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
    size_t capacity;
} walk;

/* Depth first without recursion: graphs may be deeper than a thread's stack. */
static weft_status visit_from(weft_plan *plan, weft_tensor *root, walk *w) {
    size_t depth = 0;
    weft_tensor *entering = root;
    for (;;) {
        if (entering && plan->value_of[entering->id] == 0) {
            plan->value_of[entering->id] = -1; /* met */
            WI_TRY(wi_grow(
                plan->context->allocator, (void **)&w->stack, &w->capacity, depth + 1, sizeof *w->stack));
            w->stack[depth++] = (visit){.node = entering};
        }
        entering = NULL;
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

/* The table by id is as long as the graph has nodes by now. */
static weft_status take_roots(weft_plan *plan, const wi_rewrite *rewrite) {
    const size_t count = plan->graph->node_count;
    plan->root_count = rewrite->root_count;
    plan->roots = wi_arena_take(&plan->arena, plan->root_count * sizeof *plan->roots);
    plan->value_of = wi_allocate_array(plan->context->allocator, count, sizeof *plan->value_of);
    if (!plan->roots || !plan->value_of) return WEFT_ERROR_MEMORY;
    plan->value_of_capacity = count;
    memcpy(plan->roots, rewrite->roots, plan->root_count * sizeof *plan->roots);
    return WEFT_OK;
}

static weft_status rewrite_graph(weft_plan *plan) {
    wi_rewrite rewrite = {.graph = plan->graph, .inference = plan->inference, .batch = plan->batch};
    weft_status status = wi_rewrite_begin(&rewrite, plan->outputs, plan->output_count);
    if (status == WEFT_OK) status = wi_rewrite_run(&rewrite);
    if (status == WEFT_OK) status = take_roots(plan, &rewrite);
    wi_rewrite_end(&rewrite);
    return status;
}

weft_status wi_plan_order(weft_plan *plan) {
    WI_TRY(rewrite_graph(plan));
    walk w = {0};
    weft_status status = WEFT_OK;
    for (size_t i = 0; i < plan->root_count && status == WEFT_OK; i++)
        status = visit_from(plan, plan->roots[i], &w);
    wi_release(plan->context->allocator, w.stack);
    memset(plan->value_of, 0, plan->value_of_capacity * sizeof *plan->value_of);
    return status;
}
