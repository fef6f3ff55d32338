/* Gives each place an offset (contract in placement.h). The places that each run uses give their live ranges; an output may overwrite an
 * input that the step is the last to read; the largest places get their offsets first. */
#include "plan/arrange/placement.h"
#include "cl/buffer.h"
#include "plan/arrange/loads.h"
#include <stdlib.h>

int wi_place_root(const wi_placement *m, int place, size_t *offset) {
    size_t bytes = 0;
    for (; m->places[place].alias >= 0; place = m->places[place].alias)
        bytes += m->places[place].alias_offset;
    if (offset) *offset = bytes;
    return place;
}

/* ---- live ranges ---- */

static void touch(wi_placement *m, int place, int run) {
    wi_place *root = &m->places[wi_place_root(m, place, NULL)];
    if (root->first < 0 || run < root->first) root->first = run;
    if (run > root->last) root->last = run;
}

static int place_of(const wi_placement *m, const wi_run *run, int value) {
    return wi_place_of_value(m->runs, run, value, NULL);
}

static void touch_run(wi_placement *m, const wi_loop *loop, const wi_run *run) {
    const wi_step *step = run->step;
    for (int o = 0; o < loop->operand_count; o++) {
        if (loop->operands[o].value >= 0) touch(m, place_of(m, run, loop->operands[o].value), run->index);
    }
    if (m->scratch[run->index] >= 0) touch(m, m->scratch[run->index], run->index);
    if (m->fixed[run->index] >= 0) touch(m, m->fixed[run->index], run->index);
    if (step->kind != WI_STEP_PRODUCT) return;
    touch(m, place_of(m, run, step->sources[0]), run->index);
    touch(m, place_of(m, run, step->sources[1]), run->index);
}

static void find_lives(wi_placement *m, const wi_loops *loops) {
    const wi_partition *p = m->partition;
    for (size_t i = 0; i < m->runs->run_count; i++) {
        const wi_run *run = &m->runs->runs[i];
        touch_run(m, &loops->of[run->step->index], run);
    }
    for (size_t i = 0; i < p->order->output_count; i++) {
        if (p->output_values[i] >= 0)
            touch(m, place_of(m, &m->runs->end, p->output_values[i]), m->runs->end.index);
    }
}

/* The results of a fixed step stay valid for all runs of the plan. */
static void keep_fixed(wi_placement *m, const wi_loops *loops) {
    for (size_t i = 0; i < m->runs->run_count; i++) {
        const wi_run *run = &m->runs->runs[i];
        const wi_loop *loop = &loops->of[run->step->index];
        if (!wi_step_is_fixed(m->runs->schedule, run->step)) continue;
        for (int o = 0; o < loop->operand_count; o++) {
            if (!loop->operands[o].is_output) continue;
            m->places[wi_place_root(m, place_of(m, run, loop->operands[o].value), NULL)].keep = true;
        }
    }
}

/* ---- outputs that overwrite inputs ---- */

static bool fills(const wi_partition *p, const wi_operand *operand) {
    const wi_value *value = &p->values[operand->value];
    const wi_storage *storage = &p->storages[wi_base_storage(p, operand->value)];
    return wi_size_is(operand->layout.offset, 0) && storage->alias < 0 && !storage->keep &&
           storage->kind == WI_STORAGE_ARENA &&
           (size_t)wi_extent_count(value->extent).actual * weft_dtype_size(operand->dtype) == storage->bytes;
}

static bool walks_alike(const wi_loop *loop, const wi_operand *a, const wi_operand *b) {
    for (int d = 0; d < loop->space.rank; d++) {
        if (a->layout.strides[d].actual != b->layout.strides[d].actual) return false;
    }
    return weft_dtype_size(a->dtype) == weft_dtype_size(b->dtype);
}

static bool read_once(const wi_partition *p, const wi_loop *loop, int root) {
    const wi_step *step = loop->step;
    int reads = 0;
    for (int o = 0; o < loop->operand_count; o++) {
        const int value = loop->operands[o].value;
        reads += value >= 0 && wi_whole_storage(p, value) == root;
    }
    if (step->kind == WI_STEP_PRODUCT)
        reads += 2 * (wi_whole_storage(p, step->sources[0]) == root ||
                         wi_whole_storage(p, step->sources[1]) == root);
    return reads == 1;
}

bool wi_may_overwrite(
    const wi_loops *loops, const wi_loop *loop, const wi_operand *output, const wi_operand *input) {
    const wi_partition *p = loops->partition;
    if (loop->step->kind == WI_STEP_KERNEL || loop->step->kind == WI_STEP_TRANSFER ||
        wi_step_is_library(loop->step))
        return false;
    if (!output->is_output || !wi_writes_last(loops, loop, output) || !fills(p, output)) return false;
    if (input->value < 0 || input->is_output || input->padded || input->pick || !fills(p, input) ||
        !walks_alike(loop, input, output))
        return false;
    const int from = wi_base_storage(p, input->value), to = wi_base_storage(p, output->value);
    return from != to && p->storages[from].bytes == p->storages[to].bytes && read_once(p, loop, from);
}

/* Does another output of this run overwrite that place already? The live range of the place does not show this if no later run reads the
 * other output. */
static bool is_taken(const wi_placement *m, const wi_loop *loop, const wi_run *run, int at) {
    for (int o = 0; o < loop->operand_count; o++)
        if (loop->operands[o].is_output && m->places[place_of(m, run, loop->operands[o].value)].alias == at)
            return true;
    return false;
}

/* Lets the output overwrite an input that no later run reads, if the step accesses both in the same order. */
static void reuse_input(wi_placement *m, const wi_loops *loops, const wi_run *run, const wi_operand *output) {
    const wi_loop *loop = &loops->of[run->step->index];
    wi_place *to = &m->places[place_of(m, run, output->value)];
    if (to->alias >= 0 || to->first != run->index) return;
    for (int i = 0; i < loop->operand_count; i++) {
        const wi_operand *input = &loop->operands[i];
        if (!wi_may_overwrite(loops, loop, output, input)) continue;
        const int at = place_of(m, run, input->value);
        wi_place *from = &m->places[at];
        if (from->alias >= 0 || from->keep || from->last != run->index || is_taken(m, loop, run, at))
            continue;
        to->alias = at;
        from->last = to->last;
        return;
    }
}

static void reuse_inputs(wi_placement *m, const wi_loops *loops) {
    for (size_t i = 0; i < m->runs->run_count; i++) {
        const wi_run *run = &m->runs->runs[i];
        const wi_loop *loop = &loops->of[run->step->index];
        for (int o = 0; o < loop->operand_count; o++) {
            if (loop->operands[o].is_output) reuse_input(m, loops, run, &loop->operands[o]);
        }
    }
}

/* ---- offsets ---- */

static bool lives_overlap(const wi_place *a, const wi_place *b) {
    return a->keep || b->keep || (a->first <= b->last && b->first <= a->last);
}

/* A place in a buffer of the arena, and the range of bytes that it occupies there. */
typedef struct span {
    size_t offset, end;
    const wi_place *place;
} span;

typedef struct chunk_content {
    span *spans; /* sorted by offset */
    size_t count, capacity;
    bool cleared; /* has places that the host clears */
} chunk_content;

/* The lowest offset at which no place that is live at the same time overlaps. Spans are sorted by offset, so one pass over them suffices. */
static size_t lowest_offset(const chunk_content *c, const wi_place *place) {
    size_t offset = 0;
    for (size_t i = 0; i < c->count && c->spans[i].offset < offset + place->bytes; i++) {
        if (c->spans[i].end > offset && lives_overlap(place, c->spans[i].place)) offset = c->spans[i].end;
    }
    return offset;
}

static weft_status insert(wi_placement *m, chunk_content *c, const wi_place *place) {
    WI_TRY(wi_grow(
        m->partition->request->allocator, (void **)&c->spans, &c->capacity, c->count + 1, sizeof *c->spans));
    size_t at = c->count++;
    for (; at > 0 && c->spans[at - 1].offset > place->offset; at--) c->spans[at] = c->spans[at - 1];
    c->spans[at] = (span){place->offset, place->offset + wi_aligned_bytes(place->bytes), place};
    c->cleared = place->cleared;
    return WEFT_OK;
}

static int larger_first(const void *a, const void *b) {
    const wi_place *x = *(wi_place *const *)a, *y = *(wi_place *const *)b;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
    return x < y ? -1 : x > y;
}

/* Places that the host clears have buffers of their own: Oclgrind treats the rest of a buffer of which the host has written a part as
 * uninitialised. */
static bool may_share(const chunk_content *c, const wi_place *place) {
    return c->count == 0 || (!place->cleared && !c->cleared);
}

static weft_status set_place(wi_placement *m, chunk_content *chunks, wi_place *place) {
    const wi_device *const device = m->partition->request->devices.of[place->device];
    const size_t limit = wi_buffer_largest(device);
    WI_TRY(wi_buffer_check_largest(device, place->bytes, "a tensor"));
    for (size_t chunk = 0;; chunk++) {
        if (chunk < m->chunk_count && m->chunk_device[chunk] != place->device) continue;
        if (!may_share(&chunks[chunk], place)) continue;
        const size_t offset = lowest_offset(&chunks[chunk], place);
        if (offset > limit - place->bytes) continue;
        place->chunk = chunk;
        place->offset = offset;
        m->chunk_device[chunk] = place->device;
        if (chunk >= m->chunk_count) m->chunk_count = chunk + 1;
        if (offset + place->bytes > m->chunk_bytes[chunk]) m->chunk_bytes[chunk] = offset + place->bytes;
        return insert(m, &chunks[chunk], place);
    }
}

static weft_status set_places(wi_placement *m, wi_place *const *order, size_t count) {
    const weft_allocator *const allocator = m->partition->request->allocator;
    chunk_content *const chunks = wi_allocate_array(allocator, count + 1, sizeof *chunks);
    weft_status status = chunks ? WEFT_OK : WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < count && status == WEFT_OK; i++) status = set_place(m, chunks, order[i]);
    for (size_t i = 0; chunks && i < count; i++) wi_release(allocator, chunks[i].spans);
    wi_release(allocator, chunks);
    return status;
}

static weft_status place_arena(wi_placement *m) {
    wi_place **order = wi_arena_take(m->arena, (m->place_count + 1) * sizeof(wi_place *));
    m->chunk_bytes = wi_arena_take(m->arena, (m->place_count + 1) * sizeof *m->chunk_bytes);
    m->chunk_device = wi_arena_take(m->arena, (m->place_count + 1) * sizeof *m->chunk_device);
    if (!order || !m->chunk_bytes || !m->chunk_device) return WEFT_ERROR_MEMORY;
    size_t count = 0;
    for (size_t i = 0; i < m->place_count; i++) {
        wi_place *place = &m->places[i];
        if (place->kind == WI_STORAGE_ARENA && place->alias < 0) order[count++] = place;
    }
    qsort(order, count, sizeof(wi_place *), larger_first);
    return set_places(m, order, count);
}

/* The most bytes that are live at one time: during a run, or (outputs) after the last. begins and ends: by run, bytes whose live range
 * begins or ends there. A place that no run uses is not counted. */
static weft_status find_lower_bound(wi_placement *m) {
    const size_t count = m->runs->run_count + 1;
    size_t *const begins = wi_arena_take(m->arena, count * sizeof *begins);
    size_t *const ends = wi_arena_take(m->arena, count * sizeof *ends);
    size_t alive = 0;
    if (!begins || !ends) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < m->place_count; i++) {
        const wi_place *const place = &m->places[i];
        if (place->kind != WI_STORAGE_ARENA || place->alias >= 0) continue;
        if (place->keep) {
            alive += place->bytes;
        } else if (place->first >= 0) {
            begins[place->first] += place->bytes;
            ends[place->last] += place->bytes;
        }
    }
    for (size_t run = 0; run < count; run++) {
        alive += begins[run];
        if (alive > m->lower_bound) m->lower_bound = alive;
        alive -= ends[run];
    }
    return WEFT_OK;
}

/* ---- places ---- */

static void init_place(wi_place *place, const wi_storage *storage) {
    *place = (wi_place){.kind = storage->kind,
        .device = storage->device,
        .bytes = storage->bytes,
        .first = -1,
        .last = -1,
        .keep = storage->keep,
        .cleared = storage->keep,
        .alias = storage->alias,
        .alias_offset = storage->alias_offset};
}

/* A place for scratch memory; -1: no bytes are needed. */
static int make_scratch(wi_placement *m, int device, size_t bytes, bool keep) {
    if (bytes == 0) return -1;
    wi_place *const place = &m->places[m->place_count];
    init_place(place, &(wi_storage){.kind = WI_STORAGE_ARENA, .device = device, .bytes = bytes, .alias = -1});
    place->keep = keep;
    return (int)m->place_count++;
}

/* Adds a place for each load, in the order of the loads' numbers. */
static void make_loads(wi_placement *m) {
    for (size_t i = 0; i < m->runs->run_count; i++) {
        const wi_run *const run = &m->runs->runs[i];
        for (int k = 0; k < run->load_count; k++)
            (void)make_scratch(m, run->step->device, run->loads[k].bytes, false);
    }
}

static void make_cells(wi_placement *m, const wi_schedule *schedule) {
    const wi_partition *p = m->partition;
    size_t bytes[WI_MAX_DEVICES] = {0};
    for (size_t i = 0; i < p->step_count; i++) {
        const wi_step_schedule *const own = &schedule->of[i];
        size_t *const most = &bytes[p->steps[i]->device];
        if (own->cell_bytes > *most) *most = own->cell_bytes;
    }
    for (int d = 0; d < WI_MAX_DEVICES; d++) {
        m->cells[d] = make_scratch(m, d, bytes[d], true);
        if (m->cells[d] >= 0) m->places[m->cells[d]].cleared = true;
    }
}

/* One place for each storage, for each further instance, for the cells of each device, and for the scratch memory of each run. */
static weft_status make_places(wi_placement *m, const wi_schedule *schedule) {
    const wi_partition *p = m->partition;
    const wi_materialised *runs = m->runs;
    m->places = wi_arena_take(m->arena,
        (p->storage_count + runs->instance_count + runs->load_count + 2 * runs->run_count + WI_MAX_DEVICES) *
            sizeof *m->places);
    m->scratch = wi_arena_take(m->arena, (runs->run_count + 1) * sizeof *m->scratch);
    m->fixed = wi_arena_take(m->arena, (runs->run_count + 1) * sizeof *m->fixed);
    if (!m->places || !m->scratch || !m->fixed) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < p->storage_count; i++) init_place(&m->places[i], &p->storages[i]);
    m->place_count = p->storage_count;
    for (size_t i = 0; i < runs->instance_count; i++)
        init_place(&m->places[m->place_count++], &p->storages[runs->instance_of[i]]);
    make_loads(m);
    make_cells(m, schedule);
    for (size_t i = 0; i < runs->run_count; i++) {
        const int device = runs->runs[i].step->device;
        const wi_step_schedule *own = &schedule->of[runs->runs[i].step->index];
        m->fixed[i] = make_scratch(m, device, own->fixed_bytes, true);
        m->scratch[i] = make_scratch(m, device, own->scratch_bytes - own->fixed_bytes, false);
    }
    return WEFT_OK;
}

static void sum_up(wi_placement *m) {
    for (size_t i = 0; i < m->chunk_count; i++) {
        m->arena_bytes += m->chunk_bytes[i];
        m->device_bytes[m->chunk_device[i]] += m->chunk_bytes[i];
    }
    for (size_t i = 0; i < m->place_count; i++) {
        if (m->places[i].kind != WI_STORAGE_INPUT) continue;
        m->io_bytes += m->places[i].bytes;
        m->device_bytes[m->places[i].device] += m->places[i].bytes;
    }
}

weft_status wi_plan_placement(const wi_materialised *runs, wi_arena *arena, wi_placement *m) {
    const wi_loops *loops = runs->schedule->loops;
    *m = (wi_placement){.partition = loops->partition, .runs = runs, .arena = arena};
    WI_TRY(make_places(m, runs->schedule));
    find_lives(m, loops);
    keep_fixed(m, loops);
    reuse_inputs(m, loops);
    WI_TRY(place_arena(m));
    sum_up(m);
    return find_lower_bound(m);
}
