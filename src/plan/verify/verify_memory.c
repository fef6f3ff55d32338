/* Invariants of the placement and of the launches. */
#include "cl/driver.h"
#include "cl/opened_device.h"
#include "plan/verify/verify.h"

/* ---- places ---- */

/* The live range of a place, from its first to its last run. Storages that alias one another in the partition have one live range. first
 * < 0: no run uses the place. */
typedef struct life {
    int first, last;
} life;

typedef struct check {
    const wi_placement *placement;
    const wi_partition *partition;
    life *lives; /* by place, but a storage inside another one counts for the outermost (owner_of) */
} check;

/* The outermost storage that contains this one in the partition. Instances and scratch memory are in no other. */
static int owner_of(const check *c, int place) {
    while ((size_t)place < c->partition->storage_count && c->partition->storages[place].alias >= 0)
        place = c->partition->storages[place].alias;
    return place;
}

static void use(check *c, int place, int run) {
    life *own = &c->lives[owner_of(c, place)];
    if (own->first < 0 || run < own->first) own->first = run;
    if (run > own->last) own->last = run;
}

static void use_value(check *c, const wi_run *run, int value) {
    use(c, wi_place_of_value(c->placement->runs, run, value, NULL), run->index);
}

static void use_run(check *c, const wi_loop *loop, const wi_run *run) {
    for (int o = 0; o < loop->operand_count; o++)
        if (loop->operands[o].value >= 0) use_value(c, run, loop->operands[o].value);
    for (int i = 0; i < 2 && run->step->kind == WI_STEP_PRODUCT; i++)
        use_value(c, run, run->step->sources[i]);
    if (c->placement->scratch[run->index] >= 0) use(c, c->placement->scratch[run->index], run->index);
    if (c->placement->fixed[run->index] >= 0) use(c, c->placement->fixed[run->index], run->index);
}

static void count_lives(check *c) {
    const wi_partition *p = c->partition;
    const wi_materialised *runs = c->placement->runs;
    for (size_t i = 0; i < c->placement->place_count; i++) c->lives[i] = (life){-1, -1};
    for (size_t i = 0; i < runs->run_count; i++)
        use_run(c, &runs->schedule->loops->of[runs->runs[i].step->index], &runs->runs[i]);
    for (size_t i = 0; i < p->order->output_count; i++)
        if (p->output_values[i] >= 0) use_value(c, &runs->end, p->output_values[i]);
}

/* Did the placement give this place an offset? */
static bool is_root(const wi_placement *m, size_t place) {
    return m->places[place].kind == WI_STORAGE_ARENA && m->places[place].alias < 0;
}

static weft_status check_place(const check *c, size_t index) {
    const wi_placement *m = c->placement;
    const wi_place *place = &m->places[index];
    size_t hops = 0;
    for (int at = (int)index; m->places[at].alias >= 0; at = m->places[at].alias) {
        WI_REQUIRE((size_t)m->places[at].alias < m->place_count, WI_PASS_MEMORY, "place", index,
            "the place that contains it does not exist");
        WI_REQUIRE(++hops < m->place_count, WI_PASS_MEMORY, "place", index, "it contains itself");
    }
    WI_REQUIRE(place->alias < 0 || m->places[place->alias].device == place->device, WI_PASS_MEMORY, "place",
        index, "the place that contains it is on another device");
    if (place->alias >= 0) {
        const size_t whole = m->places[place->alias].bytes;
        WI_REQUIRE(place->alias_offset <= whole && place->bytes <= whole - place->alias_offset,
            WI_PASS_MEMORY, "place", index, "it does not fit into the place that contains it");
    }
    if (!is_root(m, index)) return WEFT_OK;
    WI_REQUIRE(place->chunk < m->chunk_count && place->offset + place->bytes <= m->chunk_bytes[place->chunk],
        WI_PASS_MEMORY, "place", index, "it reaches beyond the end of its chunk");
    WI_REQUIRE(m->chunk_device[place->chunk] == place->device, WI_PASS_MEMORY, "place", index,
        "its chunk is on another device");
    return WEFT_OK;
}

/* A place that the placement put over another is written no earlier than in the run that reads the other for the last time. */
static weft_status check_reuse(const check *c, size_t index) {
    const wi_placement *m = c->placement;
    const int over = m->places[index].alias;
    const bool here = over >= 0 && owner_of(c, (int)index) == (int)index;
    if (!here || m->places[over].kind != WI_STORAGE_ARENA) return WEFT_OK;
    const life own = c->lives[index], other = c->lives[owner_of(c, over)];
    WI_REQUIRE(
        other.last <= own.first, WI_PASS_MEMORY, "place", index, "it overwrites data that is read later");
    return WEFT_OK;
}

/* The live range of everything inside the place. */
static life whole_life(const check *c, size_t root) {
    life whole = {-1, -1};
    for (size_t i = 0; i < c->placement->place_count; i++) {
        const life own = c->lives[i];
        if (own.first < 0 || wi_place_root(c->placement, (int)i, NULL) != (int)root) continue;
        if (whole.first < 0 || own.first < whole.first) whole.first = own.first;
        if (own.last > whole.last) whole.last = own.last;
    }
    if (c->placement->places[root].keep) whole = (life){0, (int)c->placement->runs->run_count};
    return whole;
}

static bool overlap(const wi_place *a, const wi_place *b) {
    return a->chunk == b->chunk && a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
}

static weft_status check_overlaps(const check *c) {
    const wi_placement *m = c->placement;
    life *whole = wi_arena_take(c->partition->request->arena, m->place_count * sizeof *whole);
    if (!whole) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < m->place_count; i++) {
        if (!is_root(m, i)) continue;
        whole[i] = whole_life(c, i);
        for (size_t k = 0; k < i && whole[i].first >= 0; k++) {
            if (!is_root(m, k) || whole[k].first < 0 || !overlap(&m->places[i], &m->places[k])) continue;
            WI_REQUIRE(whole[i].last < whole[k].first || whole[k].last < whole[i].first, WI_PASS_MEMORY,
                "place", i, "it overlaps another place with an overlapping live range");
        }
    }
    return WEFT_OK;
}

static weft_status check_scratch(const wi_placement *m, size_t run, int place, size_t bytes) {
    WI_REQUIRE(bytes == 0 || (place >= 0 && (size_t)place < m->place_count), WI_PASS_MEMORY, "run", run,
        "its scratch memory has no place");
    WI_REQUIRE(bytes == 0 || m->places[place].bytes >= bytes, WI_PASS_MEMORY, "run", run,
        "its scratch memory is too small");
    return WEFT_OK;
}

static weft_status check_all_scratch(const wi_placement *m) {
    for (size_t i = 0; i < m->runs->run_count; i++) {
        const wi_step_schedule *own = &m->runs->schedule->of[m->runs->runs[i].step->index];
        WI_TRY(check_scratch(m, i, m->scratch[i], own->scratch_bytes - own->fixed_bytes));
        WI_TRY(check_scratch(m, i, m->fixed[i], own->fixed_bytes));
        WI_TRY(check_scratch(m, i, m->cells[m->runs->runs[i].step->device], own->cell_bytes));
        WI_REQUIRE(own->fixed_bytes == 0 || m->places[m->fixed[i]].keep, WI_PASS_MEMORY, "run", i,
            "data that is packed once is not kept");
    }
    return WEFT_OK;
}

weft_status wi_verify_placement(const wi_placement *placement) {
    check c = {.placement = placement, .partition = placement->partition};
    c.lives = wi_arena_take(c.partition->request->arena, placement->place_count * sizeof *c.lives);
    if (!c.lives) return WEFT_ERROR_MEMORY;
    WI_TRY(check_all_scratch(placement));
    for (size_t i = 0; i < placement->place_count; i++) WI_TRY(check_place(&c, i));
    count_lives(&c);
    for (size_t i = 0; i < placement->place_count; i++) WI_TRY(check_reuse(&c, i));
    return check_overlaps(&c);
}

/* ---- launches ---- */

static weft_status check_changing(
    const wi_launches *l, const wi_plan_launch *launch, const wi_bound_argument *argument, bool bound) {
    const wi_placement *m = l->memory->placement;
    const size_t run = (size_t)launch->run->index;
    WI_REQUIRE(argument->index < launch->argument_count, WI_PASS_LAUNCHES, "run", run,
        "an argument that changes between runs does not exist");
    WI_REQUIRE(!bound || ((size_t)argument->which < m->place_count &&
                             m->places[argument->which].kind == WI_STORAGE_INPUT),
        WI_PASS_LAUNCHES, "run", run, "an argument is bound to a value that is not an input");
    return WEFT_OK;
}

static weft_status check_launch(const wi_launches *l, const wi_plan_launch *launch) {
    const wi_launch *own = &launch->launch;
    const int run = launch->run->index;
    cl_uint wanted = 0;
    const wi_partition *p = l->memory->placement->partition;
    WI_REQUIRE(launch->device == wi_step_device(p, launch->run->step), WI_PASS_LAUNCHES, "run", run,
        "it is launched on another device");
    WI_REQUIRE(launch->load || !own->kernel == !wi_has_kernel(launch->run->step), WI_PASS_LAUNCHES, "run",
        run, "a launch has no kernel, or a product by a library has a kernel");
    if (!own->kernel) return WEFT_OK;
    WI_CL(clGetKernelInfo(own->kernel, CL_KERNEL_NUM_ARGS, sizeof wanted, &wanted, NULL), "clGetKernelInfo");
    WI_REQUIRE(launch->argument_count == (int)wanted, WI_PASS_LAUNCHES, "run", run,
        "not every argument of a kernel is bound");
    for (cl_uint d = 0; d < own->dimensions; d++)
        WI_REQUIRE(own->global[d] > 0 && (own->local[d] == 0 || own->global[d] % own->local[d] == 0),
            WI_PASS_LAUNCHES, "run", run, "the work-items of a launch are not a multiple of its group size");
    for (int i = 0; i < launch->changing_count; i++)
        WI_TRY(check_changing(l, launch, &launch->changing[i], false));
    for (int i = 0; i < launch->bound_count; i++) WI_TRY(check_changing(l, launch, &launch->bound[i], true));
    return WEFT_OK;
}

/* Launches of a run, with repetitions, beginning with number *at, which moves behind them. */
static int count_launches(const wi_launches *l, size_t *at, int run) {
    int count = 0;
    while (*at < l->count && l->launches[*at].run->index == run) {
        const wi_plan_launch *launch = &l->launches[*at];
        const bool repeats = launch->iterations > 0;
        if (!launch->load) count += repeats ? (int)launch->iterations * launch->launches_per_iteration : 1;
        *at += repeats ? (size_t)launch->launches_per_iteration : 1;
    }
    return count;
}

weft_status wi_verify_launches(const wi_launches *launches) {
    const wi_materialised *runs = launches->memory->placement->runs;
    size_t at = 0;
    for (size_t i = 0; i < launches->count; i++) WI_TRY(check_launch(launches, &launches->launches[i]));
    for (size_t i = 0; i < runs->run_count; i++)
        WI_REQUIRE(count_launches(launches, &at, (int)i) + wi_launches_left_out(launches->code->schedule,
                                                               launches->memory->placement, &runs->runs[i]) ==
                       launches->code->schedule->of[runs->runs[i].step->index].launch_count,
            WI_PASS_LAUNCHES, "run", i, "its launches differ from those of the schedule");
    return WEFT_OK;
}
