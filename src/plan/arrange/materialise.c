/* Creates the list of runs of steps, and the instances of storages that they use (contract in materialise.h). */
#include "plan/arrange/materialise.h"
#include "plan/arrange/accesses.h"
#include "plan/arrange/loads.h"
#include "plan/arrange/rematerialise.h"
#include <string.h>

/* ---- places of values ---- */

static int find_instance(const wi_run *run, int storage) {
    for (int i = 0; i < run->instance_count; i++)
        if (run->instances[i].storage == storage) return run->instances[i].place;
    return -1;
}

/* The load of the run that contains the bytes of the value; NULL: none does. */
static const wi_load *find_load(const wi_partition *p, const wi_run *run, int value) {
    const wi_access access = wi_access_of(p, value, false);
    for (int i = 0; i < run->load_count; i++) {
        const wi_load *const load = &run->loads[i];
        const int64_t first = (int64_t)load->first, end = first + (int64_t)load->bytes;
        if (load->storage == access.storage && first <= access.first && access.end <= end) return load;
    }
    return NULL;
}

int wi_place_of_value(const wi_materialised *m, const wi_run *run, int value, size_t *offset) {
    const wi_partition *p = m->schedule->loops->partition;
    const int own = wi_base_storage(p, value);
    size_t bytes = 0;
    int root = own;
    if (offset) *offset = 0;
    if (run->instance_count + run->load_count == 0) return own;
    for (; p->storages[root].alias >= 0; root = p->storages[root].alias)
        bytes += p->storages[root].alias_offset;
    const wi_load *const load = p->storages[root].on_host ? find_load(p, run, value) : NULL;
    const int place = load ? load->place : find_instance(run, root);
    if (place < 0) return own;
    if (offset) *offset = bytes - (load ? load->first : 0);
    return place;
}

/* ---- without a limit: every step runs once ---- */

weft_status wi_run_all(const wi_schedule *schedule, wi_arena *arena, wi_materialised *m) {
    const wi_partition *p = schedule->loops->partition;
    *m = (wi_materialised){.schedule = schedule, .run_count = p->step_count};
    m->runs = wi_arena_take(arena, (p->step_count + 1) * sizeof *m->runs);
    if (!m->runs) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < p->step_count; i++) m->runs[i] = (wi_run){.index = (int)i, .step = p->steps[i]};
    m->end.index = (int)p->step_count;
    return wi_load_runs(m, arena);
}

/* ---- with a limit: some steps run again ---- */

typedef struct writer {
    const wi_model *model;
    const wi_partition *partition;
    wi_arena *arena;
    wi_materialised *m;
    /* By storage: its newest instance, as a number in instance_of; -1: the first instance, which is not listed there. */
    int *newest;
    bool *begun; /* by storage: an instance has been written */
    bool *ran;   /* by step of the model: it has run */
} writer;

static weft_status writer_make(writer *w) {
    const size_t storages = w->partition->storage_count + 1, steps = w->partition->step_count + 1;
    w->newest = wi_arena_take(w->arena, storages * sizeof *w->newest);
    w->begun = wi_arena_take(w->arena, storages * sizeof *w->begun);
    w->ran = wi_arena_take(w->arena, steps * sizeof *w->ran);
    if (!w->newest || !w->begun || !w->ran) return WEFT_ERROR_MEMORY;
    memset(w->newest, -1, storages * sizeof *w->newest);
    return WEFT_OK;
}

/* The first step of a unit that writes a storage begins a new instance of it. */
static void begin_instances(writer *w, int step) {
    const wi_model_step *own = &w->model->steps[step];
    for (int i = 0; i < own->write_count; i++) {
        const int storage = own->writes[i];
        if (w->model->storages[storage].first_writer != step) continue;
        if (w->begun[storage]) {
            w->newest[storage] = (int)w->m->instance_count;
            w->m->instance_of[w->m->instance_count++] = storage;
        }
        w->begun[storage] = true;
    }
}

static void add_instance(const writer *w, wi_run *run, wi_instance *into, int storage) {
    if (w->newest[storage] < 0) return;
    for (int i = 0; i < run->instance_count; i++) {
        if (into[i].storage == storage) return;
    }
    into[run->instance_count++] =
        (wi_instance){storage, (int)w->partition->storage_count + w->newest[storage]};
}

static weft_status write_run(writer *w, int step) {
    const wi_model_step *own = &w->model->steps[step];
    wi_run *run = &w->m->runs[w->m->run_count];
    *run = (wi_run){
        .index = (int)w->m->run_count, .step = w->partition->steps[own->step], .is_repeated = w->ran[step]};
    begin_instances(w, step);
    wi_instance *into =
        wi_arena_take(w->arena, (size_t)(own->read_count + own->write_count + 1) * sizeof *into);
    if (!into) return WEFT_ERROR_MEMORY;
    for (int i = 0; i < own->read_count; i++) add_instance(w, run, into, own->reads[i]);
    for (int i = 0; i < own->write_count; i++) add_instance(w, run, into, own->writes[i]);
    run->instances = into;
    w->ran[step] = true;
    w->m->run_count++;
    return WEFT_OK;
}

static weft_status write_end(writer *w) {
    wi_instance *into = wi_arena_take(w->arena, (w->partition->storage_count + 1) * sizeof *into);
    if (!into) return WEFT_ERROR_MEMORY;
    w->m->end = (wi_run){.index = (int)w->m->run_count, .instances = into};
    for (size_t i = 0; i < w->partition->storage_count; i++) {
        if (w->model->storages[i].is_output) add_instance(w, &w->m->end, into, (int)i);
    }
    return WEFT_OK;
}

static void add_costs(wi_materialised *m) {
    for (size_t i = 0; i < m->run_count; i++) {
        const wi_step_schedule *own = &m->schedule->of[m->runs[i].step->index];
        if (!m->runs[i].is_repeated) continue;
        m->again_count++;
        m->flops += own->flops;
        m->bytes_moved += own->bytes_moved;
    }
}

weft_status wi_run_swept(const wi_schedule *schedule, const wi_model *model, const wi_sweep *sweep,
    wi_arena *arena, wi_materialised *m) {
    writer w = {.model = model, .partition = schedule->loops->partition, .arena = arena, .m = m};
    *m = (wi_materialised){.schedule = schedule};
    m->runs = wi_arena_take(arena, (size_t)(sweep->run_count + 1) * sizeof *m->runs);
    m->instance_of = wi_arena_take(arena, (size_t)(sweep->life_count + 1) * sizeof *m->instance_of);
    if (!m->runs || !m->instance_of) return WEFT_ERROR_MEMORY;
    WI_TRY(writer_make(&w));
    for (int i = 0; i < sweep->run_count; i++) {
        if (sweep->runs_needed[i]) WI_TRY(write_run(&w, sweep->runs[i].step));
    }
    WI_TRY(write_end(&w));
    add_costs(m);
    return wi_load_runs(m, arena);
}
