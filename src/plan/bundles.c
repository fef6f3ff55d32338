/* Launches of several steps that become one (contract in bundles.h).
 *
 * Bundles are found as one walks over the steps: each begins with a launch that no other of its kernel is open for, and
 * ends where it is full, or where a step reads what a launch that was moved to a later step would have made by then. */
#include "plan/bundles.h"
#include "cl/buffer.h"
#include <string.h>

/* What launches that wait, or that came early, may hold of memory: so much, or a fraction of what the plan stores if that is more;
 * and no more than a fraction of the largest allocation. What is packed is there during most of a pass, what waits only at the end. */
enum { FULL = 32 << 20, PACKING_PART = 48, WAITING_PART = 8, LARGEST_PART = 8 };
/* The same where an item is a core: it still finds this in its cache. */
enum { FULL_OF_CACHE = 4 << 20 };

typedef struct gathering {
    wi_schedule *schedule;
    const wi_partition *partition;
    size_t full, waiting_full;
    wi_bundle *open; /* the newest first */
} gathering;

static const wi_kernel_plan *kernel_of(const wi_schedule *schedule, int step) {
    return schedule->code->of[step].kernel;
}

const wi_kernel_launch *wi_bundled_launch(
    const wi_schedule *schedule, const wi_bundle *bundle, int step, int number) {
    const wi_kernel_plan *const kernel = kernel_of(schedule, step);
    return kernel->launches[bundle->packs ? number : kernel->count - bundle->launches + number];
}

/* ---- which launches ---- */

/* The storage that a launch takes its inputs from, or leaves its results in; -1: none, or several. */
static int storage_of(
    const gathering *g, int step, const wi_kernel_launch *launch, wi_kernel_argument_kind kind) {
    const wi_partition *const p = g->partition;
    const wi_step *const own = p->steps[step];
    int found = -1;
    for (int i = 0; i < launch->argument_count; i++) {
        const wi_kernel_argument *const argument = &launch->arguments[i];
        if (argument->kind != kind) continue;
        const bool reads = kind == WI_KERNEL_INPUT;
        const int storage = wi_whole_storage(p, reads ? own->sources[argument->number] : own->members[0]);
        if (found >= 0 && storage != found) return -1;
        found = storage;
    }
    return found;
}

static bool has(const wi_kernel_launch *launch, wi_kernel_argument_kind kind) {
    for (int i = 0; i < launch->argument_count; i++)
        if (launch->arguments[i].kind == kind) return true;
    return false;
}

/* It packs variables alone, whatever else the step does. */
static bool may_come_early(const gathering *g, int step) {
    const wi_kernel_plan *const kernel = kernel_of(g->schedule, step);
    if (kernel->pack_count != 1 || kernel->count < 2 || !kernel->launches[0]->bundles) return false;
    const int storage = storage_of(g, step, kernel->launches[0], WI_KERNEL_INPUT);
    return storage >= 0 && g->partition->storages[storage].kind == WI_STORAGE_BLOCK &&
           !has(kernel->launches[0], WI_KERNEL_RESULT);
}

/* What it reads is there unchanged as long as placement says so: intermediates that no other step writes. */
static bool reads_intermediates(const gathering *g, int step, const wi_kernel_launch *launch) {
    const wi_partition *const p = g->partition;
    for (int i = 0; i < launch->argument_count; i++) {
        if (launch->arguments[i].kind != WI_KERNEL_INPUT) continue;
        const wi_storage *const storage =
            &p->storages[wi_whole_storage(p, p->steps[step]->sources[launch->arguments[i].number])];
        if (storage->kind != WI_STORAGE_ARENA || storage->keep) return false;
    }
    return true;
}

/* How many of its launches, the last ones, may wait: they make a part of what is kept for the whole plan, such as all
 * gradients. */
static int count_waiting(const gathering *g, int step) {
    const wi_kernel_plan *const kernel = kernel_of(g->schedule, step);
    if (!kernel || kernel->pack_count > 0) return 0;
    const int storage = storage_of(g, step, kernel->launches[kernel->count - 1], WI_KERNEL_RESULT);
    if (storage < 0 || g->partition->storages[storage].kind != WI_STORAGE_ARENA ||
        !g->partition->storages[storage].keep)
        return 0;
    int count = 0;
    while (count < kernel->count) {
        const wi_kernel_launch *const launch = kernel->launches[kernel->count - 1 - count];
        if (!launch->bundles || !reads_intermediates(g, step, launch)) break;
        count++;
    }
    return count;
}

/* ---- bundles that are open ---- */

static void close(gathering *g, wi_bundle *bundle) {
    wi_bundle **at = &g->open;
    while (*at != bundle) at = &(*at)->next;
    *at = bundle->next;
    bundle->next = g->schedule->bundles;
    g->schedule->bundles = bundle;
}

static bool equal_macros(const wi_kernel_plan *a, const wi_kernel_plan *b) {
    if (a->file != b->file || a->headers != b->headers || a->parameters != b->parameters ||
        a->macro_count != b->macro_count)
        return false;
    for (int i = 0; a->parameters && a->parameters[i]; i++)
        if (a->values[i] != b->values[i]) return false;
    for (int i = 0; i < a->macro_count; i++)
        if (strcmp(a->macros[i].name, b->macros[i].name) != 0 ||
            strcmp(a->macros[i].value, b->macros[i].value) != 0)
            return false;
    return true;
}

/* Whatever their epilogues are, which what packs does not know of. */
static bool have_one_kernel(const gathering *g, const wi_bundle *a, const wi_bundle *b) {
    return a->piece == b->piece ||
           (a->packs && equal_macros(kernel_of(g->schedule, a->first), kernel_of(g->schedule, b->first)));
}

/* The open one that the step's launches join, `wanted` otherwise: as it is described, without steps. */
static wi_bundle *open_bundle(gathering *g, const wi_bundle *wanted, size_t bytes) {
    const size_t full = wanted->packs ? g->full : g->waiting_full;
    for (wi_bundle *b = g->open; b; b = b->next) {
        if (b->packs != wanted->packs || b->storage != wanted->storage || b->launches != wanted->launches ||
            !have_one_kernel(g, b, wanted))
            continue;
        if (b->bytes + bytes <= full) return b;
        close(g, b);
        break;
    }
    wi_bundle *const made = wi_arena_take(g->partition->request->arena, sizeof *made);
    if (!made) return NULL;
    *made = *wanted;
    made->read_bytes = 0;
    made->next = g->open;
    g->open = made;
    return made;
}

/* Bytes of what the waiting launches of a step read. */
static size_t bytes_read(const gathering *g, const wi_bundle *bundle, int step) {
    const wi_partition *const p = g->partition;
    size_t bytes = 0;
    for (int i = 0; i < bundle->launches; i++) {
        const wi_kernel_launch *const launch = wi_bundled_launch(g->schedule, bundle, step, i);
        for (int a = 0; a < launch->argument_count; a++)
            if (launch->arguments[a].kind == WI_KERNEL_INPUT)
                bytes += wi_value_bytes(&p->values[p->steps[step]->sources[launch->arguments[a].number]]);
    }
    return bytes;
}

/* waiting: so many of the step's last launches; 0: its first one, which packs. */
static weft_status add(gathering *g, int step, int waiting) {
    wi_step_schedule *const own = &g->schedule->of[step];
    const wi_kernel_plan *const kernel = kernel_of(g->schedule, step);
    wi_bundle wanted = {.packs = waiting == 0,
        .launches = waiting > 0 ? waiting : 1,
        .piece = g->schedule->code->of[step].whole.piece,
        .first = step,
        .last = step};
    const wi_kernel_launch *const launch = kernel->launches[waiting > 0 ? kernel->count - 1 : 0];
    wanted.storage = storage_of(g, step, launch, waiting > 0 ? WI_KERNEL_RESULT : WI_KERNEL_INPUT);
    wanted.read_bytes = waiting > 0 ? bytes_read(g, &wanted, step) : 0;
    wanted.reads = wanted.read_bytes > 0;
    const size_t bytes = wi_aligned_bytes(waiting > 0 ? own->scratch_bytes : kernel->pack_bytes);
    if ((bytes == 0 && !wanted.reads) || bytes > (waiting > 0 ? g->waiting_full : g->full) / 2)
        return WEFT_OK;
    wi_bundle *const bundle = open_bundle(g, &wanted, bytes);
    wi_bundled *const made = bundle ? wi_arena_take(g->partition->request->arena, sizeof *made) : NULL;
    if (!made) return WEFT_ERROR_MEMORY;
    *made = (wi_bundled){.step = step, .at = bundle->bytes, .next = bundle->steps};
    bundle->steps = made;
    bundle->bytes += bytes;
    bundle->read_bytes += wanted.read_bytes;
    if (step > bundle->last) bundle->last = step;
    if (step < bundle->first) bundle->first = step;
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

/* A reader of one step waits for nothing: the launches of it that read no intermediates may wait for others. */
static weft_status close_reader(gathering *g, wi_bundle *bundle) {
    int rest = bundle->launches;
    close(g, bundle);
    if (bundle->count > 1) return WEFT_OK;
    for (int i = 0; i < bundle->launches; i++)
        if (has(wi_bundled_launch(g->schedule, bundle, bundle->first, i), WI_KERNEL_INPUT))
            rest = bundle->launches - 1 - i;
    return rest > 0 ? add(g, bundle->first, rest) : WEFT_OK;
}

/* Where another step comes between those that wait, what they read would be gone by then: it is a part of what they hold. */
static weft_status close_readers(gathering *g, bool all) {
    for (wi_bundle *b = g->open, *next; b; b = next) {
        next = b->next;
        if (b->reads && (all || b->bytes + b->read_bytes > g->waiting_full)) WI_TRY(close_reader(g, b));
    }
    return WEFT_OK;
}

static weft_status gather(gathering *g) {
    for (size_t i = 0; i < g->partition->step_count; i++) {
        const int step = (int)i, waiting = count_waiting(g, step);
        close_read(g, step);
        if (waiting == 0) WI_TRY(close_readers(g, false));
        if (kernel_of(g->schedule, step) && may_come_early(g, step)) WI_TRY(add(g, step, 0));
        if (waiting > 0) WI_TRY(add(g, step, waiting));
    }
    WI_TRY(close_readers(g, true));
    while (g->open) close(g, g->open);
    return WEFT_OK;
}

/* ---- their steps ---- */

static void enter(wi_schedule *schedule, const wi_bundle *bundle, const wi_bundled *bundled) {
    wi_step_schedule *const own = &schedule->of[bundled->step];
    if (bundled->step != wi_bundle_place(bundle)) own->launch_count -= bundle->launches;
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
    if (bundled->step != wi_bundle_place(bundle)) own->launch_count += bundle->launches;
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
        schedule->bundle_numbers = wi_bundle_rows(schedule, b, b->launches);
        b->number = schedule->bundle_count++;
        b->next = schedule->bundles;
        schedule->bundles = b;
    }
}

size_t wi_bundle_row(const wi_kernel_launch *launch) {
    return WI_BUNDLE_FACTS + (size_t)launch->argument_count;
}

size_t wi_bundle_rows(const wi_schedule *schedule, const wi_bundle *bundle, int number) {
    size_t row = bundle->row;
    for (int i = 0; i < number; i++)
        row += (size_t)bundle->count * wi_bundle_row(wi_bundled_launch(schedule, bundle, bundle->first, i));
    return row;
}

static size_t stored_bytes(const wi_partition *p) {
    size_t bytes = 0;
    for (size_t i = 0; i < p->storage_count; i++)
        bytes +=
            p->storages[i].kind == WI_STORAGE_ARENA && p->storages[i].alias < 0 ? p->storages[i].bytes : 0;
    return bytes;
}

/* What bundles of a kind may hold: a fraction of what the plan stores. */
static size_t limit_of(const wi_partition *p, const wi_device *device, size_t fraction) {
    const size_t largest = wi_buffer_largest(device) / LARGEST_PART, part = stored_bytes(p) / fraction;
    const size_t full = device->profile.item_walks ? FULL_OF_CACHE : part > FULL ? part : FULL;
    return largest < full ? largest : full;
}

weft_status wi_find_bundles(wi_schedule *schedule) {
    const wi_partition *const p = schedule->code->loops->partition;
    if (p->request->inference || p->request->devices.count > 1) return WEFT_OK;
    const wi_device *const device = p->request->devices.of[0];
    gathering g = {.schedule = schedule, .partition = p};
    g.full = limit_of(p, device, PACKING_PART);
    g.waiting_full = limit_of(p, device, WAITING_PART);
    WI_TRY(gather(&g));
    settle(schedule);
    return WEFT_OK;
}

/* ---- after placement ---- */

/* Buffers of the arena that steps use: so many of them have arguments beside that of the table, and one is for scratch memory. */
typedef struct buffers {
    size_t of[WI_BUNDLE_BUFFERS - 1];
    int count;
} buffers;

/* Those of a step, too; false: they are too many. */
static bool add_buffers(buffers *used, const wi_placement *m, int step) {
    const wi_loop *const loop = &m->runs->schedule->code->loops->of[step];
    for (int o = 0; o < loop->operand_count; o++) {
        if (loop->operands[o].value < 0) continue;
        const int place = wi_place_of_value(m->runs, &m->runs->runs[step], loop->operands[o].value, NULL);
        const size_t chunk = m->places[wi_place_root(m, place, NULL)].chunk;
        int i = 0;
        while (i < used->count && used->of[i] != chunk) i++;
        if (i < used->count) continue;
        if (used->count == WI_BUNDLE_BUFFERS - 1) return false;
        used->of[used->count++] = chunk;
    }
    return true;
}

static bool has_too_many_buffers(const wi_placement *m, const wi_bundle *bundle) {
    buffers used = {0};
    for (const wi_bundled *s = bundle->steps; s; s = s->next)
        if (!add_buffers(&used, m, s->step)) return true;
    return false;
}

/* As the first step of a bundle's part. */
static wi_bundle *begin_part(const wi_bundle *bundle, wi_bundled *first, wi_arena *arena) {
    wi_bundle *const part = wi_arena_take(arena, sizeof *part);
    if (!part) return NULL;
    *part = *bundle;
    part->steps = first;
    part->last = first->step;
    part->bytes = 0;
    part->count = 0;
    return part;
}

/* Along its steps, into as few as do not use too many buffers; in front of others. A step that uses too many alone is a part alone,
 * which settle drops. */
static weft_status cut(
    const wi_schedule *schedule, const wi_placement *m, wi_bundle *bundle, wi_bundle **parts) {
    wi_bundle *part = NULL;
    wi_bundled *before = NULL;
    buffers used = {0};
    bool fits = false;
    for (wi_bundled *s = bundle->steps; s; before = s, s = s->next) {
        if (!fits || !add_buffers(&used, m, s->step)) {
            if (before) before->next = NULL;
            part = begin_part(bundle, s, schedule->code->loops->partition->request->arena);
            if (!part) return WEFT_ERROR_MEMORY;
            part->next = *parts;
            *parts = part;
            used.count = 0;
            fits = add_buffers(&used, m, s->step);
        }
        s->at = part->bytes;
        part->bytes += wi_aligned_bytes(schedule->of[s->step].scratch_bytes);
        part->first = s->step;
        part->count++;
    }
    return WEFT_OK;
}

weft_status wi_bundles_part(wi_schedule *schedule, const wi_placement *placement, bool *any) {
    wi_bundle *parts = NULL, *const found = schedule->bundles;
    *any = false;
    for (const wi_bundle *b = found; b; b = b->next) *any |= b->reads && has_too_many_buffers(placement, b);
    if (!*any) return WEFT_OK;
    wi_schedule_unbundle(schedule);
    for (wi_bundle *b = found, *next; b; b = next) {
        next = b->next;
        if (b->reads) {
            WI_TRY(cut(schedule, placement, b, &parts));
        } else {
            b->next = parts;
            parts = b;
        }
    }
    schedule->bundles = parts;
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
