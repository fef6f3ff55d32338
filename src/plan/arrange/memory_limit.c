/* Meets a memory limit: steps are moved and run again until the placement fits (contract in materialise.h). The search adds up the bytes
 * that are live at each time, but the placement may need more because of gaps between places. The search's target is therefore lowered
 * by the missing bytes until the placement fits. */
#include "plan/arrange/placement.h"
#include "plan/arrange/rematerialise.h"

enum { MOST_ROUNDS = 10 };

typedef struct fitting {
    const wi_schedule *schedule;
    wi_arena *arena; /* released when the search has ended */
    wi_model model;
    wi_sweep sweep;
    wi_replays replays, least_replays;
    wi_materialised runs;
    wi_placement placement;
    size_t limit, least; /* bytes of intermediates and inputs */
} fitting;

static size_t bytes_of(const wi_placement *placement) {
    return placement->arena_bytes + placement->io_bytes;
}

static weft_status place(fitting *f, const wi_replays *replays, wi_arena *arena) {
    wi_sweep_run(&f->sweep, &f->model, replays, SIZE_MAX);
    WI_TRY(wi_run_swept(f->schedule, &f->model, &f->sweep, arena, &f->runs));
    return wi_plan_placement(&f->runs, arena, &f->placement);
}

/* *fits: the placement of `replays` is within the limit. */
static weft_status search_limit(fitting *f, bool *fits) {
    const size_t io = f->placement.io_bytes;
    size_t target = f->limit > io ? f->limit - io : 0;
    *fits = false;
    for (int round = 0; round < MOST_ROUNDS && target > 0; round++) {
        size_t reached;
        WI_TRY(wi_rematerialise_search(&f->replays, &f->model, target, f->arena, &reached));
        if (reached > target) return WEFT_OK;
        WI_TRY(place(f, &f->replays, f->arena));
        *fits = bytes_of(&f->placement) <= f->limit;
        if (*fits) return WEFT_OK;
        const size_t over = bytes_of(&f->placement) - f->limit;
        target = over < target ? target - over : 0;
    }
    return WEFT_OK;
}

/* Searches for the least memory regardless of the limit; the error message says this number. */
static weft_status search_least(fitting *f) {
    size_t reached;
    f->least = SIZE_MAX;
    for (int way = 0; way < 2; way++) {
        f->replays.count = 0;
        if (way == 1) WI_TRY(wi_rematerialise_search(&f->replays, &f->model, 0, f->arena, &reached));
        WI_TRY(wi_rematerialise_least(&f->replays, &f->model, f->arena, &reached));
        WI_TRY(place(f, &f->replays, f->arena));
        if (bytes_of(&f->placement) >= f->least) continue;
        f->least = bytes_of(&f->placement);
        wi_replays_copy(&f->least_replays, &f->replays);
    }
    return WEFT_OK;
}

static weft_status fit(fitting *f, const wi_replays **found) {
    bool fits;
    *found = NULL;
    WI_TRY(wi_model_of_plan(&f->model, f->schedule, f->arena));
    WI_TRY(wi_sweep_make(&f->sweep, &f->model, f->arena));
    WI_TRY(wi_replays_make(&f->replays, &f->model, f->arena));
    WI_TRY(wi_replays_make(&f->least_replays, &f->model, f->arena));
    WI_TRY(search_limit(f, &fits));
    *found = &f->replays;
    if (fits) return WEFT_OK;
    WI_TRY(search_least(f));
    *found = f->least <= f->limit ? &f->least_replays : NULL;
    return WEFT_OK;
}

/* Creates the found runs and their placement again in the plan's host arena, because the arena of the search is about to be released. */
static weft_status keep(
    fitting *f, const wi_replays *replays, size_t whole_bytes, wi_materialised *m, wi_placement *placement) {
    const wi_replays none = {0};
    wi_sweep_run(&f->sweep, &f->model, &none, SIZE_MAX);
    const double whole_seconds = f->sweep.seconds;
    WI_TRY(place(f, replays, f->schedule->loops->partition->request->arena));
    *m = f->runs;
    m->freed = whole_bytes - bytes_of(&f->placement);
    m->seconds = f->sweep.seconds - whole_seconds;
    m->whole_seconds = whole_seconds;
    return wi_plan_placement(m, f->schedule->loops->partition->request->arena, placement);
}

weft_status wi_plan_materialise(
    wi_schedule *schedule, size_t limit, wi_materialised *m, wi_placement *placement, size_t *least) {
    const wi_request *request = schedule->loops->partition->request;
    *least = 0;
    do {
        WI_TRY(wi_run_all(schedule, request->arena, m));
        WI_TRY(wi_plan_placement(m, request->arena, placement));
        if (limit == 0 || bytes_of(placement) <= limit) return WEFT_OK;
    } while (wi_schedule_unfix(schedule));
    wi_arena arena;
    wi_arena_init(&arena, request->allocator);
    fitting f = {.schedule = schedule, .arena = &arena, .placement = *placement, .limit = limit};
    const wi_replays *found;
    weft_status status = fit(&f, &found);
    if (status == WEFT_OK && found) status = keep(&f, found, bytes_of(placement), m, placement);
    if (status == WEFT_OK && !found) *least = f.least;
    wi_arena_clear(&arena);
    return status;
}
