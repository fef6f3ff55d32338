/* Creates the model of a plan (see rematerialise.h): the storages of the arena that each step reads and writes, the steps that must not
 * run again, and the cost of each step. Storages have the partition's numbers; a storage that contains others stands for all of them. */
#include "cl/opened_device.h"
#include "plan/arrange/loads.h"
#include "plan/arrange/placement.h"
#include "plan/arrange/rematerialise.h"

enum { MOST_PAIRS = 64 };

typedef struct builder {
    const wi_schedule *schedule;
    const wi_partition *partition;
    const wi_loops *loops;
    wi_arena *arena;
    wi_model *model;
    wi_step_accesses *accesses; /* by step of the plan */
    int *parent;                /* by step: union-find of units */
} builder;

/* ---- reads and writes of a step ---- */

static weft_status find_accesses(builder *b, int index) {
    wi_step_accesses *const made = &b->accesses[index];
    made->of = wi_arena_take(b->arena, WI_MOST_ACCESSES * sizeof *made->of);
    if (!made->of) return WEFT_ERROR_MEMORY;
    wi_find_accesses(b->loops, index, made);
    return WEFT_OK;
}

/* Is the storage in the arena, and written in each run before it is read? */
static bool is_modelled(const wi_partition *p, int storage) {
    return p->storages[storage].kind == WI_STORAGE_ARENA && !p->storages[storage].keep;
}

static void note_once(int *list, int *count, int storage) {
    for (int i = 0; i < *count; i++) {
        if (list[i] == storage) return;
    }
    list[(*count)++] = storage;
}

static weft_status list_accesses(builder *b, int index) {
    wi_model_step *made = &b->model->steps[index];
    const wi_step_accesses *accesses = &b->accesses[made->step];
    made->reads = wi_arena_take(b->arena, WI_MOST_ACCESSES * sizeof *made->reads);
    made->writes = wi_arena_take(b->arena, WI_MOST_ACCESSES * sizeof *made->writes);
    if (!made->reads || !made->writes) return WEFT_ERROR_MEMORY;
    for (int i = 0; i < accesses->count; i++) {
        const wi_access *a = &accesses->of[i];
        if (!is_modelled(b->partition, a->storage)) {
            made->is_needed = made->is_needed || a->writes;
        } else if (a->writes) {
            note_once(made->writes, &made->write_count, a->storage);
            int *first = &b->model->storages[a->storage].first_writer;
            if (*first < 0) *first = index;
        } else {
            note_once(made->reads, &made->read_count, a->storage);
        }
    }
    return WEFT_OK;
}

static bool reads_variables(const builder *b, const wi_step_accesses *reader) {
    for (int i = 0; i < reader->count; i++) {
        if (!reader->of[i].writes && !is_modelled(b->partition, reader->of[i].storage)) return true;
    }
    return false;
}

/* Does the writer change a variable or other storage outside the model that the reader reads? */
static bool changes_input(const builder *b, const wi_step_accesses *writer, const wi_step_accesses *reader) {
    for (int i = 0; i < writer->count; i++) {
        const wi_access *written = &writer->of[i];
        if (!written->writes || is_modelled(b->partition, written->storage)) continue;
        for (int k = 0; k < reader->count; k++) {
            if (!reader->of[k].writes && wi_accesses_meet(written, &reader->of[k])) return true;
        }
    }
    return false;
}

/* Once a variable that a step reads has been overwritten, the step cannot be replayed. */
static void limit_step(builder *b, int index) {
    wi_model *model = b->model;
    wi_model_step *made = &model->steps[index];
    made->latest = model->step_count;
    if (!reads_variables(b, &b->accesses[made->step])) return;
    for (int writer = 0; writer < made->latest; writer++) {
        const int step = model->steps[writer].step;
        if (model->steps[writer].is_needed && changes_input(b, &b->accesses[step], &b->accesses[made->step]))
            made->latest = writer;
    }
}

/* ---- costs ---- */

static void set_cost(builder *b, int index) {
    wi_model_step *made = &b->model->steps[index];
    const wi_step_schedule *own = &b->schedule->of[made->step];
    const wi_load_cost loads = wi_step_load_cost(b->loops, made->step);
    const wi_device_profile *const profile =
        &wi_step_device(b->partition, b->partition->steps[made->step])->profile;
    made->scratch = wi_aligned_bytes(own->scratch_bytes) + loads.bytes;
    made->seconds = own->seconds + (double)loads.copied / profile->transfer_bandwidth;
}

/* ---- units ---- */

static int unit_root(const builder *b, int step) {
    while (b->parent[step] != step) step = b->parent[step];
    return step;
}

/* All steps that write to one storage form a unit. */
static void join_writers(builder *b) {
    wi_model *model = b->model;
    for (int i = 0; i < model->step_count; i++) {
        for (int w = 0; w < model->steps[i].write_count; w++) {
            const int first = model->storages[model->steps[i].writes[w]].first_writer;
            b->parent[unit_root(b, i)] = unit_root(b, first);
        }
    }
}

static bool may_repeat(const wi_model_step *step) {
    return !step->is_needed && step->write_count > 0;
}

static weft_status fill_units(builder *b) {
    wi_model *model = b->model;
    for (int i = 0; i < model->step_count; i++) {
        const int unit = model->steps[unit_root(b, i)].unit;
        model->steps[i].unit = unit;
        if (unit >= 0) model->units[unit].count++;
    }
    for (int i = 0; i < model->unit_count; i++) {
        model->units[i].steps = wi_arena_take(b->arena, (size_t)model->units[i].count * sizeof(int));
        if (!model->units[i].steps) return WEFT_ERROR_MEMORY;
        model->units[i].count = 0;
    }
    for (int i = 0; i < model->step_count; i++) {
        if (model->steps[i].unit < 0) continue;
        wi_model_unit *unit = &model->units[model->steps[i].unit];
        unit->steps[unit->count++] = i;
        unit->seconds += model->steps[i].seconds;
    }
    for (int i = 0; i < model->storage_count; i++) {
        const int writer = model->storages[i].first_writer;
        model->storages[i].unit = writer < 0 ? -1 : model->steps[writer].unit;
    }
    return WEFT_OK;
}

static weft_status make_units(builder *b) {
    wi_model *model = b->model;
    const size_t count = (size_t)model->step_count + 1;
    b->parent = wi_arena_take(b->arena, count * sizeof *b->parent);
    bool *refused = wi_arena_take(b->arena, count * sizeof *refused);
    model->units = wi_arena_take(b->arena, count * sizeof *model->units);
    if (!b->parent || !refused || !model->units) return WEFT_ERROR_MEMORY;
    for (int i = 0; i < model->step_count; i++) b->parent[i] = i;
    join_writers(b);
    for (int i = 0; i < model->step_count; i++)
        refused[unit_root(b, i)] = refused[unit_root(b, i)] || !may_repeat(&model->steps[i]);
    for (int i = 0; i < model->step_count; i++) {
        const bool stands = b->parent[i] == i && !refused[i];
        model->steps[i].unit = stands ? model->unit_count++ : -1;
    }
    return fill_units(b);
}

/* ---- outputs that may overwrite inputs ---- */

static weft_status list_pairs(builder *b, int index) {
    wi_model_step *made = &b->model->steps[index];
    const wi_loop *loop = &b->loops->of[made->step];
    made->in_place = wi_arena_take(b->arena, MOST_PAIRS * sizeof *made->in_place);
    if (!made->in_place) return WEFT_ERROR_MEMORY;
    for (int o = 0; o < loop->operand_count; o++) {
        for (int i = 0; i < loop->operand_count && made->in_place_count < MOST_PAIRS; i++) {
            if (!wi_may_overwrite(b->loops, loop, &loop->operands[o], &loop->operands[i])) continue;
            made->in_place[made->in_place_count++] =
                (wi_in_place){wi_base_storage(b->partition, loop->operands[o].value),
                    wi_base_storage(b->partition, loop->operands[i].value)};
        }
    }
    return WEFT_OK;
}

/* ---- the model ---- */

static void copy_storages(builder *b) {
    const wi_partition *p = b->partition;
    for (size_t i = 0; i < p->storage_count; i++) {
        b->model->storages[i] = (wi_model_storage){.bytes = wi_aligned_bytes(p->storages[i].bytes),
            .unit = -1,
            .first_writer = -1,
            .is_modelled = is_modelled(p, (int)i)};
        if (p->storages[i].kind == WI_STORAGE_ARENA && p->storages[i].keep)
            b->model->fixed += wi_aligned_bytes(p->storages[i].bytes);
    }
    for (size_t i = 0; i < p->order->output_count; i++) {
        if (p->output_values[i] < 0) continue;
        const int storage = wi_access_of(p, p->output_values[i], false).storage;
        if (is_modelled(p, storage)) b->model->storages[storage].is_output = true;
    }
}

/* Sets is_needed for each step whose results no step reads, so that the step runs nevertheless. */
static weft_status mark_needed(builder *b) {
    wi_sweep sweep;
    wi_replays none = {0};
    WI_TRY(wi_sweep_make(&sweep, b->model, b->arena));
    wi_sweep_run(&sweep, b->model, &none, SIZE_MAX);
    for (int i = 0; i < b->model->step_count; i++)
        b->model->steps[i].is_needed = b->model->steps[i].is_needed || !sweep.runs_needed[i];
    return WEFT_OK;
}

weft_status wi_model_of_plan(wi_model *model, const wi_schedule *schedule, wi_arena *arena) {
    const wi_loops *loops = schedule->loops;
    const wi_partition *p = loops->partition;
    builder b = {.schedule = schedule, .partition = p, .loops = loops, .arena = arena, .model = model};
    *model = (wi_model){.step_count = (int)p->step_count, .storage_count = (int)p->storage_count};
    model->steps = wi_arena_take(arena, (p->step_count + 1) * sizeof *model->steps);
    model->storages = wi_arena_take(arena, (p->storage_count + 1) * sizeof *model->storages);
    b.accesses = wi_arena_take(arena, (p->step_count + 1) * sizeof *b.accesses);
    if (!model->steps || !model->storages || !b.accesses) return WEFT_ERROR_MEMORY;
    copy_storages(&b);
    for (int i = 0; i < model->step_count; i++) WI_TRY(find_accesses(&b, i));
    WI_TRY(wi_order_steps(model, b.accesses, arena));
    for (int i = 0; i < model->step_count; i++) {
        WI_TRY(list_accesses(&b, i));
        WI_TRY(list_pairs(&b, i));
        set_cost(&b, i);
    }
    for (int i = 0; i < model->step_count; i++) limit_step(&b, i);
    WI_TRY(mark_needed(&b));
    return make_units(&b);
}
