/* Copies: values that are stored again, in another layout, in other memory, or on another device. */
#include "plan/group/partition.h"

int wi_transfer_from(const wi_partition *p, const wi_step *step) {
    return p->storages[wi_base_storage(p, p->values[step->members[0]].member.copy_of)].device;
}

bool wi_changes_device(const wi_partition *p, const wi_step *step) {
    return step->kind == WI_STEP_TRANSFER && wi_transfer_from(p, step) != step->device;
}

/* A copy between contiguous ranges is done by the queue, so that no kernel has to be compiled. */
static wi_step_kind kind_of_copy(const wi_value *from, const wi_layout *layout) {
    const bool whole = wi_layout_is_contiguous(from->layout, from->extent) &&
                       (!layout || wi_layout_is_contiguous(layout, from->extent));
    return from->state != WI_VALUE_INLINE && whole ? WI_STEP_TRANSFER : WI_STEP_LOOP;
}

weft_status wi_copy_value(wi_partition *p, int from, int storage, const wi_layout *layout, int *copy) {
    const bool is_inline = p->values[from].state == WI_VALUE_INLINE;
    const weft_tensor *const expression = is_inline ? p->values[from].inlined.expression : NULL;
    if (!is_inline) WI_TRY(wi_store_member(p, from));
    weft_tensor *node = p->values[from].node;
    int step;
    WI_TRY(wi_new_value(p, node, copy));
    WI_TRY(wi_new_step(p, kind_of_copy(&p->values[from], layout), &node->shape, &step));
    p->steps[step]->only_moves = !is_inline;
    wi_add_member(p, step, *copy);
    wi_value *const value = &p->values[*copy];
    value->member.copy_of = is_inline ? -1 : from;
    value->member.expression = expression;
    value->format = p->values[from].format;
    if (storage < 0) return wi_store_member(p, *copy);
    value->storage = storage;
    return wi_set_layout(p, *copy, layout);
}

/* Adds a step that stores the inline value in a new value. Steps that were created earlier still compute the inline value themselves. */
weft_status wi_in_memory(wi_partition *p, int *index) {
    if (p->values[*index].state != WI_VALUE_INLINE) return wi_store_member(p, *index);
    int stored_as = p->values[*index].stored_as;
    const bool elsewhere = stored_as >= 0 && p->storages[wi_base_storage(p, stored_as)].device != p->device;
    if (stored_as < 0 || elsewhere) WI_TRY(wi_copy_value(p, *index, -1, NULL, &stored_as));
    p->values[*index].stored_as = stored_as;
    *index = stored_as;
    return WEFT_OK;
}

weft_status wi_contiguous(wi_partition *p, int *index) {
    const wi_value *value = &p->values[*index];
    if (wi_layout_is_contiguous(value->layout, value->extent)) return WEFT_OK;
    int stored_as = value->stored_as;
    if (stored_as < 0) WI_TRY(wi_copy_value(p, *index, -1, NULL, &stored_as));
    p->values[*index].stored_as = stored_as;
    *index = stored_as;
    return WEFT_OK;
}

/* Copies the input from another device. An input that is not contiguous is made contiguous on that device first. */
weft_status wi_group_transfer(wi_partition *p, int index) {
    const weft_tensor *node = p->values[index].node;
    const int device = p->device;
    int from = wi_value_index(p, node->inputs[0]), step;
    p->device = wi_node_device(p->order, node->inputs[0]);
    WI_TRY(wi_in_memory(p, &from));
    WI_TRY(wi_contiguous(p, &from));
    p->device = device;
    WI_TRY(wi_new_step(p, WI_STEP_TRANSFER, &node->shape, &step));
    p->steps[step]->only_moves = true;
    wi_add_member(p, step, index);
    p->values[index].member.copy_of = from;
    return wi_store_member(p, index);
}
