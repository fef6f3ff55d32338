/* Searches for replays (see rematerialise.h). Each round considers units whose results are live but unused at the time of the peak, and
 * replays the unit that frees most bytes above the target for each second of computation. */
#include "plan/arrange/rematerialise.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    /* Candidates in a group; the exact gain is computed group by group, until a group has a gain. */
    TRIED_EXACTLY = 10,
    DEEPEST = 64 /* the longest chain of inputs that a replay also replays */
};

/* What a replay does with inputs that are no longer stored at the place of the replay. */
typedef enum wi_input_rule {
    WI_INPUTS_STAY,   /* their live range is extended to the replay */
    WI_INPUTS_MOVE,   /* they are replayed at this place, too, and their next replay is removed */
    WI_INPUTS_REPEAT, /* they are replayed at this place, too, and their later replays stay */
    WI_INPUT_RULES
} wi_input_rule;

typedef struct candidate {
    int unit, at;
    double bytes, ratio;
} candidate;

typedef struct search {
    const wi_model *model;
    size_t target;
    wi_replays *replays, best, trial;
    wi_sweep now, tried;
    candidate *candidates;
    int candidate_count;
    int *next_use;    /* by storage: wi_replay.at of the first run from the peak on that reads it; -1: none */
    int *of_unit;     /* by unit: its candidate; -1: none */
    int *first_run;   /* by step: the first replay before the step, or, if there is none, the step's run */
    bool *is_touched; /* by storage: the run at the peak reads or writes it */
    double best_score;
    bool brought; /* the trial also replays steps that compute inputs */
} search;

static weft_status search_make(search *s, const wi_model *model, wi_arena *arena) {
    const size_t storages = (size_t)model->storage_count + 1, units = (size_t)model->unit_count + 1;
    *s = (search){.model = model,
        .candidates = wi_arena_take(arena, units * sizeof *s->candidates),
        .next_use = wi_arena_take(arena, storages * sizeof *s->next_use),
        .of_unit = wi_arena_take(arena, units * sizeof *s->of_unit),
        .first_run = wi_arena_take(arena, (size_t)(model->step_count + 1) * sizeof *s->first_run),
        .is_touched = wi_arena_take(arena, storages * sizeof *s->is_touched)};
    if (!s->candidates || !s->next_use || !s->of_unit || !s->first_run || !s->is_touched)
        return WEFT_ERROR_MEMORY;
    WI_TRY(wi_replays_make(&s->best, model, arena));
    WI_TRY(wi_replays_make(&s->trial, model, arena));
    WI_TRY(wi_sweep_make(&s->now, model, arena));
    return wi_sweep_make(&s->tried, model, arena);
}

/* ---- candidates ---- */

static void note_uses(search *s) {
    const wi_sweep *sweep = &s->now;
    for (int i = 0; i < s->model->storage_count; i++) {
        s->next_use[i] = -1;
        s->is_touched[i] = false;
    }
    for (int run = sweep->run_count; run-- > sweep->peak_run;) {
        if (!sweep->runs_needed[run]) continue;
        const wi_model_step *step = &s->model->steps[sweep->runs[run].step];
        for (int i = 0; i < step->read_count; i++) s->next_use[step->reads[i]] = sweep->runs[run].at;
        if (run > sweep->peak_run) continue;
        for (int i = 0; i < step->read_count; i++) s->is_touched[step->reads[i]] = true;
        for (int i = 0; i < step->write_count; i++) s->is_touched[step->writes[i]] = true;
    }
}

static void offer(search *s, int storage) {
    const wi_model_storage *own = &s->model->storages[storage];
    int *slot = &s->of_unit[own->unit];
    if (*slot < 0) {
        *slot = s->candidate_count;
        s->candidates[s->candidate_count++] = (candidate){own->unit, s->next_use[storage], 0, 0};
    }
    candidate *c = &s->candidates[*slot];
    c->bytes += (double)own->bytes;
    if (s->next_use[storage] < c->at) c->at = s->next_use[storage];
}

static int better_first(const void *a, const void *b) {
    const candidate *x = a, *y = b;
    if (x->ratio != y->ratio) return x->ratio < y->ratio ? 1 : -1;
    return x->unit - y->unit;
}

/* Candidates are units with results that are live during the run at the peak but not used by this run. */
static void find_candidates(search *s) {
    const wi_sweep *sweep = &s->now;
    note_uses(s);
    s->candidate_count = 0;
    for (int i = 0; i < s->model->unit_count; i++) s->of_unit[i] = -1;
    for (int i = 0; i < sweep->life_count; i++) {
        const wi_life *life = &sweep->lives[i];
        if (life->first >= sweep->peak_run || life->last <= sweep->peak_run) continue;
        if (s->is_touched[life->storage] || s->next_use[life->storage] < 0) continue;
        if (s->model->storages[life->storage].unit >= 0) offer(s, life->storage);
    }
    for (int i = 0; i < s->candidate_count; i++)
        s->candidates[i].ratio =
            s->candidates[i].bytes / (s->model->units[s->candidates[i].unit].seconds + 1e-9);
    qsort(s->candidates, (size_t)s->candidate_count, sizeof *s->candidates, better_first);
}

/* ---- one candidate ---- */

static bool is_there(const search *s, int storage, int run) {
    for (int i = s->now.life_of[storage]; i >= 0; i = s->now.lives[i].next) {
        const wi_life *life = &s->now.lives[i];
        if (life->first < run && life->last >= run) return true;
    }
    return false;
}

/* Removes the unit's first replay after `at`. */
static void drop_next(search *s, int unit, int at) {
    const int step = s->model->units[unit].steps[0];
    for (int i = 0; i < s->trial.count; i++) {
        if (s->trial.items[i].step != step || s->trial.items[i].at <= at) continue;
        wi_replays_remove(&s->trial, s->model, unit, s->trial.items[i].at);
        return;
    }
}

static bool add_unit(search *s, int unit, int at, wi_input_rule rule, int depth);

/* Replays the units of inputs that are no longer stored at `at`. Returns false if the list of replays is full. */
static bool add_inputs(
    search *s, const wi_model_step *step, int unit, int at, wi_input_rule rule, int depth) {
    for (int i = 0; i < step->read_count; i++) {
        const int storage = step->reads[i], other = s->model->storages[storage].unit;
        if (other < 0 || other == unit || is_there(s, storage, s->first_run[at])) continue;
        if (wi_replays_have(&s->trial, s->model, other, at) || !wi_unit_may_run(s->model, other, at))
            continue;
        s->brought = true;
        if (rule == WI_INPUTS_MOVE) drop_next(s, other, at);
        if (!add_unit(s, other, at, rule, depth + 1)) return false;
    }
    return true;
}

static bool add_unit(search *s, int unit, int at, wi_input_rule rule, int depth) {
    const wi_model_unit *u = &s->model->units[unit];
    if (!wi_replays_add(&s->trial, s->model, unit, at)) return false;
    if (rule == WI_INPUTS_STAY || depth == DEEPEST) return true;
    for (int i = 0; i < u->count; i++) {
        if (!add_inputs(s, &s->model->steps[u->steps[i]], unit, at, rule, depth)) return false;
    }
    return true;
}

/* Bytes above the target that the trial saves for each additional second. */
static double score(const search *s) {
    const double gain = s->now.excess - s->tried.excess, seconds = s->tried.seconds - s->now.seconds;
    if (gain <= 0) return 0;
    return seconds > 0 ? gain / (seconds + 1e-9) : gain * 1e9;
}

static void try_candidate(search *s, const candidate *c) {
    for (int rule = 0; rule < WI_INPUT_RULES; rule++) {
        wi_replays_copy(&s->trial, s->replays);
        s->brought = rule == 0;
        if (!add_unit(s, c->unit, c->at, (wi_input_rule)rule, 0) || !s->brought) continue;
        wi_sweep_run(&s->tried, s->model, &s->trial, s->target);
        const double own = score(s);
        if (own <= s->best_score) continue;
        s->best_score = own;
        wi_replays_copy(&s->best, &s->trial);
    }
}

static bool improve(search *s) {
    find_candidates(s);
    for (int place = 0, run = 0; run < s->now.run_count; run++) {
        while (place <= s->now.runs[run].at) s->first_run[place++] = run;
    }
    s->best_score = 0;
    for (int i = 0; i < s->candidate_count; i++) {
        if (i % TRIED_EXACTLY == 0 && s->best_score > 0) break;
        const candidate *c = &s->candidates[i];
        if (wi_replays_have(s->replays, s->model, c->unit, c->at)) continue;
        if (wi_unit_may_run(s->model, c->unit, c->at)) try_candidate(s, c);
    }
    if (s->best_score <= 0) return false;
    wi_replays_copy(s->replays, &s->best);
    return true;
}

/* ---- the search ---- */

static void sweep_now(search *s) {
    wi_sweep_run(&s->now, s->model, s->replays, s->target);
}

/* Removes replays that save no memory, and those that do not execute. */
static void prune(search *s) {
    for (int i = s->replays->count; i-- > 0;) {
        if (i >= s->replays->count) continue;
        const wi_replay *item = &s->replays->items[i];
        wi_replays_copy(&s->trial, s->replays);
        wi_replays_remove(&s->trial, s->model, s->model->steps[item->step].unit, item->at);
        wi_sweep_run(&s->tried, s->model, &s->trial, s->target);
        if (s->tried.excess > s->now.excess || s->tried.seconds > s->now.seconds) continue;
        wi_replays_copy(s->replays, &s->trial);
        sweep_now(s);
    }
}

static void search_target(search *s, size_t target) {
    s->target = target;
    for (sweep_now(s); s->now.excess > 0; sweep_now(s)) {
        if (!improve(s)) return;
    }
}

weft_status wi_rematerialise_search(
    wi_replays *replays, const wi_model *model, size_t target, wi_arena *arena, size_t *reached) {
    search s;
    WI_TRY(search_make(&s, model, arena));
    s.replays = replays;
    search_target(&s, target);
    prune(&s);
    *reached = s.now.peak;
    return WEFT_OK;
}

/* Lowers the target in small steps, so that the highest peaks go first, until no replay lowers the peak further. */
weft_status wi_rematerialise_least(
    wi_replays *replays, const wi_model *model, wi_arena *arena, size_t *reached) {
    search s;
    WI_TRY(search_make(&s, model, arena));
    s.replays = replays;
    s.target = SIZE_MAX;
    sweep_now(&s);
    for (size_t divisor = 32; divisor <= 512; divisor *= 4) {
        while (s.now.peak > 0) {
            search_target(&s, s.now.peak - s.now.peak / divisor - 1);
            if (s.now.excess > 0) break;
        }
    }
    prune(&s);
    *reached = s.now.peak;
    return WEFT_OK;
}
