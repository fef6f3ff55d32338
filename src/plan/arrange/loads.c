/* The loads of each run (contract in loads.h). */
#include "plan/arrange/loads.h"
#include "base/integers.h"
#include "plan/arrange/accesses.h"
#include "plan/arrange/placement.h"
#include <string.h>

/* Loads begin at multiples of this many bytes of a block, as places do in the arena: addresses have the alignment that they have in the
 * block, for which kernels were selected. */
enum { ALIGNMENT = 128 };

static wi_load load_of(const wi_partition *p, const wi_access *access) {
    const size_t first = (size_t)access->first / ALIGNMENT * ALIGNMENT,
                 whole = p->storages[access->storage].bytes;
    const size_t past = ((size_t)access->end + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return (wi_load){.storage = access->storage,
        .first = first,
        .bytes = (past < whole ? past : whole) - first,
        .changes = access->writes};
}

static bool meet(const wi_load *a, const wi_load *b) {
    return a->storage == b->storage && a->first <= b->first + b->bytes && b->first <= a->first + a->bytes;
}

static void join(wi_load *into, const wi_load *other) {
    const size_t past = into->first + into->bytes, others = other->first + other->bytes;
    if (other->first < into->first) into->first = other->first;
    into->bytes = (past > others ? past : others) - into->first;
    into->changes = into->changes || other->changes;
}

/* Adds a load to the list. Loads that overlap or touch it become one load with it. */
static int add(wi_load *loads, int count, wi_load load) {
    for (int i = 0; i < count;) {
        if (!meet(&loads[i], &load)) {
            i++;
            continue;
        }
        join(&load, &loads[i]);
        loads[i] = loads[--count];
        i = 0;
    }
    loads[count] = load;
    return count + 1;
}

int wi_step_loads(const wi_loops *loops, int step, wi_load loads[WI_MOST_LOADS]) {
    const wi_partition *const p = loops->partition;
    wi_access of[WI_MOST_ACCESSES];
    wi_step_accesses accesses = {of, 0};
    int count = 0;
    wi_find_accesses(loops, step, &accesses);
    for (int i = 0; i < accesses.count; i++)
        if (p->storages[of[i].storage].on_host) count = add(loads, count, load_of(p, &of[i]));
    return count;
}

wi_load_cost wi_step_load_cost(const wi_loops *loops, int step) {
    wi_load loads[WI_MOST_LOADS];
    wi_load_cost cost = {0};
    const int count = wi_step_loads(loops, step, loads);
    for (int i = 0; i < count; i++) {
        cost.bytes += wi_aligned_bytes(loads[i].bytes);
        cost.copied += loads[i].bytes * (loads[i].changes ? 2 : 1);
    }
    return cost;
}

static bool any_on_host(const wi_partition *p) {
    for (size_t i = 0; i < p->storage_count; i++)
        if (p->storages[i].on_host) return true;
    return false;
}

weft_status wi_load_runs(wi_materialised *m, wi_arena *arena) {
    const wi_loops *const loops = m->schedule->loops;
    wi_load loads[WI_MOST_LOADS];
    const size_t before = loops->partition->storage_count + m->instance_count;
    m->load_count = m->loaded_bytes = 0;
    if (!any_on_host(loops->partition)) return WEFT_OK;
    for (size_t i = 0; i < m->run_count; i++) {
        wi_run *const run = &m->runs[i];
        const int count = wi_step_loads(loops, run->step->index, loads);
        wi_load *const own = wi_arena_take(arena, ((size_t)count + 1) * sizeof *own);
        if (!own) return WEFT_ERROR_MEMORY;
        memcpy(own, loads, (size_t)count * sizeof *own);
        for (int k = 0; k < count; k++) own[k].place = (int)(before + m->load_count++);
        for (int k = 0; k < count; k++) m->loaded_bytes += own[k].bytes * (own[k].changes ? 2 : 1);
        run->loads = own;
        run->load_count = count;
    }
    return WEFT_OK;
}
