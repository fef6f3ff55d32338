/* Reports an overflow that loss scaling cannot avoid even at its smallest scale (ops/loss_scale.h), and names the tensor in which it
 * begins.
 *
 * Additional plans compute the largest magnitude of tensors from the current inputs, some tensors at a time, beginning with those
 * nearest to the inputs. The first magnitude that is infinite, or too large for the format in which the failed plan stores the tensor,
 * is the beginning. This happens once, after a training has failed. */
#include "cl/buffer.h"
#include "graph/attempt.h"
#include "ops/loss_scale.h"
#include "ops/op_table.h"
#include "plan/run/plan_tensors.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum { TENSORS = 48, NAME = WI_SHAPE_TEXT + 384, DEPTH = 16 };

typedef struct overflow_search {
    weft_plan *plan;                      /* the plan that failed */
    const weft_tensor *suspects[TENSORS]; /* nodes of the plan that are checked together */
    weft_tensor *peaks[TENSORS];          /* their largest magnitudes */
    size_t count;
    const weft_tensor *found;
} overflow_search;

/* ---- checking tensors ---- */

static bool is_suspect(const weft_plan *plan, const weft_tensor *node) {
    const wi_op_kind kind = node->op->kind;
    if (!wi_dtype_is_float(node->dtype) || node->op == &wi_op_flat) return false;
    return (kind == WI_SOURCE && node->op != &wi_op_state) || kind == WI_PRODUCT || kind == WI_KERNEL ||
           kind == WI_REDUCE || (kind == WI_MAP && wi_stored_format(&plan->order, node) != node->dtype);
}

/* The smallest magnitude that overflows in the format in which the plan stores the node. */
static double limit_of(const weft_plan *plan, const weft_tensor *node) {
    return wi_stored_format(&plan->order, node) == WEFT_F16 ? 65520 : (double)INFINITY;
}

static weft_tensor *peak_of(const weft_tensor *node) {
    const wi_shape scalar = {.rank = 0};
    weft_tensor *const own = (weft_tensor *)node;
    if (wi_shape_equal(&node->shape, &scalar)) return weft_abs(own);
    weft_tensor *const peak = wi_max_keep(weft_abs(own), (1u << node->shape.rank) - 1);
    return weft_reshape_shape(peak, 0, NULL);
}

/* Binds the inputs of the other plan to the memory of the failed plan's inputs. */
static weft_status share_inputs(const weft_plan *plan, weft_plan *other) {
    const wi_partition *const p = &other->partition;
    for (size_t i = 0; i < p->value_count; i++) {
        weft_tensor *const node = (weft_tensor *)p->values[i].node;
        if (node->op != &wi_op_input || p->values[i].state != WI_VALUE_MEMORY) continue;
        const wi_value *const own = wi_value_of_node(&plan->partition, node);
        if (!own) return wi_fail(WEFT_ERROR_INTERNAL, "overflow search: an input is missing in the plan");
        const wi_location at =
            wi_locate_value(&plan->memory, &plan->runs.end, (int)(own - plan->partition.values));
        WI_TRY(weft_plan_bind(other, node, at.memory, at.offset));
    }
    return WEFT_OK;
}

static weft_status judge(overflow_search *s, weft_plan *other) {
    for (size_t i = 0; i < s->count && !s->found; i++) {
        float peak = 0;
        double wide = 0;
        const wi_value *value;
        const bool is_double = s->peaks[i]->dtype == WEFT_F64;
        size_t offset;
        WI_TRY(wi_plan_find_value(other, "overflow search", s->peaks[i], true, &value));
        const cl_mem memory = wi_plan_memory_of(other, value, &offset);
        WI_TRY(wi_buffer_read(wi_plan_device_of(other, value), memory, offset,
            is_double ? (void *)&wide : &peak, weft_dtype_size(s->peaks[i]->dtype)));
        if (!is_double) wide = wi_format_of(s->peaks[i]->dtype)->get(&peak, 0);
        if (!(wide < limit_of(s->plan, s->suspects[i]))) s->found = s->suspects[i];
    }
    return WEFT_OK;
}

static weft_status look_at(overflow_search *s) {
    weft_plan *other = NULL;
    weft_graph *const graph = s->plan->request.graph;
    const uint64_t draws = graph->draws;
    WI_TRY(weft_graph_status(graph));
    weft_status status = weft_plan_create(&other, s->peaks, s->count,
        &(weft_plan_options){WEFT_PLAN_OPTIONS_INIT, .batch = s->plan->request.batch});
    if (status == WEFT_OK) status = share_inputs(s->plan, other);
    if (status == WEFT_OK) status = weft_plan_run(other);
    if (status == WEFT_OK) status = judge(s, other);
    weft_plan_release(other);
    graph->draws = draws;
    s->count = 0;
    return status;
}

static weft_status search(overflow_search *s) {
    const wi_node_order *const order = &s->plan->order;
    for (size_t i = 0; i < order->count && !s->found; i++) {
        if (!is_suspect(s->plan, order->nodes[i])) continue;
        s->peaks[s->count] = peak_of(order->nodes[i]);
        s->suspects[s->count++] = order->nodes[i];
        if (s->count == TENSORS) WI_TRY(look_at(s));
    }
    return s->count && !s->found ? look_at(s) : WEFT_OK;
}

/* ---- naming the tensor ---- */

static const weft_tensor *without_views(const weft_tensor *node) {
    while (node->op->kind == WI_VIEW && node->input_count) node = node->inputs[0];
    return node;
}

/* The nearest parameter that the node reads through views and elementwise ops; otherwise the nearest input. */
static const weft_tensor *named_source(const weft_tensor *node) {
    const weft_tensor *input = NULL;
    for (int depth = 0; depth < DEPTH && node; depth++) {
        const weft_tensor *next = NULL;
        for (int i = node->input_count; i-- > 0;) {
            const weft_tensor *const at = without_views(node->inputs[i]);
            if (at->op->kind == WI_SOURCE && at->variable && at->variable->trainable) return at;
            if (at->op == &wi_op_input) input = at;
            if (at->op->kind == WI_MAP || at->op->kind == WI_PRODUCT || at->op->kind == WI_KERNEL) next = at;
        }
        node = next;
    }
    return input;
}

static void name_node(const weft_tensor *node, char text[NAME]) {
    char shape[WI_SHAPE_TEXT];
    const weft_tensor *const source = named_source(node);
    wi_shape_print(node->graph, &node->shape, shape);
    if (*weft_tensor_name(node))
        snprintf(text, NAME, "%s '%s'", node->op->name, weft_tensor_name(node));
    else
        snprintf(text, NAME, "the result %s of %.64s%s%.256s%s", shape, node->op->name,
            source ? " with '" : "", source ? weft_tensor_name(source) : "", source ? "'" : "");
}

static weft_status fail_with_name(weft_plan *plan) {
    const wi_loss_scaling *const scaling = &plan->request.graph->scaling;
    overflow_search s = {.plan = plan};
    char where[NAME] = "a tensor that is finite when recomputed";
    float began = 0;
    WI_TRY(wi_loss_scale_read(scaling->began, &began));
    WI_TRY(search(&s));
    if (s.found) name_node(s.found, where);
    WI_FAIL(WEFT_ERROR_NOT_FINITE,
        "loss scaling: since step %" PRIu64 " (counted from 0) the gradients have inf or NaN even at the "
        "smallest loss scale, %g; the overflow begins in %s",
        (uint64_t)began, (double)scaling->options.least, where);
}

/* Errors of nodes that the search creates belong to this call, not to the graph. */
static weft_status fail(weft_plan *plan) {
    const wi_attempt attempt = wi_attempt_begin(plan->request.graph);
    return wi_attempt_end(&attempt, fail_with_name(plan));
}

weft_status wi_plan_check_overflow(weft_plan *plan) {
    const wi_loss_scaling *const scaling = &plan->request.graph->scaling;
    float failed = 0;
    if (!plan->partition.trains || !scaling->failed) return WEFT_OK;
    WI_TRY(wi_loss_scale_read(scaling->failed, &failed));
    if (failed == 0) return WEFT_OK;
    failed = 0;
    WI_TRY(weft_tensor_write(scaling->failed, &failed, sizeof failed));
    return fail(plan);
}
