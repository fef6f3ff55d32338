/* Where everything lies: which steps each storage is in use for, which may be written over by the step that
 * reads it last, and offsets in as few buffers as the device allows. Exact before anything is allocated. */
#include "plan/steps.h"
#include <stdlib.h>

enum { ALIGNMENT = 128 };

int wi_plan_root(const weft_plan *plan, int storage) {
    while (plan->storages[storage].alias >= 0) storage = plan->storages[storage].alias;
    return storage;
}

wi_storage *wi_plan_storage(weft_plan *plan, int storage, size_t *offset) {
    *offset = 0;
    while (plan->storages[storage].alias >= 0) {
        *offset += plan->storages[storage].alias_offset;
        storage = plan->storages[storage].alias;
    }
    *offset += plan->storages[storage].offset;
    return &plan->storages[storage];
}

/* ---- liveness ---- */

static void touch(weft_plan *plan, int storage, int step) {
    wi_storage *root = &plan->storages[wi_plan_root(plan, storage)];
    if (root->first < 0 || step < root->first) root->first = step;
    if (step > root->last) root->last = step;
}

static void touch_value(weft_plan *plan, int value, int step) {
    touch(plan, wi_plan_base_storage(plan, value), step);
}

static void find_lives(weft_plan *plan) {
    for (size_t i = 0; i < plan->step_count; i++) {
        const wi_step *step = plan->steps[i];
        for (int o = 0; o < step->operand_count; o++) {
            if (step->operands[o].value >= 0) touch_value(plan, step->operands[o].value, (int)i);
        }
        if (step->kind != WI_STEP_PRODUCT) continue;
        touch_value(plan, step->sources[0], (int)i);
        touch_value(plan, step->sources[1], (int)i);
    }
    for (size_t i = 0; i < plan->output_count; i++) {
        if (plan->output_values[i] >= 0) touch_value(plan, plan->output_values[i], (int)plan->step_count);
    }
}

/* ---- writing over what is read last ---- */

static bool fills(const weft_plan *plan, const wi_operand *operand) {
    const wi_value *value = &plan->values[operand->value];
    const wi_storage *storage = &plan->storages[wi_plan_base_storage(plan, operand->value)];
    return wi_size_is(operand->layout.offset, 0) && storage->alias < 0 && !storage->keep &&
           storage->kind == WI_STORAGE_ARENA &&
           (size_t)wi_extent_count(&value->extent).actual * weft_dtype_size(operand->dtype) == storage->bytes;
}

static bool walks_alike(const wi_step *step, const wi_operand *a, const wi_operand *b) {
    for (int d = 0; d < step->space.rank; d++) {
        if (a->layout.strides[d].actual != b->layout.strides[d].actual) return false;
    }
    return weft_dtype_size(a->dtype) == weft_dtype_size(b->dtype);
}

static bool read_once(const weft_plan *plan, const wi_step *step, int storage) {
    int reads = 0;
    for (int o = 0; o < step->operand_count; o++) {
        const int value = step->operands[o].value;
        reads += value >= 0 && wi_plan_root(plan, wi_plan_base_storage(plan, value)) == storage;
    }
    if (step->kind == WI_STEP_PRODUCT)
        reads += 2 * (wi_plan_root(plan, wi_plan_base_storage(plan, step->sources[0])) == storage ||
                         wi_plan_root(plan, wi_plan_base_storage(plan, step->sources[1])) == storage);
    return reads == 1;
}

/* An output may lie where an input lay that nobody reads any more, when both are walked through alike. */
static void reuse_input(weft_plan *plan, const wi_step *step, int index, const wi_operand *output) {
    if (!fills(plan, output)) return;
    const int to = wi_plan_base_storage(plan, output->value);
    if (plan->storages[to].first != index) return;
    for (int i = 0; i < step->operand_count; i++) {
        const wi_operand *input = &step->operands[i];
        if (input->value < 0 || input->is_output || input->fold || !fills(plan, input) ||
            !walks_alike(step, input, output))
            continue;
        const int from = wi_plan_base_storage(plan, input->value);
        if (from == to || plan->storages[from].last != index ||
            plan->storages[from].bytes != plan->storages[to].bytes || !read_once(plan, step, from))
            continue;
        plan->storages[to].alias = from;
        plan->storages[from].last = plan->storages[to].last;
        return;
    }
}

static void reuse_inputs(weft_plan *plan) {
    for (size_t i = 0; i < plan->step_count; i++) {
        const wi_step *step = plan->steps[i];
        if (step->kind == WI_STEP_KERNEL || (step->kind == WI_STEP_PRODUCT && !step->implementation->file))
            continue;
        for (int o = 0; o < step->operand_count; o++) {
            const wi_operand *output = &step->operands[o];
            if (output->is_output && wi_step_writes_last(plan, step, output))
                reuse_input(plan, step, (int)i, output);
        }
    }
}

/* ---- offsets ---- */

static bool lives_overlap(const wi_storage *a, const wi_storage *b) {
    return a->keep || b->keep || (a->first <= b->last && b->first <= a->last);
}

static size_t aligned(size_t bytes) {
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* The lowest offset in a chunk at which the storage meets nothing that is alive with it. */
static size_t lowest_offset(
    wi_storage *const *placed, size_t count, const wi_storage *storage, size_t chunk) {
    size_t offset = 0;
    for (bool moved = true; moved;) {
        moved = false;
        for (size_t i = 0; i < count; i++) {
            const wi_storage *other = placed[i];
            if (other->block != chunk || !lives_overlap(storage, other)) continue;
            if (offset < other->offset + aligned(other->bytes) && other->offset < offset + storage->bytes) {
                offset = other->offset + aligned(other->bytes);
                moved = true;
            }
        }
    }
    return offset;
}

static int larger_first(const void *a, const void *b) {
    const wi_storage *x = *(wi_storage *const *)a, *y = *(wi_storage *const *)b;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
    return x < y ? -1 : x > y;
}

static weft_status place_storage(weft_plan *plan, wi_storage **placed, size_t count, wi_storage *storage) {
    const size_t limit = (size_t)wi_context_device(plan->context)->caps.largest_allocation;
    if (storage->bytes > limit)
        WI_FAIL(WEFT_ERROR_DEVICE_MEMORY,
            "a tensor of %zu bytes exceeds the device's largest allocation of %zu", storage->bytes, limit);
    for (size_t chunk = 0;; chunk++) {
        const size_t offset = lowest_offset(placed, count, storage, chunk);
        if (offset + storage->bytes > limit) continue;
        storage->block = chunk;
        storage->offset = offset;
        if (chunk >= plan->chunk_count) plan->chunk_count = chunk + 1;
        if (offset + storage->bytes > plan->chunk_bytes[chunk])
            plan->chunk_bytes[chunk] = offset + storage->bytes;
        return WEFT_OK;
    }
}

static weft_status place_arena(weft_plan *plan) {
    wi_storage **order = wi_arena_take(&plan->arena, (plan->storage_count + 1) * sizeof(wi_storage *));
    plan->chunk_bytes = wi_arena_take(&plan->arena, (plan->storage_count + 1) * sizeof *plan->chunk_bytes);
    if (!order || !plan->chunk_bytes) return WEFT_ERROR_MEMORY;
    size_t count = 0;
    for (size_t i = 0; i < plan->storage_count; i++) {
        wi_storage *storage = &plan->storages[i];
        if (storage->kind == WI_STORAGE_ARENA && storage->alias < 0) order[count++] = storage;
    }
    qsort(order, count, sizeof(wi_storage *), larger_first);
    for (size_t i = 0; i < count; i++) WI_TRY(place_storage(plan, order, i, order[i]));
    return WEFT_OK;
}

/* The largest sum of what is alive at one time: before a step, or (outputs) after the last. */
static size_t lower_bound(const weft_plan *plan) {
    size_t most = 0;
    for (int step = 0; step <= (int)plan->step_count; step++) {
        size_t bytes = 0;
        for (size_t i = 0; i < plan->storage_count; i++) {
            const wi_storage *storage = &plan->storages[i];
            if (storage->kind != WI_STORAGE_ARENA || storage->alias >= 0) continue;
            if (storage->keep || (storage->first <= step && step <= storage->last)) bytes += storage->bytes;
        }
        if (bytes > most) most = bytes;
    }
    return most;
}

weft_status wi_plan_place(weft_plan *plan) {
    find_lives(plan);
    reuse_inputs(plan);
    WI_TRY(place_arena(plan));
    weft_plan_info *info = &plan->info;
    for (size_t i = 0; i < plan->chunk_count; i++) info->arena_bytes += plan->chunk_bytes[i];
    for (size_t i = 0; i < plan->storage_count; i++) {
        if (plan->storages[i].kind == WI_STORAGE_INPUT) info->io_bytes += plan->storages[i].bytes;
    }
    info->arena_lower_bound = lower_bound(plan);
    info->variable_bytes = wi_graph_variable_bytes(plan->graph);
    info->total_bytes = info->arena_bytes + info->io_bytes;
    return WEFT_OK;
}

/* ---- allocation ---- */

static weft_status allocate_storage(weft_plan *plan, wi_storage *storage) {
    if (storage->kind == WI_STORAGE_INPUT) {
        WI_TRY(wi_buffer_create(&storage->buffer, wi_context_device(plan->context), storage->bytes));
        storage->memory = storage->buffer.memory;
    } else if (storage->kind == WI_STORAGE_BLOCK) {
        WI_TRY(wi_graph_block_ready(plan->graph, storage->block));
        storage->memory = plan->graph->blocks[storage->block].buffer.memory;
    } else if (storage->alias < 0) {
        storage->memory = plan->chunks[storage->block].memory;
        if (storage->keep)
            WI_TRY(wi_buffer_fill_zero(
                wi_context_device(plan->context), storage->memory, storage->offset, storage->bytes));
    }
    return WEFT_OK;
}

weft_status wi_plan_allocate(weft_plan *plan) {
    size_t missing = 0;
    for (size_t i = 0; i < plan->storage_count; i++) {
        const wi_storage *storage = &plan->storages[i];
        if (storage->kind == WI_STORAGE_BLOCK && !plan->graph->blocks[storage->block].buffer.memory)
            missing += storage->bytes;
    }
    WI_TRY(wi_buffer_check_limit(wi_context_device(plan->context), plan->info.total_bytes + missing, "plan"));
    plan->chunks = wi_arena_take(&plan->arena, (plan->chunk_count + 1) * sizeof *plan->chunks);
    if (!plan->chunks) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < plan->chunk_count; i++)
        WI_TRY(wi_buffer_create(&plan->chunks[i], wi_context_device(plan->context), plan->chunk_bytes[i]));
    for (size_t i = 0; i < plan->storage_count; i++) WI_TRY(allocate_storage(plan, &plan->storages[i]));
    return WEFT_OK;
}
