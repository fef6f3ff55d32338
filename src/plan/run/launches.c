/* Creates the launches of each step: kernels with all arguments set. */
#include "plan/run/launches.h"
#include "base/integers.h"
#include "cl/compile_processes.h"
#include "cl/program.h"
#include "kernels/candidates.h"
#include "plan/arrange/loads.h"
#include <math.h>
#include <stdio.h>

static const wi_request *request_of(const wi_launches *l) {
    return l->memory->placement->partition->request;
}

/* ---- launches ---- */

static weft_status new_launch(wi_launches *l, const wi_run *run, wi_binder *b) {
    const wi_request *request = request_of(l);
    WI_TRY(
        wi_grow(request->allocator, (void **)&l->launches, &l->capacity, l->count + 1, sizeof *l->launches));
    wi_plan_launch *launch = &l->launches[l->count++];
    *launch = (wi_plan_launch){.run = run, .device = request->devices.of[run->step->device]};
    *b = (wi_binder){.launches = l, .run = run, .launch = launch};
    launch->bound = l->room;
    launch->changing = l->room + l->half;
    return WEFT_OK;
}

static weft_status keep_arguments(const wi_launches *l, wi_bound_argument **arguments, int count) {
    wi_bound_argument *const kept = wi_arena_take(request_of(l)->arena, (size_t)count * sizeof *kept);
    if (!kept) return WEFT_ERROR_MEMORY;
    for (int i = 0; i < count; i++) kept[i] = (*arguments)[i];
    *arguments = kept;
    return WEFT_OK;
}

/* The estimated time of one repetition of the step's launches. */
static double seconds_of(const wi_launches *l, const wi_step *step, int64_t repetitions) {
    const wi_selection *const selection = step->selection;
    double seconds = l->code->schedule->of[step->index].seconds;
    for (int i = 0; selection && i < selection->count; i++) {
        const wi_candidate *const candidate = &selection->candidates[i];
        if (candidate->implementation == selection->chosen && candidate->variant == selection->variant)
            seconds = fmax(seconds, candidate->seconds);
    }
    return seconds / (double)wi_max64(1, repetitions);
}

/* Divides a long launch into portions. kernel NULL: a generated kernel. If a step has several launches, each is assumed to take as long
 * as the whole step, because the time of each is not known. */
static void cut(const wi_binder *b, const wi_kernel_launch *kernel, int64_t repetitions) {
    const wi_plan_launch *const made = b->launch;
    const double longest = made->device->profile.longest_launch;
    if (longest > 0.0)
        wi_launch_cut(&b->launch->launch, seconds_of(b->launches, b->run->step, repetitions), longest,
            kernel ? kernel->whole : 0);
}

/* Copies the recorded arguments out of `room`, which the next launch uses. */
static weft_status end_launch(const wi_binder *b) {
    wi_plan_launch *const launch = b->launch;
    launch->argument_count = (int)b->next;
    WI_TRY(b->status);
    wi_compile_request_launch(b->launches->request, &launch->launch, launch->first_use);
    WI_TRY(keep_arguments(b->launches, &launch->bound, launch->bound_count));
    return keep_arguments(b->launches, &launch->changing, launch->changing_count);
}

/* suffix: names one of the kernels of the piece. */
static weft_status make_kernel(wi_launches *l, int piece, const char *suffix, wi_plan_launch *made) {
    const wi_code *code = l->code;
    wi_launch *launch = &made->launch;
    char name[96];
    snprintf(name, sizeof name, "%s_%s", code->pieces[piece].name, suffix);
    launch->name = wi_arena_string(request_of(l)->arena, name);
    if (!launch->name) return WEFT_ERROR_MEMORY;
    const size_t at = (size_t)made->run->step->device * code->piece_count + (size_t)piece;
    made->first_use = l->unused[at];
    l->unused[at] = false;
    l->new_kernels += made->first_use;
    return wi_program_kernel(&launch->kernel, l->programs[at], name);
}

static weft_status launch_loop(wi_launches *l, const wi_run *run, const wi_kernel_text *kernel,
    const char *suffix, size_t items, size_t splits) {
    wi_binder b;
    WI_TRY(new_launch(l, run, &b));
    wi_launch *launch = &b.launch->launch;
    WI_TRY(make_kernel(l, kernel->piece, suffix, b.launch));
    for (int i = 0; i < kernel->argument_count; i++) wi_bind_described(&b, &kernel->arguments[i]);
    launch->dimensions = splits > 1 ? 2 : 1;
    launch->global[0] = items;
    launch->global[1] = splits;
    launch->global[2] = 1;
    launch->local[0] = (size_t)b.launch->device->profile.group;
    launch->local[1] = launch->local[2] = 1;
    b.launch->is_fixed = wi_step_is_fixed(l->code->schedule, run->step);
    cut(&b, NULL, 1);
    return end_launch(&b);
}

/* A launch of a template's kernel that a run of the step repeats `repetitions` times. */
static weft_status launch_kernel(
    wi_launches *l, const wi_run *run, const wi_kernel_launch *kernel, int64_t repetitions) {
    wi_binder b;
    const int shared = l->code->of[run->step->index].shared_piece;
    const wi_kernel_text *code = &l->code->of[run->step->index].whole;
    WI_TRY(new_launch(l, run, &b));
    wi_launch *launch = &b.launch->launch;
    WI_TRY(
        make_kernel(l, shared < 0 || kernel->has_epilogue ? code->piece : shared, kernel->suffix, b.launch));
    for (int i = 0; i < kernel->argument_count; i++) wi_bind_kernel(&b, &kernel->arguments[i]);
    for (int i = 0; kernel->has_epilogue && i < code->argument_count; i++)
        wi_bind_described(&b, &code->arguments[i]);
    launch->dimensions = kernel->dimensions;
    for (int i = 0; i < 3; i++) {
        launch->global[i] = kernel->global[i];
        launch->local[i] = kernel->local[i];
    }
    b.launch->iterations = kernel->iterations;
    b.launch->launches_per_iteration = kernel->launches_per_iteration;
    cut(&b, kernel, repetitions);
    return end_launch(&b);
}

/* Is the first input in the same memory as the result? */
static bool is_in_place(const wi_placement *placement, const wi_run *run) {
    const int values[] = {run->step->sources[0], run->step->members[0]};
    int roots[2];
    size_t offsets[2];
    for (int i = 0; i < 2; i++) {
        size_t within, beyond;
        const int place = wi_place_of_value(placement->runs, run, values[i], &within);
        const wi_value *const value = &placement->partition->values[values[i]];
        roots[i] = wi_place_root(placement, place, &beyond);
        offsets[i] = within + beyond + (size_t)value->layout->offset.actual * weft_dtype_size(value->format);
    }
    return roots[0] == roots[1] && offsets[0] == offsets[1];
}

int wi_launches_left_out(const wi_schedule *schedule, const wi_placement *placement, const wi_run *run) {
    const wi_kernel_plan *const kernel = schedule->of[run->step->index].kernel;
    int count = 0;
    while (kernel && count < kernel->count && kernel->launches[count]->copies) count++;
    return count > 0 && is_in_place(placement, run) ? count : 0;
}

static int64_t repetitions_of(const wi_kernel_plan *kernel, int launch) {
    for (int i = launch; i >= 0; i--) {
        const wi_kernel_launch *const first = kernel->launches[i];
        if (first->iterations > 0) return launch < i + first->launches_per_iteration ? first->iterations : 1;
    }
    return 1;
}

static weft_status launch_kernels(wi_launches *l, const wi_run *run) {
    const wi_kernel_plan *kernel = l->code->schedule->of[run->step->index].kernel;
    const wi_step_schedule *own = &l->code->schedule->of[run->step->index];
    for (int i = wi_launches_left_out(l->code->schedule, l->memory->placement, run); i < kernel->count; i++) {
        WI_TRY(launch_kernel(l, run, kernel->launches[i], repetitions_of(kernel, i)));
        l->launches[l->count - 1].is_fixed = i < own->fixed_launches;
    }
    return WEFT_OK;
}

bool wi_has_kernel(const wi_step *step) {
    return step->kind != WI_STEP_TRANSFER && !wi_step_is_library(step);
}

/* For a library's product or a transfer: run.c calls the library or copies. */
static weft_status launch_without_kernel(wi_launches *l, const wi_run *run) {
    wi_binder b;
    WI_TRY(new_launch(l, run, &b));
    return end_launch(&b);
}

static weft_status launch_step(wi_launches *l, const wi_run *run) {
    const wi_step *step = run->step;
    const wi_step_code *code = &l->code->of[step->index];
    const wi_step_schedule *own = &l->code->schedule->of[step->index];
    if (!wi_has_kernel(step)) return launch_without_kernel(l, run);
    if (step->kind != WI_STEP_LOOP) return launch_kernels(l, run);
    if (!wi_is_split(step, own))
        return launch_loop(l, run, &code->whole, WI_LOOP_SUFFIX, own->items,
            own->cell_bytes > 0 ? (size_t)own->work[WI_WORK_SPLITS] : 1);
    /* If item_walks is true, `items` counts an item for each split; otherwise splits are the second dimension of the launch. */
    const bool walks = wi_step_device(l->memory->placement->partition, step)->profile.item_walks;
    const size_t splits = walks ? 1 : (size_t)own->work[WI_WORK_SPLITS];
    WI_TRY(launch_loop(l, run, &code->partial, WI_PARTIAL_SUFFIX, own->items, splits));
    return launch_loop(l, run, &code->combine, WI_COMBINE_SUFFIX, own->combine_items, 1);
}

static weft_status launch_loads(wi_launches *l, const wi_run *run, bool stores) {
    wi_binder b;
    for (int i = 0; i < run->load_count; i++) {
        if (stores && !run->loads[i].changes) continue;
        WI_TRY(new_launch(l, run, &b));
        b.launch->load = &run->loads[i];
        b.launch->stores = stores;
        b.launch->launch.name = stores ? "store" : "load";
        WI_TRY(end_launch(&b));
    }
    return WEFT_OK;
}

static weft_status launch_run(wi_launches *l, const wi_run *run) {
    WI_TRY(launch_loads(l, run, false));
    WI_TRY(launch_step(l, run));
    return launch_loads(l, run, true);
}

bool wi_launch_copies(const wi_plan_launch *launch) {
    return launch->load || launch->run->step->kind == WI_STEP_TRANSFER;
}

/* An upper bound of the number of bound arguments of a launch, and of the number of changing ones. */
static size_t most_bound_arguments(const wi_code *code) {
    int64_t most = 0;
    for (size_t i = 0; i < code->loops->partition->step_count; i++) {
        const wi_step_code *const own = &code->of[i];
        most = wi_max64(most, own->whole.argument_count);
        most = wi_max64(wi_max64(most, own->partial.argument_count), own->combine.argument_count);
    }
    /* A launch of a template also has the arguments of the template. A memory argument has two records: buffer and offset. */
    return (size_t)most + 2 * WI_KERNEL_ARGUMENTS;
}

weft_status wi_plan_launches(const wi_code *code, const wi_plan_memory *memory, wi_launches *launches) {
    const wi_materialised *runs = memory->placement->runs;
    *launches = (wi_launches){.code = code, .memory = memory};
    launches->half = most_bound_arguments(code);
    launches->room = wi_arena_take(request_of(launches)->arena, 2 * launches->half * sizeof *launches->room);
    if (!launches->room) return WEFT_ERROR_MEMORY;
    WI_TRY(wi_plan_programs(code, launches));
    if (request_of(launches)->devices.count == 1)
        launches->request = wi_compile_request_begin(request_of(launches)->devices.of[0]);
    for (size_t i = 0; i < runs->run_count; i++) WI_TRY(launch_run(launches, &runs->runs[i]));
    wi_compile_request_start(launches->request);
    launches->request = NULL;
    return WEFT_OK;
}

void wi_launches_clear(wi_launches *launches) {
    for (size_t i = 0; i < launches->count; i++) wi_launch_clear(&launches->launches[i].launch);
    if (launches->launches) wi_release(request_of(launches)->allocator, launches->launches);
    wi_compile_request_release(launches->request);
    launches->request = NULL;
    launches->launches = NULL;
    launches->count = launches->capacity = 0;
}
