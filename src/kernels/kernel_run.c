/* Kernel ops outside of plans (contract in kernel_run.h). */
#include "kernels/kernel_run.h"
#include "cl/device_progress.h"
#include "cl/driver.h"
#include "cl/kernel_source.h"
#include "cl/launch.h"
#include "cl/program.h"
#include <stdio.h>

/* Of one op. */
typedef struct run {
    wi_device *device;
    const wi_kernel_operands *operands;
    wi_kernel_plan plan;
    wi_buffer scratch, faults;
    wi_program *program;
    char name[WI_PIECE_NAME];
    double seconds;   /* of all launches, estimated */
    cl_kernel kernel; /* whose arguments are set, */
    cl_uint next;     /* the next of them, */
    int iteration;    /* and that of the repetition's number; -1: none */
} run;

/* ---- the program ---- */

static weft_status build(run *r, const wi_text *piece, wi_cache_key key) {
    wi_text source;
    weft_status status;
    wi_text_init(&source, r->device->host.allocator);
    WI_TRY_DONE(wi_kernel_source_include(&source, "common.clh"));
    wi_text_append(&source, "#define WEFT_NAME(suffix) %s_##suffix\n", r->name);
    wi_text_append_bytes(&source, piece->data, piece->length);
    wi_text_append(&source, "#undef WEFT_NAME\n");
    if (source.failed)
        WI_FAIL_DONE(WEFT_ERROR_MEMORY, "out of host memory for the source of %s", r->plan.file);
    WI_TRY_DONE(wi_program_get(&r->program, r->device, "plan", source.data, NULL));
    status = wi_program_add_piece(r->device, r->program, key);
done:
    wi_text_clear(&source);
    return status;
}

static weft_status find_program(run *r, const wi_text *piece) {
    const wi_cache_key hash = wi_text_key(piece->data, piece->length);
    wi_cache_key key;
    wi_text common;
    wi_text_init(&common, r->device->host.allocator);
    weft_status status = wi_kernel_source_include(&common, "common.clh");
    if (status == WEFT_OK)
        status = wi_program_piece_key(&key, r->device, wi_text_key(common.data, common.length), hash);
    wi_text_clear(&common);
    WI_TRY(status);
    wi_piece_name(r->name, hash);
    WI_TRY(wi_program_find_piece(&r->program, r->device, "plan", key));
    return r->program ? WEFT_OK : build(r, piece, key);
}

static weft_status compile(run *r) {
    wi_text piece;
    wi_text_init(&piece, r->device->host.allocator);
    weft_status status = wi_kernel_template_append(&r->plan, &piece);
    if (status == WEFT_OK && piece.failed) status = WEFT_ERROR_MEMORY;
    if (status == WEFT_OK) status = find_program(r, &piece);
    wi_text_clear(&piece);
    return status;
}

/* ---- arguments ---- */

static weft_status set(run *r, size_t bytes, const void *value) {
    WI_CL(clSetKernelArg(r->kernel, r->next++, bytes, value), "clSetKernelArg");
    return WEFT_OK;
}

static weft_status set_int(run *r, int64_t number) {
    const cl_int value = (cl_int)number;
    return set(r, sizeof value, &value);
}

static weft_status set_memory(run *r, const wi_buffer *buffer, int64_t offset) {
    const cl_long elements = offset;
    WI_TRY(set(r, sizeof buffer->memory, &buffer->memory));
    return set(r, sizeof elements, &elements);
}

/* The seed's halves, and the number of the run. */
static weft_status set_random(run *r) {
    WI_TRY(set_int(r, (int32_t)(uint32_t)r->operands->seed));
    WI_TRY(set_int(r, (int32_t)(uint32_t)(r->operands->seed >> 32)));
    return set_int(r, 0);
}

static weft_status set_argument(run *r, const wi_kernel_argument *argument) {
    const cl_long large = argument->number;
    switch (argument->kind) {
    case WI_KERNEL_INPUT: return set_memory(r, &r->operands->inputs[argument->number], 0);
    case WI_KERNEL_RESULT: return set_memory(r, &r->operands->result, 0);
    case WI_KERNEL_SCRATCH: return set_memory(r, &r->scratch, argument->number);
    case WI_KERNEL_INT: return set_int(r, argument->number);
    case WI_KERNEL_LONG: return set(r, sizeof large, &large);
    case WI_KERNEL_FLOAT: return set(r, sizeof argument->real, &argument->real);
    case WI_KERNEL_FAULTS: return set_memory(r, &r->faults, 0);
    case WI_KERNEL_RANDOM: return set_random(r);
    case WI_KERNEL_ITERATION: r->iteration = (int)r->next++; return WEFT_OK;
    }
    WI_FAIL(WEFT_ERROR_INTERNAL, "%s: an argument of no kind", r->plan.file);
}

/* ---- launches ---- */

static weft_status prepare_launch(run *r, wi_launch *launch, const wi_kernel_launch *from) {
    char name[WI_PIECE_NAME + 64];
    snprintf(name, sizeof name, "%s_%s", r->name, from->suffix);
    *launch = (wi_launch){.dimensions = from->dimensions, .name = r->plan.file};
    for (int i = 0; i < 3; i++) {
        launch->global[i] = from->global[i];
        launch->local[i] = from->local[i];
    }
    wi_launch_cut(launch, r->seconds, r->device->profile.longest_launch, from->whole);
    WI_TRY(wi_program_kernel(&launch->kernel, r->program, name));
    r->kernel = launch->kernel;
    r->next = 0;
    r->iteration = -1;
    for (int i = 0; i < from->argument_count; i++) WI_TRY(set_argument(r, &from->arguments[i]));
    return WEFT_OK;
}

static weft_status launch_one(run *r, const wi_kernel_launch *from, int64_t iteration) {
    const cl_int number = (cl_int)iteration;
    wi_launch launch = {0};
    weft_status status = prepare_launch(r, &launch, from);
    if (status == WEFT_OK && r->iteration >= 0) {
        r->next = (cl_uint)r->iteration;
        status = set(r, sizeof number, &number);
    }
    if (status == WEFT_OK) status = wi_launch_run(&launch, r->device);
    wi_launch_clear(&launch);
    return status;
}

static weft_status launch_all(run *r) {
    for (int i = 0, together; i < r->plan.count; i += together) {
        const wi_kernel_launch *const first = r->plan.launches[i];
        together = first->iterations > 0 ? first->launches_per_iteration : 1;
        for (int64_t iteration = 0; iteration == 0 || iteration < first->iterations; iteration++)
            for (int k = i; k < i + together; k++) WI_TRY(launch_one(r, r->plan.launches[k], iteration));
    }
    return wi_queue_finish(r->device);
}

/* An argument of scratch memory has a buffer, also where nothing is in it. */
static weft_status run_prepared(run *r) {
    const size_t bytes = r->plan.scratch_bytes > 0 ? r->plan.scratch_bytes : sizeof(float);
    weft_status status;
    WI_TRY_DONE(wi_buffer_create(&r->scratch, r->device, bytes));
    WI_TRY_DONE(wi_buffer_create(&r->faults, r->device, sizeof(cl_int)));
    WI_TRY_DONE(wi_buffer_fill_zero(r->device, r->faults.memory, 0, sizeof(cl_int)));
    wi_progress_begin(r->device, 1, r->plan.file);
    status = compile(r);
    if (status == WEFT_OK) status = launch_all(r);
    wi_progress_end(r->device);
done:
    wi_buffer_release(&r->scratch, r->device);
    wi_buffer_release(&r->faults, r->device);
    return status;
}

weft_status wi_kernel_run(wi_device *device, const wi_implementation *implementation,
    const wi_variant *variant, const wi_kernel_site *site, const wi_kernel_operands *operands) {
    run r = {.device = device,
        .operands = operands,
        .seconds = wi_implementation_cost(implementation, variant, site)};
    wi_arena arena;
    wi_arena_init(&arena, device->host.allocator);
    weft_status status = wi_implementation_prepare(implementation, variant, site, &arena, &r.plan);
    if (status == WEFT_OK) status = run_prepared(&r);
    wi_arena_clear(&arena);
    return status;
}
