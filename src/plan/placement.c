/* Where everything lies (contract in placement.h). Which places each step uses says how long they are in use; an
 * output may be written over what the step reads last; offsets are given to the largest first. */
#include "plan/placement.h"
#include <stdlib.h>

enum { ALIGNMENT = 128 };

int wi_place_root(const wi_placement *m, int place, size_t *offset) {
    size_t bytes = 0;
    for (; m->places[place].alias >= 0; place = m->places[place].alias)
        bytes += m->places[place].alias_offset;
    if (offset) *offset = bytes;
    return place;
}

/* ---- liveness ---- */

static void touch(wi_placement *m, int place, int step) {
    wi_place *root = &m->places[wi_place_root(m, place, NULL)];
    if (root->first < 0 || step < root->first) root->first = step;
    if (step > root->last) root->last = step;
}

static void touch_value(wi_placement *m, int value, int step) {
    touch(m, wi_base_storage(m->partition, value), step);
}

static void touch_step(wi_placement *m, const wi_loop *loop) {
    const wi_step *step = loop->step;
    for (int o = 0; o < loop->operand_count; o++) {
        if (loop->operands[o].value >= 0) touch_value(m, loop->operands[o].value, step->index);
    }
    if (m->scratch[step->index] >= 0) touch(m, m->scratch[step->index], step->index);
    if (step->kind != WI_STEP_PRODUCT) return;
    touch_value(m, step->sources[0], step->index);
    touch_value(m, step->sources[1], step->index);
}

static void find_lives(wi_placement *m, const wi_loops *loops) {
    const wi_partition *p = m->partition;
    for (size_t i = 0; i < p->step_count; i++) touch_step(m, &loops->of[i]);
    for (size_t i = 0; i < p->request->output_count; i++) {
        if (p->output_values[i] >= 0) touch_value(m, p->output_values[i], (int)p->step_count);
    }
}

/* ---- writing over what is read last ---- */

static bool fills(const wi_placement *m, const wi_operand *operand) {
    const wi_value *value = &m->partition->values[operand->value];
    const wi_place *place = &m->places[wi_base_storage(m->partition, operand->value)];
    return wi_size_is(operand->layout.offset, 0) && place->alias < 0 && !place->keep &&
           place->kind == WI_STORAGE_ARENA &&
           (size_t)wi_extent_count(&value->extent).actual * weft_dtype_size(operand->dtype) == place->bytes;
}

static bool walks_alike(const wi_loop *loop, const wi_operand *a, const wi_operand *b) {
    for (int d = 0; d < loop->space.rank; d++) {
        if (a->layout.strides[d].actual != b->layout.strides[d].actual) return false;
    }
    return weft_dtype_size(a->dtype) == weft_dtype_size(b->dtype);
}

static bool lies_in(const wi_placement *m, int value, int root) {
    return wi_place_root(m, wi_base_storage(m->partition, value), NULL) == root;
}

static bool read_once(const wi_placement *m, const wi_loop *loop, int root) {
    const wi_step *step = loop->step;
    int reads = 0;
    for (int o = 0; o < loop->operand_count; o++) {
        const int value = loop->operands[o].value;
        reads += value >= 0 && lies_in(m, value, root);
    }
    if (step->kind == WI_STEP_PRODUCT)
        reads += 2 * (lies_in(m, step->sources[0], root) || lies_in(m, step->sources[1], root));
    return reads == 1;
}

/* Is the input, at `from`, read for the last time, and is it all that its memory holds? */
static bool may_be_overwritten(
    const wi_placement *m, const wi_loop *loop, const wi_operand *input, const wi_operand *output) {
    if (input->value < 0 || input->is_output || input->fold || !fills(m, input) ||
        !walks_alike(loop, input, output))
        return false;
    const int from = wi_base_storage(m->partition, input->value),
              to = wi_base_storage(m->partition, output->value);
    return from != to && m->places[from].last == loop->step->index &&
           m->places[from].bytes == m->places[to].bytes && read_once(m, loop, from);
}

/* An output may lie where an input lay that nobody reads any more, when both are walked through alike. */
static void reuse_input(wi_placement *m, const wi_loop *loop, const wi_operand *output) {
    if (!fills(m, output)) return;
    const int to = wi_base_storage(m->partition, output->value);
    if (m->places[to].first != loop->step->index) return;
    for (int i = 0; i < loop->operand_count; i++) {
        const wi_operand *input = &loop->operands[i];
        if (!may_be_overwritten(m, loop, input, output)) continue;
        const int from = wi_base_storage(m->partition, input->value);
        m->places[to].alias = from;
        m->places[from].last = m->places[to].last;
        return;
    }
}

static void reuse_inputs(wi_placement *m, const wi_loops *loops) {
    for (size_t i = 0; i < m->partition->step_count; i++) {
        const wi_loop *loop = &loops->of[i];
        if (loop->step->kind == WI_STEP_KERNEL || wi_step_is_library(loop->step)) continue;
        for (int o = 0; o < loop->operand_count; o++) {
            const wi_operand *output = &loop->operands[o];
            if (output->is_output && wi_writes_last(loops, loop, output)) reuse_input(m, loop, output);
        }
    }
}

/* ---- offsets ---- */

static bool lives_overlap(const wi_place *a, const wi_place *b) {
    return a->keep || b->keep || (a->first <= b->last && b->first <= a->last);
}

static size_t aligned(size_t bytes) {
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* The lowest offset in a chunk at which the storage meets nothing that is alive with it. */
static size_t lowest_offset(wi_place *const *placed, size_t count, const wi_place *place, size_t chunk) {
    size_t offset = 0;
    for (bool moved = true; moved;) {
        moved = false;
        for (size_t i = 0; i < count; i++) {
            const wi_place *other = placed[i];
            if (other->chunk != chunk || !lives_overlap(place, other)) continue;
            if (offset < other->offset + aligned(other->bytes) && other->offset < offset + place->bytes) {
                offset = other->offset + aligned(other->bytes);
                moved = true;
            }
        }
    }
    return offset;
}

static int larger_first(const void *a, const void *b) {
    const wi_place *x = *(wi_place *const *)a, *y = *(wi_place *const *)b;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
    return x < y ? -1 : x > y;
}

static weft_status set_place(wi_placement *m, wi_place **placed, size_t count, wi_place *place) {
    const size_t limit = (size_t)m->partition->request->device->caps.largest_allocation;
    if (place->bytes > limit)
        WI_FAIL(WEFT_ERROR_DEVICE_MEMORY,
            "a tensor of %zu bytes exceeds the device's largest allocation of %zu", place->bytes, limit);
    for (size_t chunk = 0;; chunk++) {
        const size_t offset = lowest_offset(placed, count, place, chunk);
        if (offset + place->bytes > limit) continue;
        place->chunk = chunk;
        place->offset = offset;
        if (chunk >= m->chunk_count) m->chunk_count = chunk + 1;
        if (offset + place->bytes > m->chunk_bytes[chunk]) m->chunk_bytes[chunk] = offset + place->bytes;
        return WEFT_OK;
    }
}

static weft_status place_arena(wi_placement *m) {
    wi_place **order = wi_arena_take(m->partition->request->arena, (m->place_count + 1) * sizeof(wi_place *));
    m->chunk_bytes =
        wi_arena_take(m->partition->request->arena, (m->place_count + 1) * sizeof *m->chunk_bytes);
    if (!order || !m->chunk_bytes) return WEFT_ERROR_MEMORY;
    size_t count = 0;
    for (size_t i = 0; i < m->place_count; i++) {
        wi_place *place = &m->places[i];
        if (place->kind == WI_STORAGE_ARENA && place->alias < 0) order[count++] = place;
    }
    qsort(order, count, sizeof(wi_place *), larger_first);
    for (size_t i = 0; i < count; i++) WI_TRY(set_place(m, order, i, order[i]));
    return WEFT_OK;
}

/* The largest sum of what is alive at one time: before a step, or (outputs) after the last. */
static size_t lower_bound(const wi_placement *m) {
    size_t most = 0;
    for (int step = 0; step <= (int)m->partition->step_count; step++) {
        size_t bytes = 0;
        for (size_t i = 0; i < m->place_count; i++) {
            const wi_place *place = &m->places[i];
            if (place->kind != WI_STORAGE_ARENA || place->alias >= 0) continue;
            if (place->keep || (place->first <= step && step <= place->last)) bytes += place->bytes;
        }
        if (bytes > most) most = bytes;
    }
    return most;
}

/* ---- the pass ---- */

static void take_storage(wi_place *place, const wi_storage *storage) {
    *place = (wi_place){.kind = storage->kind,
        .bytes = storage->bytes,
        .first = -1,
        .last = -1,
        .keep = storage->keep,
        .alias = storage->alias,
        .alias_offset = storage->alias_offset};
}

/* A place for each storage, then one for the scratch memory of each step that has some. */
static weft_status make_places(wi_placement *m, const wi_schedule *schedule) {
    const wi_partition *p = m->partition;
    m->places = wi_arena_take(p->request->arena, (p->storage_count + p->step_count) * sizeof *m->places);
    m->scratch = wi_arena_take(p->request->arena, p->step_count * sizeof *m->scratch);
    if (!m->places || !m->scratch) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < p->storage_count; i++) take_storage(&m->places[i], &p->storages[i]);
    m->place_count = p->storage_count;
    for (size_t i = 0; i < p->step_count; i++) {
        const size_t bytes = schedule->of[i].scratch_bytes;
        m->scratch[i] = bytes ? (int)m->place_count++ : -1;
        if (bytes)
            take_storage(&m->places[m->scratch[i]],
                &(wi_storage){.kind = WI_STORAGE_ARENA, .bytes = bytes, .alias = -1});
    }
    return WEFT_OK;
}

weft_status wi_plan_placement(const wi_schedule *schedule, wi_placement *m) {
    const wi_loops *loops = schedule->code->loops;
    *m = (wi_placement){.partition = loops->partition};
    WI_TRY(make_places(m, schedule));
    find_lives(m, loops);
    reuse_inputs(m, loops);
    WI_TRY(place_arena(m));
    for (size_t i = 0; i < m->chunk_count; i++) m->arena_bytes += m->chunk_bytes[i];
    for (size_t i = 0; i < m->place_count; i++) {
        if (m->places[i].kind == WI_STORAGE_INPUT) m->io_bytes += m->places[i].bytes;
    }
    m->lower_bound = lower_bound(m);
    return WEFT_OK;
}
