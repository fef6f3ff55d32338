/* Kernels outside of plans (contract in kernel_run.h). */
#include "kernels/kernel_run.h"
#include "cl/device_progress.h"
#include "cl/driver.h"
#include "cl/kernel_source.h"
#include "cl/program.h"
#include <stdio.h>

/* ---- arguments ---- */

static weft_status set(wi_prepared_launch *l, size_t bytes, const void *value) {
    WI_CL(clSetKernelArg(l->launch.kernel, l->arguments++, bytes, value), "clSetKernelArg");
    return WEFT_OK;
}

static weft_status set_int(wi_prepared_launch *l, int64_t number) {
    const cl_int value = (cl_int)number;
    return set(l, sizeof value, &value);
}

static weft_status set_memory(wi_prepared_launch *l, cl_mem memory, int64_t offset) {
    const cl_long elements = offset;
    WI_TRY(set(l, sizeof memory, &memory));
    return set(l, sizeof elements, &elements);
}

static weft_status set_place(wi_prepared_launch *l, wi_kernel_place place) {
    return set_memory(l, place.memory, place.offset);
}

static weft_status set_random(wi_prepared_launch *l, uint64_t seed) {
    WI_TRY(set_int(l, (int32_t)(uint32_t)seed));
    WI_TRY(set_int(l, (int32_t)(uint32_t)(seed >> 32)));
    return set_int(l, 0);
}

static weft_status set_argument(
    wi_prepared_launch *l, const wi_kernel_run *run, const wi_kernel_argument *argument) {
    const cl_long large = argument->number;
    switch (argument->kind) {
    case WI_KERNEL_INPUT: return set_place(l, run->operands.inputs[argument->number]);
    case WI_KERNEL_RESULT: return set_place(l, run->operands.result);
    case WI_KERNEL_SCRATCH: return set_memory(l, run->scratch.memory, argument->number);
    case WI_KERNEL_INT: return set_int(l, argument->number);
    case WI_KERNEL_LONG: return set(l, sizeof large, &large);
    case WI_KERNEL_FLOAT: return set(l, sizeof argument->real, &argument->real);
    case WI_KERNEL_FAULTS: return set_place(l, run->operands.faults);
    case WI_KERNEL_RANDOM: return set_random(l, run->operands.seed);
    case WI_KERNEL_ITERATION: l->iteration = (int)l->arguments++; return WEFT_OK;
    }
    WI_FAIL(WEFT_ERROR_INTERNAL, "%s: a kernel's argument has no kind", run->name);
}

/* ---- launches ---- */

static weft_status prepare_launch(
    wi_kernel_run *run, const wi_kernel_launch *from, wi_program *program, const char *prefix) {
    wi_prepared_launch *const l = &run->launches[run->count++];
    char name[WI_PIECE_NAME + 64];
    snprintf(name, sizeof name, "%s_%s", prefix, from->suffix);
    *l = (wi_prepared_launch){.launch = {.dimensions = from->dimensions, .name = run->name},
        .iteration = -1,
        .iterations = from->iterations,
        .launches_per_iteration = from->launches_per_iteration};
    for (int i = 0; i < 3; i++) {
        l->launch.global[i] = from->global[i];
        l->launch.local[i] = from->local[i];
    }
    wi_launch_cut(&l->launch, run->seconds, run->device->profile.longest_launch, from->whole);
    WI_TRY(wi_program_kernel(&l->launch.kernel, program, name));
    for (int i = 0; i < from->argument_count; i++) WI_TRY(set_argument(l, run, &from->arguments[i]));
    return WEFT_OK;
}

/* Scratch memory is never empty, because kernels may have an argument for scratch memory that they do not use. */
weft_status wi_kernel_run_prepare(
    wi_kernel_run *run, const wi_kernel_plan *plan, wi_program *program, const char *prefix) {
    const size_t bytes = plan->scratch_bytes > 0 ? plan->scratch_bytes : sizeof(float);
    WI_TRY(wi_buffer_create(&run->scratch, run->device, bytes));
    for (int i = 0; i < plan->count; i++) WI_TRY(prepare_launch(run, plan->launches[i], program, prefix));
    return WEFT_OK;
}

static weft_status enqueue(const wi_prepared_launch *l, int64_t iteration, wi_device *device) {
    const cl_int number = (cl_int)iteration;
    if (l->iteration >= 0)
        WI_CL(clSetKernelArg(l->launch.kernel, (cl_uint)l->iteration, sizeof number, &number),
            "clSetKernelArg");
    return wi_launch_run(&l->launch, device);
}

weft_status wi_kernel_run_enqueue(const wi_kernel_run *run) {
    for (int i = 0, together; i < run->count; i += together) {
        const wi_prepared_launch *const first = &run->launches[i];
        together = first->iterations > 0 ? first->launches_per_iteration : 1;
        for (int64_t iteration = 0; iteration == 0 || iteration < first->iterations; iteration++)
            for (int k = 0; k < together; k++) WI_TRY(enqueue(&first[k], iteration, run->device));
    }
    return WEFT_OK;
}

void wi_kernel_run_clear(wi_kernel_run *run) {
    for (int i = 0; i < run->count; i++) wi_launch_clear(&run->launches[i].launch);
    wi_buffer_release(&run->scratch, run->device);
}

/* ---- kernel ops ---- */

static weft_status build(
    wi_program **program, wi_device *device, const wi_text *piece, wi_cache_key key, const char *name) {
    wi_text source;
    weft_status status;
    wi_text_init(&source, device->host.allocator);
    WI_TRY_DONE(wi_kernel_source_include(&source, "common.clh"));
    wi_text_append(&source, "#define WEFT_NAME(suffix) %s_##suffix\n", name);
    wi_text_append_bytes(&source, piece->data, piece->length);
    wi_text_append(&source, "#undef WEFT_NAME\n");
    if (source.failed) WI_FAIL_DONE(WEFT_ERROR_MEMORY, "out of host memory for the source of a kernel");
    WI_TRY_DONE(wi_program_get(program, device, "plan", source.data, NULL));
    status = wi_program_add_piece(device, *program, key);
done:
    wi_text_clear(&source);
    return status;
}

static weft_status find_program(
    wi_program **program, char name[WI_PIECE_NAME], wi_device *device, const wi_text *piece) {
    const wi_cache_key hash = wi_text_key(piece->data, piece->length);
    wi_cache_key key;
    wi_text common;
    wi_text_init(&common, device->host.allocator);
    weft_status status = wi_kernel_source_include(&common, "common.clh");
    if (status == WEFT_OK)
        status = wi_program_piece_key(&key, device, wi_text_key(common.data, common.length), hash);
    wi_text_clear(&common);
    WI_TRY(status);
    wi_piece_name(name, hash);
    WI_TRY(wi_program_find_piece(program, device, "plan", key));
    return *program ? WEFT_OK : build(program, device, piece, key, name);
}

static weft_status compile(
    wi_program **program, char name[WI_PIECE_NAME], wi_device *device, const wi_kernel_plan *plan) {
    wi_text piece;
    wi_text_init(&piece, device->host.allocator);
    weft_status status = wi_kernel_template_append(plan, &piece);
    if (status == WEFT_OK && piece.failed) status = WEFT_ERROR_MEMORY;
    if (status == WEFT_OK) status = find_program(program, name, device, &piece);
    wi_text_clear(&piece);
    return status;
}

static weft_status run_plan(wi_kernel_run *run, const wi_kernel_plan *plan) {
    char name[WI_PIECE_NAME];
    wi_program *program = NULL;
    WI_TRY(compile(&program, name, run->device, plan));
    WI_TRY(wi_kernel_run_prepare(run, plan, program, name));
    WI_TRY(wi_kernel_run_enqueue(run));
    return wi_queue_finish(run->device);
}

static weft_status run_with_faults(wi_kernel_run *run, const wi_kernel_plan *plan) {
    wi_buffer faults = {0};
    weft_status status;
    WI_TRY_DONE(wi_buffer_create(&faults, run->device, sizeof(cl_int)));
    WI_TRY_DONE(wi_buffer_fill_zero(run->device, faults.memory, 0, sizeof(cl_int)));
    run->operands.faults.memory = faults.memory;
    wi_progress_begin(run->device, 1, plan->file);
    status = run_plan(run, plan);
    wi_progress_end(run->device);
    wi_kernel_run_clear(run);
done:
    wi_buffer_release(&faults, run->device);
    return status;
}

weft_status wi_kernel_op_run(wi_device *device, const wi_implementation *implementation,
    const wi_variant *variant, const wi_kernel_site *site, const wi_kernel_operands *operands) {
    wi_kernel_run run = {.device = device,
        .name = implementation->file,
        .seconds = wi_implementation_cost(implementation, variant, site),
        .operands = *operands};
    wi_kernel_plan plan;
    wi_arena arena;
    wi_arena_init(&arena, device->host.allocator);
    weft_status status = wi_implementation_prepare(implementation, variant, site, &arena, &plan);
    if (status == WEFT_OK) status = run_with_faults(&run, &plan);
    wi_arena_clear(&arena);
    return status;
}
