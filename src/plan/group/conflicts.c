/* Rejects plans whose result would depend on the order of their outputs, because two assignments write the same memory. */
#include "plan/group/conflicts.h"
#include "graph/weft_graph.h"
#include <stdio.h>
#include <stdlib.h>

/* The range of bytes of a storage that an assignment writes. */
typedef struct written {
    int storage;
    int64_t first, end;
    const weft_tensor *variable;
} written;

static written written_by(const wi_partition *p, const wi_assignment *assignment) {
    const wi_value *const value = &p->values[assignment->variable];
    const int64_t size = (int64_t)weft_dtype_size(value->node->dtype);
    written w = {.storage = wi_base_storage(p, assignment->variable),
        .first = value->layout->offset.general,
        .variable = p->values[wi_base_of(p, assignment->variable)].node};
    w.end = w.first + 1;
    for (int i = 0; i < value->extent->rank; i++) {
        const int64_t reach = (value->extent->dims[i].general - 1) * value->layout->strides[i].general;
        *(reach < 0 ? &w.first : &w.end) += reach;
    }
    w.first *= size;
    w.end *= size;
    return w;
}

static int by_place(const void *a, const void *b) {
    const written *const x = a, *const y = b;
    if (x->storage != y->storage) return x->storage < y->storage ? -1 : 1;
    return (x->first > y->first) - (x->first < y->first);
}

/* The name of the parameter at this byte of the block that contains all parameters, or at the corresponding byte of an optimizer state
 * of all parameters. */
static const char *parameter_at(const written *w, int64_t byte) {
    const weft_graph *const graph = w->variable->graph;
    const wi_variable *const state = w->variable->variable;
    const size_t flat = state ? 0 : w->variable->attributes->flat.block;
    const size_t block = state ? state->covered_block : graph->blocks[flat].first;
    const size_t offset = (size_t)byte + (state ? state->covered : 0);
    const char *name = "";
    for (size_t i = 0; i < weft_graph_parameter_count(graph); i++) {
        weft_tensor *const parameter = weft_graph_parameter(graph, i);
        if (parameter->variable->block == block && parameter->variable->offset <= offset)
            name = weft_tensor_name(parameter);
    }
    return name;
}

static bool is_update(const written *w) {
    return !w->variable->variable || w->variable->variable->role;
}

/* Part of an error message: which outputs of the plan, or which layers, assign to the variable. */
static const char *writers_of(const wi_request *request, const weft_tensor *variable, char text[96]) {
    size_t outputs[2] = {0}, count = 0;
    for (size_t i = 0; i < request->output_count && count < 2; i++) {
        const weft_tensor *const output = request->outputs[i];
        if (output->op->kind == WI_ASSIGN && output->inputs[0] == variable) outputs[count++] = i;
    }
    if (count == 2)
        snprintf(text, 96, "by its outputs %zu and %zu", outputs[0], outputs[1]);
    else if (count == 1)
        snprintf(text, 96, "by its output %zu and by a layer, such as a norm that updates its statistics",
            outputs[0]);
    else
        snprintf(text, 96, "by two layers");
    return text;
}

/* Returns an error that names the variable that both assignments write. An update by an optimizer (is_update) writes a range of the flat
 * tensor of all parameters, or of an optimizer state; these have no names. The range of b begins inside the range of a. */
static weft_status fail_writers(const wi_request *request, const written *a, const written *b) {
    if (is_update(a) && is_update(b))
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "plan: '%s' is updated twice in one plan (by weft_minimize or optimizer steps), but the order of "
            "two updates in a run is undefined: add the gradients and update once, or use two plans",
            parameter_at(a, b->first));
    const char *const name = weft_tensor_name(is_update(a) ? b->variable : a->variable);
    if (is_update(a) || is_update(b))
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "plan: an update (of weft_minimize or an optimizer step) and an assignment both write '%s', but "
            "their order in a run is undefined: use weft_assign_after to assign after the update",
            name);
    char writers[96];
    WI_FAIL(WEFT_ERROR_ARGUMENT,
        "plan: '%s' is assigned twice in one plan (%s), but the order of two assignments in a run is "
        "undefined: assign one value, or make the second assignment with weft_assign_after",
        name, writers_of(request, a->variable, writers));
}

bool wi_assigns_part(const wi_partition *p, const wi_assignment *assignment, int value) {
    const written w = written_by(p, assignment), own = written_by(p, &(wi_assignment){.variable = value});
    return w.storage == own.storage && w.first < own.end && own.first < w.end;
}

weft_status wi_check_writers(const wi_partition *p) {
    written *const all = wi_arena_take(p->request->arena, (p->assignment_count + 1) * sizeof *all);
    if (!all) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < p->assignment_count; i++) all[i] = written_by(p, &p->assignments[i]);
    if (p->assignment_count > 1) qsort(all, p->assignment_count, sizeof *all, by_place);
    for (size_t i = 1; i < p->assignment_count; i++) {
        if (all[i - 1].storage == all[i].storage && all[i].first < all[i - 1].end)
            return fail_writers(p->request, &all[i - 1], &all[i]);
    }
    return WEFT_OK;
}
