/* Chooses the order of steps for a plan that must save memory.
 *
 * In the order of the graph's nodes the updates of all weights come last, and activations and gradients stay live until then. Here a
 * step that frees more memory than it needs runs as early as possible. */
#include "plan/arrange/rematerialise.h"
#include <string.h>

typedef struct access_node {
    const wi_access *access;
    int step, next; /* `next`: the next access to the same storage; -1: none */
} access_node;

typedef struct ordering {
    wi_model *model;
    const wi_step_accesses *accesses;
    access_node *nodes;
    int *first_node; /* by step: the first of its accesses in `nodes` */
    int *edges;      /* for each step in turn, the steps that must run after it */
    size_t edge_count, edge_capacity;
    size_t *first_edge; /* by step: the beginning of its edges */
    int *waits;         /* by step: number of edges from steps that have not run yet */
    int *readers;       /* by storage: readers that have not run yet */
    bool *begun;        /* by storage: it has been written */
    bool *done;         /* by step: it has run */
    int *ready;         /* steps whose predecessors have all run */
    int ready_count, ordered;
    size_t least_freed; /* a step runs early only if it frees more bytes than this */
} ordering;

/* ---- dependencies ---- */

static size_t count_accesses(const ordering *o) {
    size_t count = 0;
    for (int step = 0; step < o->model->step_count; step++) count += (size_t)o->accesses[step].count;
    return count;
}

/* Links the accesses of each storage in the order of the steps. */
static weft_status link_accesses(ordering *o, wi_arena *arena) {
    o->nodes = wi_arena_take(arena, (count_accesses(o) + 1) * sizeof *o->nodes);
    o->first_node = wi_arena_take(arena, (size_t)(o->model->step_count + 1) * sizeof *o->first_node);
    int *next = wi_arena_take(arena, (size_t)(o->model->storage_count + 1) * sizeof *next);
    if (!o->nodes || !o->first_node || !next) return WEFT_ERROR_MEMORY;
    memset(next, -1, (size_t)(o->model->storage_count + 1) * sizeof *next);
    int count = (int)count_accesses(o);
    for (int step = o->model->step_count; step-- > 0;) {
        for (int i = o->accesses[step].count; i-- > 0;) {
            const wi_access *a = &o->accesses[step].of[i];
            o->nodes[--count] = (access_node){a, step, next[a->storage]};
            next[a->storage] = count;
        }
        o->first_node[step] = count;
    }
    return WEFT_OK;
}

/* Adds an edge to each later step that accesses the same bytes, if one of the two writes them. A double edge does no harm: `waits`
 * counts it twice, too. */
static weft_status find_edges_from(ordering *o, int before, const wi_arena *arena) {
    for (int i = 0; i < o->accesses[before].count; i++) {
        const access_node *own = &o->nodes[o->first_node[before] + i];
        for (int k = own->next; k >= 0; k = o->nodes[k].next) {
            const access_node *other = &o->nodes[k];
            if (other->step == before || !(own->access->writes || other->access->writes)) continue;
            if (!wi_accesses_meet(own->access, other->access)) continue;
            WI_TRY(wi_grow(arena->allocator, (void **)&o->edges, &o->edge_capacity, o->edge_count + 1,
                sizeof *o->edges));
            o->edges[o->edge_count++] = other->step;
            o->waits[other->step]++;
        }
    }
    return WEFT_OK;
}

static weft_status find_edges(ordering *o, wi_arena *arena) {
    WI_TRY(link_accesses(o, arena));
    for (int before = 0; before < o->model->step_count; before++) {
        o->first_edge[before] = o->edge_count;
        WI_TRY(find_edges_from(o, before, arena));
    }
    o->first_edge[o->model->step_count] = o->edge_count;
    return WEFT_OK;
}

/* ---- choosing the next step ---- */

/* Is access i the first read, or the first write, of its storage by the step? */
static bool is_first(const wi_step_accesses *accesses, int i, bool writes) {
    for (int k = 0; k < i; k++) {
        if (accesses->of[k].storage == accesses->of[i].storage && accesses->of[k].writes == writes)
            return false;
    }
    return accesses->of[i].writes == writes;
}

static void run(ordering *o, int step) {
    const wi_step_accesses *accesses = &o->accesses[step];
    o->model->steps[o->ordered++].step = step;
    o->done[step] = true;
    for (int i = 0; i < accesses->count; i++) {
        if (is_first(accesses, i, false)) o->readers[accesses->of[i].storage]--;
        if (accesses->of[i].writes) o->begun[accesses->of[i].storage] = true;
    }
    for (size_t e = o->first_edge[step]; e < o->first_edge[step + 1]; e++) {
        if (--o->waits[o->edges[e]] == 0) o->ready[o->ready_count++] = o->edges[e];
    }
}

static bool frees_memory(const ordering *o, int step) {
    const wi_step_accesses *accesses = &o->accesses[step];
    size_t freed = 0, taken = 0;
    for (int i = 0; i < accesses->count; i++) {
        const int storage = accesses->of[i].storage;
        const wi_model_storage *own = &o->model->storages[storage];
        if (!own->is_modelled || own->is_output) continue;
        if (is_first(accesses, i, true) && !o->begun[storage]) taken += own->bytes;
        if (is_first(accesses, i, false) && o->readers[storage] == 1) freed += own->bytes;
    }
    return freed > taken + o->least_freed;
}

/* The ready step with the lowest number that frees memory; -1: there is none. */
static int next_ready(ordering *o) {
    int best = -1;
    for (int i = 0; i < o->ready_count;) {
        if (o->done[o->ready[i]]) {
            o->ready[i] = o->ready[--o->ready_count];
            continue;
        }
        if ((best < 0 || o->ready[i] < best) && frees_memory(o, o->ready[i])) best = o->ready[i];
        i++;
    }
    return best;
}

/* A few bytes are no reason to move a step: if it overwrites a variable, steps that read the variable cannot be replayed afterwards. */
static void choose_least(ordering *o) {
    enum { PART_OF_LARGEST = 64 };
    for (int i = 0; i < o->model->storage_count; i++) {
        const wi_model_storage *storage = &o->model->storages[i];
        if (storage->is_modelled && storage->bytes / PART_OF_LARGEST > o->least_freed)
            o->least_freed = storage->bytes / PART_OF_LARGEST;
    }
}

static void count_readers(ordering *o) {
    for (int step = 0; step < o->model->step_count; step++) {
        for (int i = 0; i < o->accesses[step].count; i++) {
            if (is_first(&o->accesses[step], i, false)) o->readers[o->accesses[step].of[i].storage]++;
        }
    }
}

weft_status wi_order_steps(wi_model *model, const wi_step_accesses *accesses, wi_arena *arena) {
    const size_t steps = (size_t)model->step_count + 1, storages = (size_t)model->storage_count + 1;
    ordering o = {.model = model,
        .accesses = accesses,
        .first_edge = wi_arena_take(arena, steps * sizeof *o.first_edge),
        .waits = wi_arena_take(arena, steps * sizeof *o.waits),
        .readers = wi_arena_take(arena, storages * sizeof *o.readers),
        .begun = wi_arena_take(arena, storages * sizeof *o.begun),
        .done = wi_arena_take(arena, steps * sizeof *o.done),
        .ready = wi_arena_take(arena, steps * sizeof *o.ready)};
    if (!o.first_edge || !o.waits || !o.readers || !o.begun || !o.done || !o.ready) return WEFT_ERROR_MEMORY;
    const weft_status status = find_edges(&o, arena);
    choose_least(&o);
    count_readers(&o);
    for (int step = 0; step < model->step_count && status == WEFT_OK; step++) {
        if (!o.done[step]) run(&o, step);
        for (int next = next_ready(&o); next >= 0; next = next_ready(&o)) run(&o, next);
    }
    wi_release(arena->allocator, o.edges);
    return status;
}
