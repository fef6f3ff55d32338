/* Values, storages and steps, as the passes make them; where values get memory. */
#include "plan/steps.h"

/* ---- values, storages and steps ---- */

weft_status wi_plan_new_value(weft_plan *plan, weft_tensor *node, int *index) {
    WI_TRY(wi_grow(plan->context->allocator, (void **)&plan->values, &plan->value_capacity,
        plan->value_count + 1, sizeof *plan->values));
    *index = (int)plan->value_count++;
    wi_value *value = &plan->values[*index];
    *value =
        (wi_value){.node = node, .copy_of = -1, .base = *index, .step = -1, .storage = -1, .written = -1};
    value->extent = wi_extent_of(&node->shape, plan->batch);
    value->layout = wi_layout_contiguous(&value->extent);
    value->outside = node->id < plan->value_of_capacity ? plan->readers[node->id] : 0;
    return WEFT_OK;
}

weft_status wi_plan_new_storage(weft_plan *plan, wi_storage_kind kind, size_t bytes, int *index) {
    WI_TRY(wi_grow(plan->context->allocator, (void **)&plan->storages, &plan->storage_capacity,
        plan->storage_count + 1, sizeof *plan->storages));
    *index = (int)plan->storage_count++;
    plan->storages[*index] = (wi_storage){.kind = kind, .bytes = bytes, .first = -1, .last = -1, .alias = -1};
    return WEFT_OK;
}

weft_status wi_plan_new_step(weft_plan *plan, wi_step_kind kind, const wi_shape *shape, int *index) {
    WI_TRY(wi_grow(plan->context->allocator, (void **)&plan->steps, &plan->step_capacity,
        plan->step_count + 1, sizeof *plan->steps));
    wi_step *step = wi_arena_take(&plan->arena, sizeof *step);
    if (!step) return WEFT_ERROR_MEMORY;
    step->kind = kind;
    step->shape = *shape;
    step->extent = wi_extent_of(shape, plan->batch);
    step->scratch = step->fault = -1;
    *index = (int)plan->step_count++;
    plan->steps[*index] = step;
    return WEFT_OK;
}

size_t wi_plan_extent_bytes(const wi_extent *extent, weft_dtype dtype) {
    return (size_t)wi_extent_count(extent).actual * weft_dtype_size(dtype);
}

void wi_plan_add_member(weft_plan *plan, int step, int value) {
    wi_step *s = plan->steps[step];
    s->members[s->member_count++] = value;
    plan->values[value].state = WI_VALUE_MEMBER;
    plan->values[value].step = step;
}

int wi_plan_value_index(const weft_plan *plan, weft_tensor *node) {
    return plan->value_of[node->id] - 1;
}

wi_value *wi_plan_value(weft_plan *plan, weft_tensor *node) {
    if (!node || node->id >= plan->value_of_capacity || plan->value_of[node->id] == 0) return NULL;
    return &plan->values[plan->value_of[node->id] - 1];
}

/* ---- giving values memory ---- */

bool wi_plan_is_uniform(const weft_plan *plan, const weft_tensor *leaf) {
    if (leaf->op == &wi_op_constant || leaf->op == &wi_op_scalar) return true;
    if (leaf->op->kind != WI_MAP) return false;
    for (int i = 0; i < leaf->input_count; i++) {
        const wi_value *input = &plan->values[wi_plan_value_index(plan, leaf->inputs[i])];
        if (input->state != WI_VALUE_LEAF || !wi_plan_is_uniform(plan, input->leaf)) return false;
    }
    return true;
}

weft_status wi_plan_give_memory(weft_plan *plan, int index) {
    wi_value *value = &plan->values[index];
    if (value->state == WI_VALUE_MEMORY || value->storage >= 0) return WEFT_OK;
    int storage;
    WI_TRY(wi_plan_new_storage(
        plan, WI_STORAGE_ARENA, wi_plan_extent_bytes(&value->extent, value->node->dtype), &storage));
    plan->values[index].storage = storage;
    return WEFT_OK;
}

int wi_plan_base_storage(const weft_plan *plan, int index) {
    return plan->values[plan->values[index].base].storage;
}

weft_status wi_plan_copy(weft_plan *plan, int from, int storage, const wi_layout *layout, int *copy) {
    const weft_tensor *leaf = plan->values[from].state == WI_VALUE_LEAF ? plan->values[from].leaf : NULL;
    if (!leaf) WI_TRY(wi_plan_give_memory(plan, from));
    weft_tensor *node = plan->values[from].node;
    int step;
    WI_TRY(wi_plan_new_value(plan, node, copy));
    WI_TRY(wi_plan_new_step(plan, WI_STEP_LOOP, &node->shape, &step));
    plan->steps[step]->only_moves = !leaf;
    plan->values[*copy].copy_of = leaf ? -1 : from;
    plan->values[*copy].is_leaf_member = leaf != NULL;
    plan->values[*copy].leaf = leaf;
    wi_plan_add_member(plan, step, *copy);
    if (storage < 0) return wi_plan_give_memory(plan, *copy);
    plan->values[*copy].storage = storage;
    plan->values[*copy].layout = *layout;
    return WEFT_OK;
}

/* A leaf is written down by a step of its own and stays a leaf:
 * steps before that one compute it themselves. */
weft_status wi_plan_in_memory(weft_plan *plan, int *index) {
    if (plan->values[*index].state != WI_VALUE_LEAF) return wi_plan_give_memory(plan, *index);
    int written = plan->values[*index].written;
    if (written < 0) WI_TRY(wi_plan_copy(plan, *index, -1, NULL, &written));
    plan->values[*index].written = written;
    *index = written;
    return WEFT_OK;
}

weft_status wi_plan_contiguous(weft_plan *plan, int *index) {
    const wi_value *value = &plan->values[*index];
    if (wi_layout_is_contiguous(&value->layout, &value->extent)) return WEFT_OK;
    int written = value->written;
    if (written < 0) WI_TRY(wi_plan_copy(plan, *index, -1, NULL, &written));
    plan->values[*index].written = written;
    *index = written;
    return WEFT_OK;
}
