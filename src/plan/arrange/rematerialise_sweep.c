/* Computes live ranges and cost for given replays. The sweep goes from the last run to the first, because a step must run only if a
 * later run reads its results. */
#include "plan/arrange/rematerialise.h"
#include <string.h>

/* ---- lists of replays ---- */

/* The largest number of replays that a list can have. */
static int replay_capacity(const wi_model *model) {
    return 2 * model->step_count + 64;
}

weft_status wi_replays_make(wi_replays *replays, const wi_model *model, wi_arena *arena) {
    const size_t capacity = (size_t)replay_capacity(model);
    *replays = (wi_replays){.items = wi_arena_take(arena, capacity * sizeof *replays->items)};
    return replays->items ? WEFT_OK : WEFT_ERROR_MEMORY;
}

void wi_replays_copy(wi_replays *to, const wi_replays *from) {
    memcpy(to->items, from->items, (size_t)from->count * sizeof *to->items);
    to->count = from->count;
}

/* Binary search for the first item that is not before (at, step). */
static int place_of(const wi_replays *replays, int at, int step) {
    int low = 0, high = replays->count;
    while (low < high) {
        const int middle = (low + high) / 2;
        const wi_replay *item = &replays->items[middle];
        if (item->at < at || (item->at == at && item->step < step))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool has_step(const wi_replays *replays, int at, int step) {
    const int i = place_of(replays, at, step);
    return i < replays->count && replays->items[i].at == at && replays->items[i].step == step;
}

bool wi_replays_have(const wi_replays *replays, const wi_model *model, int unit, int at) {
    return has_step(replays, at, model->units[unit].steps[0]);
}

bool wi_replays_add(wi_replays *replays, const wi_model *model, int unit, int at) {
    const wi_model_unit *u = &model->units[unit];
    if (wi_replays_have(replays, model, unit, at)) return true;
    if (replays->count + u->count > replay_capacity(model)) return false;
    for (int i = 0; i < u->count; i++) {
        const int place = place_of(replays, at, u->steps[i]);
        memmove(&replays->items[place + 1], &replays->items[place],
            (size_t)(replays->count - place) * sizeof *replays->items);
        replays->items[place] = (wi_replay){at, u->steps[i]};
        replays->count++;
    }
    return true;
}

void wi_replays_remove(wi_replays *replays, const wi_model *model, int unit, int at) {
    const wi_model_unit *u = &model->units[unit];
    for (int i = 0; i < u->count; i++) {
        if (!has_step(replays, at, u->steps[i])) continue;
        const int place = place_of(replays, at, u->steps[i]);
        replays->count--;
        memmove(&replays->items[place], &replays->items[place + 1],
            (size_t)(replays->count - place) * sizeof *replays->items);
    }
}

bool wi_unit_may_run(const wi_model *model, int unit, int at) {
    const wi_model_unit *u = &model->units[unit];
    for (int i = 0; i < u->count; i++) {
        if (u->steps[i] >= at || model->steps[u->steps[i]].latest < at) return false;
    }
    return true;
}

/* ---- the sweep ---- */

static size_t most_lives(const wi_model *model) {
    size_t writes = 0, most = 0;
    for (int i = 0; i < model->step_count; i++) {
        const size_t count = (size_t)model->steps[i].write_count;
        writes += count;
        if (count > most) most = count;
    }
    return writes + most * (size_t)replay_capacity(model) + 1;
}

weft_status wi_sweep_make(wi_sweep *sweep, const wi_model *model, wi_arena *arena) {
    const size_t runs = (size_t)(model->step_count + replay_capacity(model)) + 1;
    const size_t storages = (size_t)model->storage_count + 1;
    *sweep = (wi_sweep){.runs = wi_arena_take(arena, runs * sizeof *sweep->runs),
        .runs_needed = wi_arena_take(arena, runs * sizeof *sweep->runs_needed),
        .bytes = wi_arena_take(arena, (runs + 1) * sizeof *sweep->bytes),
        .lives = wi_arena_take(arena, most_lives(model) * sizeof *sweep->lives),
        .life_of = wi_arena_take(arena, storages * sizeof *sweep->life_of),
        .ends = wi_arena_take(arena, storages * sizeof *sweep->ends)};
    return sweep->runs && sweep->runs_needed && sweep->bytes && sweep->lives && sweep->life_of && sweep->ends
               ? WEFT_OK
               : WEFT_ERROR_MEMORY;
}

static void list_runs(wi_sweep *sweep, const wi_model *model, const wi_replays *replays) {
    int next = 0;
    sweep->run_count = 0;
    for (int step = 0; step < model->step_count; step++) {
        while (next < replays->count && replays->items[next].at == step)
            sweep->runs[sweep->run_count++] = replays->items[next++];
        sweep->runs[sweep->run_count++] = (wi_replay){step, step};
    }
}

static void begin(wi_sweep *sweep, const wi_model *model) {
    memset(sweep->bytes, 0, (size_t)(sweep->run_count + 1) * sizeof *sweep->bytes);
    for (int i = 0; i < model->storage_count; i++) {
        sweep->life_of[i] = -1;
        sweep->ends[i] = model->storages[i].is_output ? sweep->run_count : -1;
    }
    sweep->life_count = 0;
    sweep->seconds = 0;
}

/* A step with is_needed, which assigns or reports faults, executes exactly once, at its original place. */
static bool must_run(const wi_sweep *sweep, const wi_model_step *step, const wi_replay *run) {
    bool needed = step->is_needed && run->at == run->step;
    for (int i = 0; i < step->write_count; i++) needed = needed || sweep->ends[step->writes[i]] >= 0;
    return needed;
}

/* During the sweep, `bytes` has differences: a live range adds its bytes at its first run and subtracts them after its last. */
static void end_life(wi_sweep *sweep, const wi_model *model, int storage, int run) {
    const int last = sweep->ends[storage] < 0 ? run : sweep->ends[storage];
    sweep->lives[sweep->life_count] = (wi_life){storage, run, last, sweep->life_of[storage]};
    sweep->life_of[storage] = sweep->life_count++;
    sweep->ends[storage] = -1;
    sweep->bytes[run] += model->storages[storage].bytes;
    if (last < sweep->run_count) sweep->bytes[last + 1] -= model->storages[storage].bytes;
}

/* Does an earlier pair that shares memory contain one of the two storages of this pair? */
static bool is_shared(const wi_model_step *step, int pair, uint64_t shared) {
    for (int k = 0; k < pair; k++) {
        const bool meets = step->in_place[k].from == step->in_place[pair].from ||
                           step->in_place[k].to == step->in_place[pair].to;
        if (meets && shared >> k & 1) return true;
    }
    return false;
}

/* If an output overwrites an input, the two storages count once while the step runs. */
static void share_memory(wi_sweep *sweep, const wi_model *model, const wi_model_step *step, int run) {
    uint64_t shared = 0;
    for (int i = 0; i < step->in_place_count; i++) {
        const int from = step->in_place[i].from;
        if (sweep->ends[from] >= 0 || is_shared(step, i, shared)) continue;
        shared |= (uint64_t)1 << i;
        sweep->bytes[run] -= model->storages[from].bytes;
        sweep->bytes[run + 1] += model->storages[from].bytes;
    }
}

static void sweep_step(wi_sweep *sweep, const wi_model *model, int run) {
    const int index = sweep->runs[run].step;
    const wi_model_step *step = &model->steps[index];
    sweep->runs_needed[run] = must_run(sweep, step, &sweep->runs[run]);
    if (!sweep->runs_needed[run]) return;
    sweep->seconds += step->seconds;
    share_memory(sweep, model, step, run);
    for (int i = 0; i < step->write_count; i++) {
        const int storage = step->writes[i];
        if (model->storages[storage].first_writer == index)
            end_life(sweep, model, storage, run);
        else if (sweep->ends[storage] < 0)
            sweep->ends[storage] = run;
    }
    for (int i = 0; i < step->read_count; i++) {
        if (sweep->ends[step->reads[i]] < 0) sweep->ends[step->reads[i]] = run;
    }
}

static void sum_up(wi_sweep *sweep, const wi_model *model, size_t target) {
    size_t alive = model->fixed;
    sweep->peak = 0;
    sweep->peak_run = 0;
    sweep->excess = 0;
    for (int run = 0; run <= sweep->run_count; run++) {
        alive += sweep->bytes[run];
        const bool runs = run < sweep->run_count;
        sweep->bytes[run] = alive + (runs ? model->steps[sweep->runs[run].step].scratch : 0);
        if (runs && !sweep->runs_needed[run]) continue;
        if (sweep->bytes[run] > target) sweep->excess += (double)(sweep->bytes[run] - target);
        if (sweep->bytes[run] <= sweep->peak) continue;
        sweep->peak = sweep->bytes[run];
        sweep->peak_run = run;
    }
}

void wi_sweep_run(wi_sweep *sweep, const wi_model *model, const wi_replays *replays, size_t target) {
    list_runs(sweep, model, replays);
    begin(sweep, model);
    for (int run = sweep->run_count; run-- > 0;) sweep_step(sweep, model, run);
    sum_up(sweep, model, target);
}
