/* Dumps the rewritten graph, the order, the partition and the selection. */
#include "graph/rewrite.h"
#include "kernels/candidates.h"
#include "plan/describe/dump.h"

/* ---- nodes ---- */

/* "%12 relu f32 (batch, 8)": number, op, dtype and shape of a node. */
static void dump_node(const weft_tensor *node, wi_text *text) {
    char shape[WI_SHAPE_TEXT];
    wi_text_append(text, "%%%u %s %s %s", (unsigned)node->id, node->op->name, weft_dtype_name(node->dtype),
        wi_shape_print(node->graph, &node->shape, shape));
}

static void append_inputs(const weft_tensor *node, wi_text *text) {
    for (int i = 0; i < node->input_count; i++)
        wi_text_append(text, "%s%%%u", i ? ", " : "  of ", (unsigned)node->inputs[i]->id);
}

static void append_counts(const wi_node_order *order, wi_text *text) {
    static const char *const stages[] = {[WI_STAGE_FORM] = "form", [WI_STAGE_MATCH] = "match"};
    for (size_t i = 0; i < order->rewrite_count; i++) {
        const wi_rewrite_count *const done = &order->rewrites[i];
        wi_text_append(text, "%6u  %-6s %-24s %s\n", (unsigned)done->count, stages[done->stage],
            done->op->name, done->what);
    }
}

void wi_dump_rewrites(const wi_node_order *order, wi_text *text) {
    append_counts(order, text);
    for (size_t i = 0; i < order->root_count; i++) {
        if (i < order->output_count)
            wi_text_append(text, "output %zu, %%%u, is ", i, (unsigned)order->outputs[i]->id);
        else
            wi_text_append(text, "assignment of a composite is ");
        wi_text_append(text, "%%%u\n", (unsigned)order->roots[i]->id);
    }
    for (size_t i = 0; i < order->count; i++) {
        dump_node(order->nodes[i], text);
        append_inputs(order->nodes[i], text);
        wi_text_append(text, "\n");
    }
}

void wi_dump_order(const wi_node_order *order, wi_text *text) {
    for (size_t i = 0; i < order->count; i++) {
        const weft_tensor *node = order->nodes[i];
        wi_text_append(text, "%4zu  ", i);
        dump_node(node, text);
        append_inputs(node, text);
        wi_text_append(text, "  %d readers\n", order->readers[i]);
    }
    for (size_t i = 0; i < order->output_count; i++)
        wi_text_append(text, "output %zu: %%%u\n", i, (unsigned)order->roots[i]->id);
}

/* ---- values ---- */

static void append_layout(const wi_value *value, wi_text *text) {
    wi_text_append(text, "  at %lld, strides", (long long)value->layout->offset.actual);
    for (int i = 0; i < value->extent->rank; i++)
        wi_text_append(text, " %lld", (long long)value->layout->strides[i].actual);
}

static void append_member(const wi_value *value, wi_text *text) {
    const wi_member_state *const member = &value->member;
    wi_text_append(text, "  member %d of step %d%s", member->place, value->step,
        member->in_row      ? ", in row"
        : member->chain > 0 ? ", after reduction"
                            : "");
    if (member->copy_of >= 0) wi_text_append(text, ", a copy of value %d", member->copy_of);
    if (member->expression) wi_text_append(text, ", an inline value stored");
}

static void append_state(const wi_value *value, wi_text *text) {
    switch (value->state) {
    case WI_VALUE_INLINE:
        wi_text_append(text, "  inline %s%s", value->inlined.expression->op->name,
            value->inlined.uniform ? ", uniform" : "");
        break;
    case WI_VALUE_MEMBER: append_member(value, text); break;
    case WI_VALUE_MEMORY:
        wi_text_append(text, "  memory of value %d, there after step %d", value->memory.base, value->step);
        break;
    }
    if (value->stored_as >= 0) wi_text_append(text, ", written as value %d", value->stored_as);
}

static void append_value(const wi_partition *p, int index, wi_text *text) {
    const wi_value *value = &p->values[index];
    wi_text_append(text, "value %d  ", index);
    dump_node(value->node, text);
    append_state(value, text);
    if (value->storage >= 0) wi_text_append(text, "  storage %d", value->storage);
    if (value->storage >= 0 || wi_base_of(p, index) != index) append_layout(value, text);
    if (value->state == WI_VALUE_MEMBER && value->member.permuted) wi_text_append(text, ", permuted");
    wi_text_append(text, "\n");
}

/* ---- storages and steps ---- */

static void append_storage(const wi_partition *p, int index, wi_text *text) {
    static const char *const kinds[] = {
        [WI_STORAGE_ARENA] = "arena", [WI_STORAGE_INPUT] = "input", [WI_STORAGE_BLOCK] = "block"};
    const wi_storage *storage = &p->storages[index];
    wi_text_append(text, "storage %d  %s, %zu bytes", index, kinds[storage->kind], storage->bytes);
    if (storage->kind == WI_STORAGE_BLOCK) wi_text_append(text, ", block %zu of the graph", storage->block);
    if (storage->device > 0) wi_text_append(text, ", on device %d", storage->device);
    if (storage->keep) wi_text_append(text, ", kept");
    if (storage->alias >= 0)
        wi_text_append(text, ", in storage %d at byte %zu", storage->alias, storage->alias_offset);
    wi_text_append(text, "\n");
}

static void append_step(const wi_partition *p, const wi_step *step, wi_text *text) {
    static const char *const kinds[] = {[WI_STEP_LOOP] = "loop",
        [WI_STEP_PRODUCT] = "product",
        [WI_STEP_KERNEL] = "kernel",
        [WI_STEP_TRANSFER] = "transfer"};
    char shape[WI_SHAPE_TEXT];
    wi_text_append(
        text, "step %d  %s %s", step->index, kinds[step->kind], wi_shape_print(NULL, &step->shape, shape));
    if (step->device > 0) wi_text_append(text, ", on device %d", step->device);
    if (wi_changes_device(p, step)) wi_text_append(text, " from device %d", wi_transfer_from(p, step));
    if (step->reduced) wi_text_append(text, ", reduces axes");
    for (int i = 0; i < step->shape.rank; i++)
        if (step->reduced >> i & 1) wi_text_append(text, " %d", i);
    if (step->only_moves) wi_text_append(text, ", only moves");
    wi_text_append(text, ", members");
    for (int i = 0; i < step->member_count; i++) wi_text_append(text, " %d", step->members[i]);
    const bool selects = step->kind == WI_STEP_PRODUCT || step->kind == WI_STEP_KERNEL;
    const int sources = selects ? p->values[step->members[0]].node->input_count : 0;
    for (int i = 0; i < sources; i++) wi_text_append(text, "%s %d", i ? "" : ", sources", step->sources[i]);
    if (step->selection) wi_text_append(text, ", by %s", step->selection->chosen->name);
    wi_text_append(text, "\n");
}

void wi_dump_partition(const wi_partition *p, wi_text *text) {
    for (size_t i = 0; i < p->step_count; i++) append_step(p, p->steps[i], text);
    for (size_t i = 0; i < p->value_count; i++) append_value(p, (int)i, text);
    for (size_t i = 0; i < p->storage_count; i++) append_storage(p, (int)i, text);
    for (size_t i = 0; i < p->assignment_count; i++)
        wi_text_append(text, "assignment of value %d to value %d\n", p->assignments[i].value,
            p->assignments[i].variable);
    for (size_t i = 0; i < p->order->output_count; i++)
        wi_text_append(text, "output %zu: value %d\n", i, p->output_values[i]);
}

/* ---- the selection ---- */

/* Leaves out estimated and measured times, because they depend on the device. weft_plan_describe shows them. */
static void append_candidate(const wi_candidate *candidate, wi_text *text) {
    wi_text_append(text, "    %s %s: %s\n", candidate->implementation->name,
        candidate->variant && candidate->variant->name ? candidate->variant->name : "",
        wi_verdict_name(candidate->verdict));
}

void wi_dump_selection(const wi_partition *p, wi_text *text) {
    for (size_t i = 0; i < p->step_count; i++) {
        const wi_selection *selection = p->steps[i]->selection;
        if (!selection) continue;
        wi_text_append(text, "step %zu  ", i);
        dump_node(p->values[p->steps[i]->members[0]].node, text);
        wi_text_append(text, "\n");
        for (int k = 0; k < selection->count; k++) append_candidate(&selection->candidates[k], text);
    }
}
