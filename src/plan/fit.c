/* Runs the passes from the order of the nodes to the placement, again and again until the plan fits in the device's largest buffer and in the
 * memory limits.
 *
 * To meet a limit of the plan itself (memory_limit of weft_plan_options), steps run again; if that does not suffice, creating the plan
 * fails. For the limit of the context there are two more measures: parameters and states are kept in host memory (arrange/loads.h), and
 * the batch is divided into micro-batches. The first is tried first if parameters and states take more than half of the limit, otherwise
 * the second. If one does not suffice, both are used. */
#include "base/integers.h"
#include "plan/arrange/loads.h"
#include "plan/compiled_plan.h"
#include "plan/group/conflicts.h"
#include "plan/improve/improve.h"
#include "plan/select/micro_batches.h"
#include "plan/verify/verify.h"

/* ---- the passes ---- */

static weft_status improve(wi_partition *partition) {
    if (partition->request->plain) return WEFT_OK;
    WI_TRY(wi_compute_segment_sources(partition));
    return wi_pick_rows(partition);
}

static weft_status partition(weft_plan *plan) {
    WI_TRY(wi_plan_order(&plan->request, &plan->order));
    WI_TRY(wi_plan_end_pass(plan, WI_PASS_REWRITES));
    WI_TRY(wi_plan_end_pass(plan, WI_PASS_ORDER));
    WI_TRY(wi_plan_partition(&plan->order, &plan->partition));
    WI_TRY(improve(&plan->partition));
    WI_TRY(wi_plan_end_pass(plan, WI_PASS_PARTITION));
    WI_TRY(wi_check_writers(&plan->partition));
    return wi_plan_end_pass(plan, WI_PASS_SELECT);
}

static weft_status generate(weft_plan *plan) {
    WI_TRY(wi_plan_loops(&plan->partition, &plan->loops));
    WI_TRY(wi_plan_end_pass(plan, WI_PASS_LOOPS));
    WI_TRY(wi_plan_schedule(&plan->loops, &plan->schedule));
    return wi_plan_end_pass(plan, WI_PASS_SCHEDULE);
}

static void forget_steps(weft_plan *plan) {
    wi_partition_clear(&plan->partition);
    wi_node_order_clear(&plan->order);
    wi_code_clear(&plan->code);
    plan->partition = (wi_partition){0};
    plan->order = (wi_node_order){0};
    plan->code = (wi_code){0};
}

/* Runs the passes up to the code with at least `count` micro-batches. If a node or scratch memory does not fit in a buffer, runs them again with
 * more. */
static weft_status make_steps(weft_plan *plan, int64_t count) {
    wi_micro_batches m = {.count = count};
    for (;;) {
        forget_steps(plan);
        plan->request.micro_batches = m.count;
        plan->request.most_scratch = m.most_scratch;
        WI_TRY(partition(plan));
        WI_TRY(generate(plan));
        WI_TRY(wi_count_micro_batches(&plan->schedule, &m));
        if (m.enough) break;
    }
    WI_TRY(wi_plan_code(&plan->schedule, &plan->code));
    wi_find_fixed(&plan->schedule, &plan->code);
    return wi_plan_end_pass(plan, WI_PASS_CODE);
}

/* ---- one attempt ---- */

typedef struct fitting {
    size_t limit; /* of the plan itself; 0: none */
    bool fits;
    size_t needed,
        least; /* the limits of the context that suffice for this attempt, and for the best attempt */
} fitting;

/* The bytes of the context's limit that belong neither to the plan nor to its parameters and states. */
static size_t used_by_others(const weft_plan *plan) {
    const wi_device *const device = plan->request.devices.of[0];
    return wi_buffer_limit(device) - wi_buffer_available(device) - wi_bytes_to_move(&plan->partition);
}

/* Bytes that the context's limit leaves for the plan's arena and inputs, after the variables that only this plan needs have got memory and
 * the blocks that the plan keeps in host memory have moved there; 0: no limit. Plans on several devices do not run steps again to save
 * memory; plan_memory.c only checks the limit of each device. */
static size_t bytes_left_for_plan(const weft_plan *plan) {
    const size_t limit = wi_buffer_limit(plan->request.devices.of[0]);
    if (plan->request.devices.count > 1 || limit == 0) return 0;
    const size_t taken = used_by_others(plan) + wi_missing_bytes(&plan->partition);
    return limit > taken ? limit - taken : 1;
}

static weft_status fail_plan_limit(const weft_plan *plan, size_t limit, size_t least) {
    WI_FAIL(WEFT_ERROR_MEMORY_LIMIT,
        "plan: needs at least %zu bytes (%zu of them for inputs), but memory_limit is %zu; without "
        "rematerialisation the plan needs %zu bytes",
        least, plan->placement.io_bytes, limit, plan->placement.arena_bytes + plan->placement.io_bytes);
}

/* Arranges the steps within the limits. on_host: keeps parameters and states in host memory if they do not fit otherwise. */
static weft_status arrange(weft_plan *plan, fitting *f, bool on_host) {
    for (;;) {
        size_t least = 0, both = bytes_left_for_plan(plan);
        if (f->limit && (both == 0 || f->limit < both)) both = f->limit;
        WI_TRY(wi_plan_materialise(&plan->schedule, both, &plan->runs, &plan->placement, &least));
        f->fits = least == 0;
        if (f->fits) return WEFT_OK;
        if (f->limit && least > f->limit) return fail_plan_limit(plan, f->limit, least);
        f->needed = least + wi_missing_bytes(&plan->partition) + used_by_others(plan);
        if (f->needed < f->least) f->least = f->needed;
        if (!on_host || !wi_choose_host_blocks(&plan->partition, &plan->loops, least - both)) return WEFT_OK;
        (void)wi_schedule_unfix(&plan->schedule);
    }
}

/* ---- attempts ---- */

/* Do the plan's parameters and states take most of the context's limit? */
static bool has_many_variables(const weft_plan *plan) {
    const wi_partition *const p = &plan->partition;
    size_t bytes = 0;
    for (size_t i = 0; i < p->storage_count; i++)
        if (p->storages[i].kind == WI_STORAGE_BLOCK && !p->storages[i].on_host) bytes += p->storages[i].bytes;
    return bytes > wi_buffer_limit(plan->request.devices.of[0]) / 2;
}

/* Nodes with at most this many bytes, a fixed part of the largest one, are not divided. The number does not depend on the limit, so that
 * a plan with the limit that an error message suggests is divided in the same way, and fits. */
static size_t find_most_undivided(const wi_placement *placement) {
    enum { PART_OF_LARGEST = 16 };
    size_t largest = 0;
    for (size_t i = 0; i < placement->partition->storage_count; i++)
        if (placement->places[i].kind == WI_STORAGE_ARENA && placement->places[i].bytes > largest)
            largest = placement->places[i].bytes;
    return largest / PART_OF_LARGEST;
}

/* Doubles the number of micro-batches until the plan fits, or until a further division saves no memory. */
static weft_status divide_batch(weft_plan *plan, fitting *f, bool on_host) {
    const wi_request *const request = &plan->request;
    size_t before = SIZE_MAX;
    if (request->devices.count > 1 || request->given.examples) return WEFT_OK;
    for (int64_t count = 2 * request->micro_batches; !f->fits && count < 2 * request->batch; count *= 2) {
        if (f->needed >= before) return WEFT_OK;
        before = f->needed;
        WI_TRY(make_steps(plan, wi_min64(count, request->batch)));
        WI_TRY(arrange(plan, f, on_host));
    }
    return WEFT_OK;
}

weft_status wi_plan_fit(weft_plan *plan, size_t limit) {
    fitting f = {.limit = limit, .least = SIZE_MAX};
    WI_TRY(make_steps(plan, plan->request.devices.share_batch ? plan->request.devices.count : 1));
    const bool variables_first = has_many_variables(plan);
    WI_TRY(arrange(plan, &f, variables_first));
    plan->request.most_undivided = find_most_undivided(&plan->placement);
    if (!f.fits) WI_TRY(divide_batch(plan, &f, variables_first));
    if (!f.fits && !variables_first) {
        WI_TRY(make_steps(plan, 1));
        WI_TRY(arrange(plan, &f, true));
        if (!f.fits) WI_TRY(divide_batch(plan, &f, true));
    }
    if (f.fits) return WEFT_OK;
    WI_FAIL(WEFT_ERROR_MEMORY_LIMIT,
        "plan: with as few stored values as possible, parameters and states in host memory, and "
        "micro-batches, it "
        "needs a memory_limit of the context of at least %zu bytes, but that is %zu, of which other plans "
        "use %zu",
        f.least, wi_buffer_limit(plan->request.devices.of[0]), used_by_others(plan));
}
