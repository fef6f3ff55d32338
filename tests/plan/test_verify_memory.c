/* The verifier of plans, on code, schedule, runs, memory and launches: every invariant is broken by hand, once, and the
 * line must say which it was. */
/* test once */
#include "kernels/kernel_plan.h"
#include "support/broken_plan.h"

#include <string.h>

/* ---- finding something to break ---- */

static size_t split_step(weft_plan *plan) {
    for (size_t i = 0; i < plan->partition.step_count; i++)
        if (plan->partition.steps[i]->kind == WI_STEP_LOOP && plan->schedule.of[i].work[WI_WORK_SPLITS] > 1)
            return i;
    fail_msg("no step is cut");
    return 0;
}

/* The first place for which the test holds. */
static size_t find_place(const weft_plan *plan, bool (*test)(const wi_place *place, const wi_place *other),
    const wi_place *other) {
    for (size_t i = 0; i < plan->placement.place_count; i++)
        if (test(&plan->placement.places[i], other)) return i;
    fail_msg("no such place");
    return 0;
}

static bool is_placed(const wi_place *place, const wi_place *other) {
    return place != other && place->kind == WI_STORAGE_ARENA && place->alias < 0 && place->first >= 0;
}

static bool is_alive_with(const wi_place *place, const wi_place *other) {
    return is_placed(place, other) && place->first <= other->last && other->first <= place->last;
}

/* Larger, and read after the other is written. */
static bool is_read_after(const wi_place *place, const wi_place *other) {
    return is_placed(place, other) && place->bytes >= other->bytes && place->last > other->first;
}

static wi_plan_launch *launch_that_changes(weft_plan *plan) {
    for (size_t i = 0; i < plan->launches.count; i++)
        if (plan->launches.launches[i].changing_count > 0) return &plan->launches.launches[i];
    fail_msg("no argument changes");
    return NULL;
}

static wi_plan_launch *launch_of_input(weft_plan *plan) {
    for (size_t i = 0; i < plan->launches.count; i++)
        if (plan->launches.launches[i].bound_count > 0) return &plan->launches.launches[i];
    fail_msg("no launch reads an input");
    return NULL;
}

/* ---- code ---- */

static void drop_kernel(weft_plan *plan) {
    plan->code.of[broken_plan_loop(plan)->index].whole.piece = -1;
}
static void drop_partial(weft_plan *plan) {
    const size_t step = split_step(plan);
    wi_step_code *const code = &plan->code.of[step];
    (plan->schedule.of[step].cell_bytes ? &code->whole : &code->partial)->piece = -1;
}
static void bind_nothing(weft_plan *plan) {
    wi_kernel_text *const kernel = &plan->code.of[broken_plan_loop(plan)->index].whole;
    for (int i = 0; i < kernel->argument_count; i++)
        if (kernel->arguments[i].kind == WI_ARGUMENT_BUFFER) kernel->arguments[i].a = WI_MAX_OPERANDS;
}
static void drop_launches(weft_plan *plan) {
    plan->schedule.of[broken_plan_step(plan, WI_STEP_KERNEL)->index].kernel->count = 0;
}
static void repeat_name(weft_plan *plan) {
    memcpy(plan->code.pieces[1].name, plan->code.pieces[0].name, sizeof plan->code.pieces[0].name);
}

/* ---- the schedule ---- */

static void launch_never(weft_plan *plan) {
    plan->schedule.of[0].launch_count = 0;
}
static void split_whole(weft_plan *plan) {
    const int step = broken_plan_loop(plan)->index;
    plan->loops.of[step].may_split = false;
    plan->schedule.of[step].work[WI_WORK_SPLITS] = 2;
}
static void drop_items(weft_plan *plan) {
    plan->schedule.of[broken_plan_loop(plan)->index].items = 0;
}
static void drop_scratch(weft_plan *plan) {
    wi_step_schedule *const own = &plan->schedule.of[split_step(plan)];
    own->scratch_bytes = own->cell_bytes = 0;
}
static void ask_for_scratch(weft_plan *plan) {
    plan->schedule.of[broken_plan_step(plan, WI_STEP_KERNEL)->index].kernel->scratch_bytes = (size_t)1 << 40;
}

/* ---- runs ---- */

static void renumber_run(weft_plan *plan) {
    plan->runs.runs[1].index = 0;
}
static void repeat_first(weft_plan *plan) {
    plan->runs.runs[0].is_repeated = true;
}
static void swap_runs(weft_plan *plan) {
    const size_t last = plan->runs.run_count - 1;
    const wi_step *const step = plan->runs.runs[0].step;
    plan->runs.runs[0].step = plan->runs.runs[last].step;
    plan->runs.runs[last].step = step;
}
static void invent_instance(weft_plan *plan) {
    static const wi_instance nowhere;
    plan->runs.runs[0].instances = &nowhere;
    plan->runs.runs[0].instance_count = 1;
}
static void drop_last_run(weft_plan *plan) {
    plan->runs.run_count--;
}
/* A step that updates parameters, twice; there is room for one run more. */
static void assign_again(weft_plan *plan) {
    const wi_partition *const p = &plan->partition;
    const int base = wi_base_of(p, p->assignments[0].value);
    const size_t last = plan->runs.run_count++;
    plan->runs.runs[last] =
        (wi_run){.index = (int)last, .step = p->steps[p->values[base].step], .is_repeated = true};
}

/* ---- memory ---- */

static void place_nowhere(weft_plan *plan) {
    plan->placement.places[0].alias = 1 << 20;
}
static void place_in_itself(weft_plan *plan) {
    plan->placement.places[0].alias = 0;
}
static void place_outside(weft_plan *plan) {
    const size_t place = find_place(plan, is_placed, NULL);
    plan->placement.places[place].alias = place == 0;
    plan->placement.places[place].alias_offset = (size_t)1 << 40;
}
static void cut_chunk(weft_plan *plan) {
    plan->placement.chunk_bytes[0] = 1;
}
static void reuse_early(weft_plan *plan) {
    for (size_t i = 0; i < plan->placement.place_count; i++) {
        wi_place *const place = &plan->placement.places[i];
        if (!is_placed(place, NULL)) continue;
        for (size_t k = 0; k < plan->placement.place_count; k++) {
            if (!is_read_after(&plan->placement.places[k], place)) continue;
            place->alias = (int)k;
            return;
        }
    }
    fail_msg("no such pair of places");
}
static void overlap_places(weft_plan *plan) {
    wi_place *const places = plan->placement.places;
    const size_t a = find_place(plan, is_placed, NULL), b = find_place(plan, is_alive_with, &places[a]);
    places[b].chunk = places[a].chunk;
    places[b].offset = places[a].offset;
    plan->placement.chunk_bytes[places[a].chunk] = (size_t)1 << 40;
}
/* Scratch memory, or cells: without a limit the runs are the steps. */
static int *split_place(weft_plan *plan) {
    const size_t step = split_step(plan);
    const bool has_cells = plan->schedule.of[step].cell_bytes > 0;
    return has_cells ? &plan->placement.cells[0] : &plan->placement.scratch[step];
}
static void lose_scratch(weft_plan *plan) {
    *split_place(plan) = -1;
}
static void shrink_scratch(weft_plan *plan) {
    plan->placement.places[*split_place(plan)].bytes--;
}

/* ---- launches ---- */

static cl_kernel kept; /* of the first launch, while it is away */

static void lose_kernel(weft_plan *plan) {
    kept = plan->launches.launches[0].launch.kernel;
    plan->launches.launches[0].launch.kernel = NULL;
}
static void forget_argument(weft_plan *plan) {
    launch_of_input(plan)->argument_count--;
}
static void change_nothing(weft_plan *plan) {
    launch_that_changes(plan)->changing[0].index = 1 << 20;
}
static void bind_to_arena(weft_plan *plan) {
    launch_of_input(plan)->bound[0].which = (int)find_place(plan, is_placed, NULL);
}
static void split_group(weft_plan *plan) {
    plan->launches.launches[0].launch.global[0] = 10;
    plan->launches.launches[0].launch.local[0] = 3;
}
static void swap_launches(weft_plan *plan) {
    const wi_plan_launch first = plan->launches.launches[0];
    const size_t last = plan->launches.count - 1;
    plan->launches.launches[0] = plan->launches.launches[last];
    plan->launches.launches[last] = first;
}

/* ---- all of them ---- */

static const breakage breakages[] = {
    {WI_PASS_CODE, drop_kernel, "it has no kernel"},
    {WI_PASS_CODE, drop_partial, "it has no kernel"},
    {WI_PASS_CODE, bind_nothing, "an argument belongs to no operand or dimension"},
    {WI_PASS_SCHEDULE, drop_launches, "its template has no launches"},
    {WI_PASS_CODE, repeat_name, "another one has the same name"},
    {WI_PASS_SCHEDULE, launch_never, "it has no launches"},
    {WI_PASS_SCHEDULE, split_whole, "its reduction is split, but its kernel cannot be split"},
    {WI_PASS_SCHEDULE, drop_items, "its work-items do not compute every result"},
    {WI_PASS_SCHEDULE, drop_scratch, "its splits do not fit into the scratch memory"},
    {WI_PASS_SCHEDULE, ask_for_scratch, "it has less scratch memory than its launches need"},
    {WI_PASS_MATERIALISE, renumber_run, "its number differs from its index"},
    {WI_PASS_MATERIALISE, repeat_first, "it records wrongly whether its step ran before"},
    {WI_PASS_MATERIALISE, swap_runs, "it reads a value that no earlier run computes"},
    {WI_PASS_MATERIALISE, invent_instance, "an instance belongs to another storage"},
    {WI_PASS_MATERIALISE, drop_last_run, "it never runs"},
    {WI_PASS_MATERIALISE, assign_again, "a step that assigns a variable runs twice"},
    {WI_PASS_MEMORY, place_nowhere, "the place that contains it does not exist"},
    {WI_PASS_MEMORY, place_in_itself, "it contains itself"},
    {WI_PASS_MEMORY, place_outside, "it does not fit into the place that contains it"},
    {WI_PASS_MEMORY, cut_chunk, "it reaches beyond the end of its chunk"},
    {WI_PASS_MEMORY, reuse_early, "it overwrites data that is read later"},
    {WI_PASS_MEMORY, overlap_places, "it overlaps another place with an overlapping live range"},
    {WI_PASS_MEMORY, lose_scratch, "its scratch memory has no place"},
    {WI_PASS_MEMORY, shrink_scratch, "its scratch memory is too small"},
    {WI_PASS_LAUNCHES, lose_kernel, "a launch has no kernel, or a product by a library has a kernel"},
    {WI_PASS_LAUNCHES, forget_argument, "not every argument of a kernel is bound"},
    {WI_PASS_LAUNCHES, change_nothing, "an argument that changes between runs does not exist"},
    {WI_PASS_LAUNCHES, bind_to_arena, "an argument is bound to a value that is not an input"},
    {WI_PASS_LAUNCHES, split_group, "the work-items of a launch are not a multiple of its group size"},
    {WI_PASS_LAUNCHES, swap_launches, "its launches differ from those of the schedule"},
};

static void restore_kernel(weft_plan *plan) {
    if (kept) plan->launches.launches[0].launch.kernel = kept;
    kept = NULL;
}

static void test_invariants(void **state) {
    (void)state;
    broken_plan_check(breakages, sizeof breakages / sizeof *breakages, restore_kernel);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_invariants)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
