/* Creates values, storages and steps of the partition, sets the state of values, and gives values memory (copies: partition_copies.c). */
#include "plan/group/partition.h"
#include <CL/cl.h>
#include <string.h>

/* ---- sizes ---- */

/* Consecutive nodes often have equal shapes. Their values share one extent and one layout from this cache. */
static const wi_sizes *sizes_of(wi_partition *p, const wi_shape *shape) {
    size_t hash = (size_t)shape->rank;
    for (int i = 0; i < shape->rank; i++) hash = 31 * hash + (size_t)shape->dims[i];
    const wi_sizes **const known = &p->sizes[(hash ^ hash >> 7) % WI_KNOWN_SIZES];
    if (*known && wi_shape_equal((*known)->shape, shape)) return *known;
    wi_sizes *const made = wi_arena_take(p->request->arena, sizeof *made);
    if (!made) return NULL;
    made->shape = shape;
    made->extent = wi_extent_of(shape, p->request->batch);
    made->contiguous = wi_layout_contiguous(&made->extent);
    return *known = made;
}

static bool is_same_layout(const wi_layout *a, const wi_layout *b, int rank) {
    const size_t bytes = (size_t)rank * sizeof *a->strides;
    return a->offset.general == b->offset.general && a->offset.actual == b->offset.actual &&
           memcmp(a->strides, b->strides, bytes) == 0;
}

weft_status wi_set_layout(wi_partition *p, int index, const wi_layout *layout) {
    wi_value *const value = &p->values[index];
    if (is_same_layout(layout, value->layout, value->extent->rank)) return WEFT_OK;
    wi_layout *const own = wi_arena_take(p->request->arena, sizeof *own);
    if (!own) return WEFT_ERROR_MEMORY;
    *own = *layout;
    value->layout = own;
    return WEFT_OK;
}

/* ---- values, storages and steps ---- */

weft_status wi_new_value(wi_partition *p, weft_tensor *node, int *index) {
    WI_TRY(wi_grow(p->request->allocator, (void **)&p->values, &p->value_capacity, p->value_count + 1,
        sizeof *p->values));
    *index = (int)p->value_count++;
    wi_value *value = &p->values[*index];
    const wi_sizes *const sizes = sizes_of(p, &node->shape);
    if (!sizes) return WEFT_ERROR_MEMORY;
    *value = (wi_value){.node = node,
        .format = wi_stored_format(p->order, node),
        .step = -1,
        .storage = -1,
        .stored_as = -1,
        .fault = -1,
        .extent = &sizes->extent,
        .layout = &sizes->contiguous};
    return WEFT_OK;
}

weft_status wi_new_storage(wi_partition *p, wi_storage_kind kind, size_t bytes, int *index) {
    WI_TRY(wi_grow(p->request->allocator, (void **)&p->storages, &p->storage_capacity, p->storage_count + 1,
        sizeof *p->storages));
    *index = (int)p->storage_count++;
    p->storages[*index] = (wi_storage){.kind = kind, .device = p->device, .bytes = bytes, .alias = -1};
    return WEFT_OK;
}

weft_status wi_reserve_fault(wi_partition *p, int value, int first, int count) {
    const int slot = p->fault_count++;
    for (int d = first; d < first + count; d++) {
        int *const faults = &p->faults[d];
        if (*faults < 0) {
            WI_TRY(wi_new_storage(p, WI_STORAGE_ARENA, 0, faults));
            p->storages[*faults].device = d;
            p->storages[*faults].keep = true;
        }
        p->storages[*faults].bytes = (size_t)p->fault_count * sizeof(cl_int);
    }
    p->values[value].fault = slot;
    return WEFT_OK;
}

weft_status wi_new_step(wi_partition *p, wi_step_kind kind, const wi_shape *shape, int *index) {
    WI_TRY(wi_grow(
        p->request->allocator, (void **)&p->steps, &p->step_capacity, p->step_count + 1, sizeof *p->steps));
    wi_step *step = wi_arena_take(p->request->arena, sizeof *step);
    if (!step) return WEFT_ERROR_MEMORY;
    step->kind = kind;
    step->device = p->device;
    step->shape = *shape;
    step->extent = wi_extent_of(shape, p->request->batch);
    *index = step->index = (int)p->step_count++;
    p->steps[*index] = step;
    return WEFT_OK;
}

const wi_value *wi_value_of_node(const wi_partition *p, const weft_tensor *node) {
    const int index = node ? wi_value_index(p, node) : -1;
    return index < 0 ? NULL : &p->values[index];
}

size_t wi_value_bytes(const wi_value *value) {
    return (size_t)wi_extent_count(value->extent).actual * weft_dtype_size(value->format);
}

int wi_base_storage(const wi_partition *p, int index) {
    return p->values[wi_base_of(p, index)].storage;
}

int wi_whole_storage(const wi_partition *p, int value) {
    int storage = wi_base_storage(p, value);
    while (storage >= 0 && p->storages[storage].alias >= 0) storage = p->storages[storage].alias;
    return storage;
}

bool wi_is_stored_in(const wi_partition *p, int value, wi_storage_kind kind) {
    const int storage = wi_whole_storage(p, value);
    return storage >= 0 && p->storages[storage].kind == kind;
}

wi_device *wi_step_device(const wi_partition *p, const wi_step *step) {
    return p->request->devices.of[step->device];
}

/* ---- the state of values ---- */

bool wi_is_uniform_inline(const wi_value *value) {
    return value->state == WI_VALUE_INLINE && value->inlined.uniform;
}

/* Computed once, when a value becomes inline, so that later queries need not walk the graph. */
static bool is_uniform(const wi_partition *p, const weft_tensor *expression) {
    if (expression->op == &wi_op_constant || expression->op == &wi_op_scalar) return true;
    if (expression->op->kind != WI_MAP) return false;
    for (int i = 0; i < expression->input_count; i++) {
        if (!wi_is_uniform_inline(&p->values[wi_value_index(p, expression->inputs[i])])) return false;
    }
    return true;
}

void wi_make_inline(wi_partition *p, int index, const weft_tensor *expression, int operands) {
    wi_value *const value = &p->values[index];
    value->state = WI_VALUE_INLINE;
    value->inlined = (wi_inline_state){expression, operands, is_uniform(p, expression)};
    value->step = value->storage = -1;
}

void wi_add_member(wi_partition *p, int step, int index) {
    wi_value *const value = &p->values[index];
    wi_step *const s = p->steps[step];
    const bool ordered = wi_is_ordered(p->order, value->node);
    value->state = WI_VALUE_MEMBER;
    value->member = (wi_member_state){.copy_of = -1,
        .place = s->member_count,
        .outside = ordered ? p->order->readers[wi_place_of(p->order, value->node)] : 0};
    value->step = step;
    s->members[s->member_count++] = index;
}

void wi_make_stored(wi_partition *p, int index, int storage) {
    wi_value *const value = &p->values[index];
    value->state = WI_VALUE_MEMORY;
    value->memory = (wi_memory_state){.base = index};
    value->storage = storage;
}

void wi_make_view(wi_partition *p, int index, int viewed) {
    wi_value *const value = &p->values[index];
    const wi_value *const x = &p->values[viewed];
    value->state = WI_VALUE_MEMORY;
    value->memory = (wi_memory_state){.base = wi_base_of(p, viewed)};
    value->format = x->format;
    value->step = x->step;
    value->storage = -1;
}

weft_status wi_store_member(wi_partition *p, int index) {
    wi_value *value = &p->values[index];
    if (value->state == WI_VALUE_MEMORY || value->storage >= 0) return WEFT_OK;
    int storage;
    WI_TRY(wi_new_storage(p, WI_STORAGE_ARENA, wi_value_bytes(value), &storage));
    p->storages[storage].device = p->steps[p->values[index].step]->device;
    p->values[index].storage = storage;
    return WEFT_OK;
}
