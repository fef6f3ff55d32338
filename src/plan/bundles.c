/* Launches of several steps that become one (contract in bundles.h).
 *
 * Bundles are found as one walks over the steps: each begins with a launch that no other of its kernel is open for, and
 * ends where it is full, or where a step reads what a launch that was moved to a later step would have made by then. */
#include "plan/bundles.h"
#include "cl/buffer.h"
#include "plan/placement.h"

/* What launches that wait, or that came early, may hold of memory; a fraction of the largest allocation, too. */
enum { FULL = 32 << 20, FULL_PART = 8 };
/* The same where an item is a core: it still finds this in its cache. */
enum { FULL_OF_CACHE = 4 << 20 };

typedef struct gathering {
    wi_schedule *schedule;
    const wi_partition *partition;
    size_t full;
    wi_bundle *open; /* the newest first */
} gathering;

static const wi_kernel_plan *kernel_of(const wi_schedule *schedule, int step) {
    return schedule->code->of[step].kernel;
}

const wi_kernel_launch *wi_bundled_launch(const wi_schedule *schedule, const wi_bundle *bundle, int step) {
    const wi_kernel_plan *const kernel = kernel_of(schedule, step);
    return kernel->launches[bundle->packs ? 0 : kernel->count - 1];
}

/* ---- which launches ---- */

/* The storage that a launch takes its inputs from, or leaves its results in; -1: several, or one that others may lie in. */
static int storage_of(const gathering *g, int step, const wi_kernel_launch *launch) {
    const wi_partition *const p = g->partition;
    const wi_step *const own = p->steps[step];
    int found = -1;
    for (int i = 0; i < launch->argument_count; i++) {
        const wi_kernel_argument *const argument = &launch->arguments[i];
        const bool reads = argument->kind == WI_KERNEL_INPUT;
        if (!reads && argument->kind != WI_KERNEL_RESULT) continue;
        const int storage = wi_whole_storage(p, reads ? own->sources[argument->number] : own->members[0]);
        if (found >= 0 && storage != found) return -1;
        found = storage;
    }
    return found;
}

/* It packs variables alone, whatever else the step does. */
static bool may_come_early(const gathering *g, int step) {
    const wi_kernel_plan *const kernel = kernel_of(g->schedule, step);
    if (kernel->pack_count != 1 || kernel->count < 2 || !kernel->launches[0]->bundles) return false;
    const int storage = storage_of(g, step, kernel->launches[0]);
    return storage >= 0 && g->partition->storages[storage].kind == WI_STORAGE_BLOCK;
}

/* It makes a part of what is kept for the whole plan, such as all gradients. */
static bool may_wait(const gathering *g, int step) {
    const wi_kernel_plan *const kernel = kernel_of(g->schedule, step);
    if (kernel->count < 2 || kernel->pack_count > 0 || !kernel->launches[kernel->count - 1]->bundles)
        return false;
    const int storage = storage_of(g, step, kernel->launches[kernel->count - 1]);
    return storage >= 0 && g->partition->storages[storage].kind == WI_STORAGE_ARENA &&
           g->partition->storages[storage].keep;
}

/* ---- bundles that are open ---- */

static void close(gathering *g, wi_bundle *bundle) {
    wi_bundle **at = &g->open;
    while (*at != bundle) at = &(*at)->next;
    *at = bundle->next;
    bundle->next = g->schedule->bundles;
    g->schedule->bundles = bundle;
}

static wi_bundle *open_bundle(gathering *g, int step, bool packs, int storage, size_t bytes) {
    const int piece = g->schedule->code->of[step].whole.piece;
    for (wi_bundle *b = g->open; b; b = b->next) {
        if (b->piece != piece || b->packs != packs || b->storage != storage) continue;
        if (b->bytes + bytes <= g->full) return b;
        close(g, b);
        break;
    }
    wi_bundle *const made = wi_arena_take(g->partition->request->arena, sizeof *made);
    if (!made) return NULL;
    *made = (wi_bundle){
        .packs = packs, .piece = piece, .storage = storage, .first = step, .last = step, .next = g->open};
    g->open = made;
    return made;
}

static weft_status add(gathering *g, int step, bool packs) {
    wi_step_schedule *const own = &g->schedule->of[step];
    const wi_kernel_plan *const kernel = kernel_of(g->schedule, step);
    const wi_kernel_launch *const launch = kernel->launches[packs ? 0 : kernel->count - 1];
    const size_t bytes = wi_aligned_bytes(packs ? kernel->pack_bytes : own->scratch_bytes);
    if (bytes == 0 || bytes > g->full / 2) return WEFT_OK;
    wi_bundle *const bundle = open_bundle(g, step, packs, storage_of(g, step, launch), bytes);
    wi_bundled *const made = bundle ? wi_arena_take(g->partition->request->arena, sizeof *made) : NULL;
    if (!made) return WEFT_ERROR_MEMORY;
    *made = (wi_bundled){.step = step, .at = bundle->bytes, .next = bundle->steps};
    bundle->steps = made;
    bundle->bytes += bytes;
    bundle->last = step;
    bundle->count++;
    return WEFT_OK;
}

/* What waits is made before this step reads it. */
static void close_read(gathering *g, int step) {
    const wi_partition *const p = g->partition;
    const wi_loop *const loop = &g->schedule->code->loops->of[step];
    for (wi_bundle *b = g->open, *next; b; b = next) {
        bool reads = false;
        next = b->next;
        for (int o = 0; o < loop->operand_count && !b->packs; o++) {
            const wi_operand *const operand = &loop->operands[o];
            reads |= operand->value >= 0 && !operand->is_output &&
                     wi_whole_storage(p, operand->value) == b->storage;
        }
        for (int i = 0; i < 2 && p->steps[step]->kind == WI_STEP_PRODUCT && !b->packs; i++)
            reads |= wi_whole_storage(p, p->steps[step]->sources[i]) == b->storage;
        if (reads) close(g, b);
    }
}

static weft_status gather(gathering *g) {
    for (size_t i = 0; i < g->partition->step_count; i++) {
        const int step = (int)i;
        close_read(g, step);
        if (!kernel_of(g->schedule, step)) continue;
        if (may_come_early(g, step)) WI_TRY(add(g, step, true));
        if (may_wait(g, step)) WI_TRY(add(g, step, false));
    }
    while (g->open) close(g, g->open);
    return WEFT_OK;
}

/* ---- their steps ---- */

static void enter(wi_schedule *schedule, const wi_bundle *bundle, const wi_bundled *bundled) {
    wi_step_schedule *const own = &schedule->of[bundled->step];
    own->launch_count -= bundled->step != wi_bundle_place(bundle);
    if (bundle->packs) {
        own->packed_by = bundle;
        own->packed_at = bundled->at;
        own->fixed_bytes = kernel_of(schedule, bundled->step)->pack_bytes;
    } else {
        own->ended_by = bundle;
        own->ended_at = bundled->at;
    }
}

static void leave(wi_schedule *schedule, const wi_bundle *bundle, const wi_bundled *bundled) {
    wi_step_schedule *const own = &schedule->of[bundled->step];
    own->launch_count += bundled->step != wi_bundle_place(bundle);
    own->packed_by = own->ended_by = NULL;
    own->packed_at = own->ended_at = 0;
}

int wi_bundle_place(const wi_bundle *bundle) {
    return bundle->packs ? bundle->first : bundle->last;
}

static void settle(wi_schedule *schedule) {
    wi_bundle *found = schedule->bundles;
    schedule->bundles = NULL;
    for (wi_bundle *b = found, *next; b; b = next) {
        next = b->next;
        if (b->count < 2) continue;
        for (const wi_bundled *s = b->steps; s; s = s->next) enter(schedule, b, s);
        b->row = schedule->bundle_numbers;
        schedule->bundle_numbers +=
            (size_t)b->count * wi_bundle_row(wi_bundled_launch(schedule, b, b->first));
        b->number = schedule->bundle_count++;
        b->next = schedule->bundles;
        schedule->bundles = b;
    }
}

size_t wi_bundle_row(const wi_kernel_launch *launch) {
    return WI_BUNDLE_FACTS + (size_t)launch->argument_count;
}

weft_status wi_find_bundles(wi_schedule *schedule) {
    const wi_partition *const p = schedule->code->loops->partition;
    if (p->request->inference || p->request->devices.count > 1) return WEFT_OK;
    const wi_device *const device = p->request->devices.of[0];
    gathering g = {.schedule = schedule, .partition = p};
    const size_t largest = wi_buffer_largest(device) / FULL_PART;
    g.full = device->profile.item_walks ? FULL_OF_CACHE : FULL;
    if (largest < g.full) g.full = largest;
    WI_TRY(gather(&g));
    settle(schedule);
    return WEFT_OK;
}

void wi_schedule_unbundle(wi_schedule *schedule) {
    for (const wi_bundle *b = schedule->bundles; b; b = b->next)
        for (const wi_bundled *s = b->steps; s; s = s->next) leave(schedule, b, s);
    schedule->bundles = NULL;
    schedule->bundle_count = 0;
    schedule->bundle_numbers = 0;
}
