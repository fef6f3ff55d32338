/* From steps to launches: kernels with all arguments set, and a note of the few that change. */
#include "plan/steps.h"
#include <stdio.h>

typedef struct binder {
    weft_plan *plan;
    const wi_step *step;
    wi_plan_launch *launch;
    cl_uint next; /* argument */
    weft_status status;
} binder;

/* ---- arguments ---- */

static void set_argument(binder *b, size_t bytes, const void *value) {
    if (b->status == WEFT_OK)
        b->status =
            wi_cl_check(clSetKernelArg(b->launch->launch.kernel, b->next, bytes, value), "clSetKernelArg");
    b->next++;
}

static void set_int(binder *b, int64_t number) {
    const cl_int value = (cl_int)number;
    set_argument(b, sizeof value, &value);
}

static void set_long(binder *b, int64_t number) {
    const cl_long value = number;
    set_argument(b, sizeof value, &value);
}

static void note(binder *b, bool bound, wi_bound_argument argument) {
    argument.index = (int)b->next;
    if (bound)
        b->launch->bound[b->launch->bound_count++] = argument;
    else
        b->launch->changing[b->launch->changing_count++] = argument;
}

static void set_memory(binder *b, int value) {
    size_t offset;
    const wi_storage *storage = wi_plan_storage(b->plan, wi_plan_base_storage(b->plan, value), &offset);
    if (storage->kind == WI_STORAGE_INPUT)
        note(b, true,
            (wi_bound_argument){.kind = WI_ARGUMENT_BUFFER, .which = (int)(storage - b->plan->storages)});
    set_argument(b, sizeof storage->memory, &storage->memory);
}

static void set_offset(binder *b, int value, int64_t elements) {
    size_t offset;
    const wi_storage *storage = wi_plan_storage(b->plan, wi_plan_base_storage(b->plan, value), &offset);
    const size_t size = weft_dtype_size(b->plan->values[value].node->dtype);
    if (storage->kind == WI_STORAGE_INPUT)
        note(b, true,
            (wi_bound_argument){.kind = WI_ARGUMENT_OFFSET,
                .which = (int)(storage - b->plan->storages),
                .elements = elements,
                .size = size});
    set_long(b, elements + (int64_t)(offset / size));
}

static void set_scratch(binder *b, int64_t elements, size_t size) {
    size_t offset;
    const wi_storage *storage = wi_plan_storage(b->plan, b->step->scratch, &offset);
    set_argument(b, sizeof storage->memory, &storage->memory);
    set_long(b, elements + (int64_t)(offset / size));
}

static void set_faults(binder *b) {
    size_t offset;
    const wi_storage *storage = wi_plan_storage(b->plan, b->plan->faults, &offset);
    set_argument(b, sizeof storage->memory, &storage->memory);
    set_long(b, (int64_t)(offset / sizeof(cl_int)) + b->step->fault);
}

static void set_described(binder *b, const wi_argument *argument) {
    const wi_operand *operand = &b->step->operands[argument->a];
    const uint64_t seed = b->plan->context->seed;
    const cl_uint zero = 0;
    const float single = (float)argument->number;
    switch (argument->kind) {
    case WI_ARGUMENT_BUFFER: set_memory(b, operand->value); break;
    case WI_ARGUMENT_OFFSET: set_offset(b, operand->value, operand->layout.offset.actual); break;
    case WI_ARGUMENT_STRIDE: set_long(b, operand->layout.strides[argument->b].actual); break;
    case WI_ARGUMENT_FOLD: {
        const wi_fold *fold = &operand->folds[argument->b];
        set_int(b, fold->before.actual);
        set_int(b, fold->size.actual);
        set_int(b, fold->step);
        break;
    }
    case WI_ARGUMENT_DIM: set_int(b, b->step->space.dims[argument->a].actual); break;
    case WI_ARGUMENT_WORK: set_int(b, b->step->work[argument->a]); break;
    case WI_ARGUMENT_FLOAT: set_argument(b, sizeof single, &single); break;
    case WI_ARGUMENT_DOUBLE: set_argument(b, sizeof argument->number, &argument->number); break;
    case WI_ARGUMENT_SCALAR:
    case WI_ARGUMENT_DRAWS:
    case WI_ARGUMENT_TURN:
        note(b, false, (wi_bound_argument){.kind = argument->kind, .which = argument->a});
        set_argument(b, sizeof zero, &zero);
        break;
    case WI_ARGUMENT_SEED:
        set_int(b, (int32_t)(uint32_t)seed);
        set_int(b, (int32_t)(uint32_t)(seed >> 32));
        break;
    case WI_ARGUMENT_SCRATCH: /* the parts of one reduction after those of another */
        set_scratch(b,
            (int64_t)argument->a * (int64_t)argument->number * b->step->work[0] * b->step->work[4],
            (size_t)argument->b);
        break;
    }
}

static void set_kernel(binder *b, const wi_kernel_argument *argument) {
    const wi_step *step = b->step;
    switch (argument->kind) {
    case WI_KERNEL_INPUT:
    case WI_KERNEL_RESULT: {
        const int value =
            argument->kind == WI_KERNEL_INPUT ? step->sources[argument->number] : step->members[0];
        set_memory(b, value);
        set_offset(b, value, b->plan->values[value].layout.offset.actual);
        break;
    }
    case WI_KERNEL_SCRATCH: set_scratch(b, argument->number, sizeof(float)); break;
    case WI_KERNEL_INT: set_int(b, argument->number); break;
    case WI_KERNEL_LONG: set_long(b, argument->number); break;
    case WI_KERNEL_FLOAT: set_argument(b, sizeof argument->real, &argument->real); break;
    case WI_KERNEL_FAULTS: set_faults(b); break;
    case WI_KERNEL_RANDOM:
        set_described(b, &(wi_argument){.kind = WI_ARGUMENT_SEED});
        set_described(b, &(wi_argument){.kind = WI_ARGUMENT_DRAWS});
        break;
    case WI_KERNEL_TURN: set_described(b, &(wi_argument){.kind = WI_ARGUMENT_TURN}); break;
    }
}

/* ---- launches ---- */

static weft_status new_launch(
    weft_plan *plan, const wi_step *step, wi_program *program, const char *kernel, binder *b) {
    WI_TRY(wi_grow(plan->context->allocator, (void **)&plan->launches, &plan->launch_capacity,
        plan->launch_count + 1, sizeof *plan->launches));
    wi_plan_launch *launch = &plan->launches[plan->launch_count++];
    *launch = (wi_plan_launch){.step = step};
    *b = (binder){.plan = plan, .step = step, .launch = launch};
    launch->bound = wi_arena_take(&plan->arena, WI_MAX_ARGUMENTS * sizeof *launch->bound);
    launch->changing = wi_arena_take(&plan->arena, WI_MAX_ARGUMENTS * sizeof *launch->changing);
    if (!launch->bound || !launch->changing) return WEFT_ERROR_MEMORY;
    if (!kernel) return WEFT_OK;
    launch->launch.name = wi_arena_string(&plan->arena, kernel);
    if (!launch->launch.name) return WEFT_ERROR_MEMORY;
    return wi_program_kernel(&launch->launch.kernel, plan->context, program, kernel);
}

static weft_status launch_loop(
    weft_plan *plan, const wi_step *step, const wi_kernel_text *kernel, size_t items, size_t parts) {
    binder b;
    wi_program *const program = kernel == &step->whole ? plan->program : plan->parts_program;
    WI_TRY(new_launch(plan, step, program, kernel->name, &b));
    for (int i = 0; i < kernel->argument_count; i++) set_described(&b, &kernel->arguments[i]);
    const bool cpu = plan->context->caps.device_class == WEFT_CLASS_CPU;
    wi_launch *launch = &b.launch->launch;
    launch->dimensions = parts > 1 ? 2 : 1;
    launch->global[0] = items;
    launch->global[1] = parts;
    launch->global[2] = 1;
    launch->local[0] = cpu ? 1 : 64;
    launch->local[1] = launch->local[2] = 1;
    return b.status;
}

static weft_status launch_kernel(weft_plan *plan, const wi_step *step, const wi_kernel_launch *kernel) {
    binder b;
    char name[96];
    snprintf(name, sizeof name, "%s_%s", step->prefix, kernel->suffix);
    WI_TRY(new_launch(plan, step, plan->program, name, &b));
    for (int i = 0; i < kernel->argument_count; i++) set_kernel(&b, &kernel->arguments[i]);
    for (int i = 0; kernel->has_epilogue && i < step->whole.argument_count; i++)
        set_described(&b, &step->whole.arguments[i]);
    wi_launch *launch = &b.launch->launch;
    launch->dimensions = kernel->dimensions;
    for (int i = 0; i < 3; i++) {
        launch->global[i] = kernel->global[i];
        launch->local[i] = kernel->local[i];
    }
    b.launch->turns = kernel->turns;
    b.launch->together = kernel->together;
    return b.status;
}

static weft_status launch_kernels(weft_plan *plan, const wi_step *step) {
    for (int i = 0; i < step->kernel->count; i++)
        WI_TRY(launch_kernel(plan, step, step->kernel->launches[i]));
    return WEFT_OK;
}

/* A product that a library computes has no kernel: run.c calls the library. */
static weft_status launch_library(weft_plan *plan, const wi_step *step) {
    binder b;
    return new_launch(plan, step, NULL, NULL, &b);
}

static weft_status launch_step(weft_plan *plan, const wi_step *step) {
    if (step->kind == WI_STEP_PRODUCT && !step->implementation->file) return launch_library(plan, step);
    if (step->kind != WI_STEP_LOOP) return launch_kernels(plan, step);
    if (step->work[4] <= 1) return launch_loop(plan, step, &step->whole, step->items, 1);
    /* On a cpu the parts are items of their own, on a gpu a second dimension. */
    const bool cpu = plan->context->caps.device_class == WEFT_CLASS_CPU;
    WI_TRY(launch_loop(plan, step, &step->part, step->items, cpu ? 1 : (size_t)step->work[4]));
    return launch_loop(plan, step, &step->finish, step->finish_items, 1);
}

/* Repetitions included. */
static int count_launches(const wi_kernel_plan *kernel) {
    int count = 0;
    for (int i = 0; i < kernel->count;) {
        const wi_kernel_launch *const launch = kernel->launches[i];
        const bool repeats = launch->turns > 0;
        count += repeats ? (int)launch->turns * launch->together : 1;
        i += repeats ? launch->together : 1;
    }
    return count;
}

void wi_plan_count_launches(weft_plan *plan) {
    for (size_t i = 0; i < plan->step_count; i++) {
        wi_step *step = plan->steps[i];
        const bool library = step->kind == WI_STEP_PRODUCT && !step->implementation->file;
        if (step->kind == WI_STEP_LOOP)
            step->launch_count = step->work[4] > 1 ? 2 : 1;
        else
            step->launch_count = library ? 1 : count_launches(step->kernel);
    }
}

/* Kernels for parts are rarely needed, and compiling costs: they are built when a step is cut. */
static weft_status build_programs(weft_plan *plan) {
    bool whole = false, parts = false;
    for (size_t i = 0; i < plan->step_count; i++) {
        const wi_step *step = plan->steps[i];
        const bool cut = step->kind == WI_STEP_LOOP && step->work[4] > 1;
        parts = parts || cut;
        const bool library = step->kind == WI_STEP_PRODUCT && !step->implementation->file;
        whole = whole || (!cut && !library);
    }
    if (whole) WI_TRY(wi_program_get(&plan->program, plan->context, "plan", plan->source.data, NULL));
    if (parts)
        WI_TRY(wi_program_get(
            &plan->parts_program, plan->context, "plan (parts)", plan->parts_source.data, NULL));
    return WEFT_OK;
}

weft_status wi_plan_launches(weft_plan *plan) {
    WI_TRY(build_programs(plan));
    for (size_t i = 0; i < plan->step_count; i++) WI_TRY(launch_step(plan, plan->steps[i]));
    return WEFT_OK;
}
