/* A run enqueues the prepared launches. It allocates no memory and builds no strings. */
#include "base/platform.h"
#include "base/process.h"
#include "cl/compile_processes.h"
#include "cl/device_copy.h"
#include "cl/device_progress.h"
#include "cl/driver.h"
#include "cl/program.h"
#include "cl/quirks.h"
#include "cl/waiting.h"
#include "graph/block_copies.h"
#include "kernels/candidates.h"
#include "plan/arrange/loads.h"
#include "plan/run/early_reads.h"
#include "plan/run/profiler.h"

static float scalar_value(weft_graph *graph, int index) {
    wi_scalar *scalar = &graph->scalars[index];
    return scalar->rule ? (float)scalar->rule(scalar, &graph->clocks[scalar->clock]) : scalar->value;
}

static weft_status set_changing(const weft_plan *plan, const wi_plan_launch *launch, int64_t iteration) {
    for (int i = 0; i < launch->changing_count; i++) {
        const wi_bound_argument *argument = &launch->changing[i];
        const float number =
            argument->kind == WI_ARGUMENT_SCALAR ? scalar_value(plan->request.graph, argument->which) : 0;
        const cl_uint whole = argument->kind == WI_ARGUMENT_ITERATION ? (cl_uint)iteration
                                                                      : (cl_uint)plan->request.graph->draws;
        const void *value =
            argument->kind == WI_ARGUMENT_SCALAR ? (const void *)&number : (const void *)&whole;
        WI_CL(clSetKernelArg(launch->launch.kernel, (cl_uint)argument->index, 4, value), "clSetKernelArg");
    }
    return WEFT_OK;
}

/* The offset of a value's first element, in elements, and its memory. */
static size_t locate(const weft_plan *plan, const wi_run *run, int value, cl_mem *memory) {
    const wi_location at = wi_locate_value(&plan->memory, run, value);
    *memory = at.memory;
    const wi_value *const own = &plan->partition.values[value];
    const size_t size = weft_dtype_size(own->format);
    return (at.offset + (size_t)own->layout->offset.actual * size) / size;
}

/* A product that a library computes. */
static weft_status run_library(weft_plan *plan, const wi_run *run, cl_event *event) {
    const wi_step *step = run->step;
    cl_mem a, b, c;
    const size_t a_offset = locate(plan, run, step->sources[0], &a),
                 b_offset = locate(plan, run, step->sources[1], &b),
                 c_offset = locate(plan, run, step->members[0], &c);
    return step->selection->chosen->run(
        wi_step_device(&plan->partition, step), &step->gemm, a, a_offset, b, b_offset, c, c_offset, event);
}

static wi_device_range range_of(const weft_plan *plan, const wi_run *run, int value, int device) {
    const wi_value *own = &plan->partition.values[value];
    const wi_location at = wi_locate_value(&plan->memory, run, value);
    return (wi_device_range){.device = plan->request.devices.of[device],
        .memory = at.memory,
        .offset = at.offset + (size_t)own->layout->offset.actual * weft_dtype_size(own->format)};
}

static weft_status run_transfer(const weft_plan *plan, const wi_run *run, cl_event *event) {
    const wi_step *step = run->step;
    const wi_partition *p = &plan->partition;
    const wi_value *copy = &p->values[step->members[0]];
    const wi_device_range from = range_of(plan, run, copy->member.copy_of, wi_transfer_from(p, step)),
                          to = range_of(plan, run, step->members[0], step->device);
    return wi_device_copy(&to, &from, wi_value_bytes(copy), event);
}

/* Copies a part of a block from host memory to the device, or back. */
static weft_status run_load(const weft_plan *plan, const wi_plan_launch *launch, cl_event *event) {
    const wi_load *const load = launch->load;
    const wi_block *const block = &plan->request.graph->blocks[plan->partition.storages[load->storage].block];
    const wi_location at = wi_locate_place(&plan->memory, load->place);
    const wi_device_range host = {launch->device, block->buffer.memory, load->first},
                          own = {launch->device, at.memory, at.offset};
    return launch->stores ? wi_device_copy(&host, &own, load->bytes, event)
                          : wi_device_copy(&own, &host, load->bytes, event);
}

static weft_status enqueue(
    weft_plan *plan, const wi_plan_launch *launch, int portion, int64_t iteration, cl_event *event) {
    if (launch->load) return run_load(plan, launch, event);
    if (launch->run->step->kind == WI_STEP_TRANSFER) return run_transfer(plan, launch->run, event);
    if (!launch->launch.kernel) return run_library(plan, launch->run, event);
    if (launch->changing_count > 0) WI_TRY(set_changing(plan, launch, iteration));
    return wi_launch_run_portion(&launch->launch, portion, launch->device, event);
}

/* Adds the step to the message of an error, because only the plan knows to which step a kernel or copy belongs. */
static weft_status name_step(const weft_plan *plan, const wi_run *run, weft_status status) {
    char error[1024];
    wi_text ops;
    wi_error_save(error, sizeof error);
    wi_text_init(&ops, plan->request.allocator);
    wi_step_append_ops(plan, run->step, &ops);
    status = wi_fail(status, "plan: step %d (%s) on device %d: %s", run->step->index,
        ops.failed ? "" : ops.data, plan->request.devices.of[run->step->device]->index, error);
    wi_text_clear(&ops);
    return status;
}

static weft_status run_portion(
    weft_plan *plan, const wi_plan_launch *launch, int portion, int64_t iteration) {
    wi_profiled *const noted = plan->profiler ? wi_profiler_next(plan->profiler, launch) : NULL;
    const weft_status status = enqueue(plan, launch, portion, iteration, noted ? &noted->event : NULL);
    if (status != WEFT_OK) return name_step(plan, launch->run, status);
    if (noted) noted->end = wi_clock_seconds();
    return WEFT_OK;
}

static weft_status run_launch(weft_plan *plan, const wi_plan_launch *launch, int64_t iteration) {
    for (int portion = 0; portion < wi_launch_portions(&launch->launch); portion++)
        WI_TRY(run_portion(plan, launch, portion, iteration));
    return WEFT_OK;
}

/* Runs a launch, or a group of launches that are repeated together. */
static weft_status run_iterations(weft_plan *plan, const wi_plan_launch *launch) {
    if (launch->iterations <= 0) return run_launch(plan, launch, 0);
    for (int64_t iteration = 0; iteration < launch->iterations; iteration++)
        for (int i = 0; i < launch->launches_per_iteration; i++)
            WI_TRY(run_launch(plan, launch + i, iteration));
    return WEFT_OK;
}

/* Some drivers compile in a thread after the enqueueing call returns, so the queue must finish before the kernel counts as compiled. */
static weft_status count_kernel(const wi_plan_launch *launch) {
    if (!launch->first_use) return WEFT_OK;
    WI_TRY(wi_queue_finish(launch->device));
    wi_progress_add(launch->device, 1);
    return WEFT_OK;
}

/* Some drivers compile at the first launch, so binaries are complete only after the first run. Fetching them may take a second, so this
 * is done at the second run. If a plan runs only once, the context fetches them when it is released. */
static weft_status keep_binaries(weft_plan *plan) {
    WI_TRY(wi_plan_finish_queues(plan));
    for (int d = 0; d < plan->request.devices.count; d++) wi_programs_keep(plan->request.devices.of[d]);
    return WEFT_OK;
}

static weft_status check_inputs(weft_plan *plan) {
    const wi_partition *p = &plan->partition;
    for (size_t i = 0; i < p->value_count && !plan->inputs_known; i++) {
        const wi_value *const value = &p->values[i];
        if (value->node->op != &wi_op_input || value->state != WI_VALUE_MEMORY) continue;
        const wi_place_memory *const own = &plan->memory.of[value->storage];
        if (!own->written && own->memory == own->buffer.memory)
            WI_FAIL(WEFT_ERROR_STATE,
                "weft_plan_run: the input '%s' was never written: call weft_plan_write or weft_plan_bind "
                "first",
                weft_tensor_name(value->node));
    }
    plan->inputs_known = true;
    return WEFT_OK;
}

weft_status wi_plan_begin_run(weft_plan *plan) {
    weft_graph *graph = plan->request.graph;
    const wi_partition *p = &plan->partition;
    WI_TRY(wi_process_check_driver());
    WI_TRY(wi_plan_compile(plan));
    if (p->trains && graph->swapped)
        WI_FAIL(WEFT_ERROR_STATE, "weft_plan_run: the parameters hold their average; call weft_average_swap "
                                  "to swap them back before training");
    WI_TRY(check_inputs(plan));
    for (size_t i = 0; i < graph->clock_count; i++)
        if (p->clocks >> i & 1) wi_clock_run(&graph->clocks[i]);
    graph->draws += p->draws || plan->schedule.draws;
    if (plan->run_count == 1) WI_TRY(keep_binaries(plan));
    if (plan->run_count > 0)
        for (int d = 0; d < plan->request.devices.count; d++)
            wi_compile_processes_reap(plan->request.devices.of[d]);
    plan->run_count++;
    return WEFT_OK;
}

/* The number of writes to the blocks with the plan's variables. */
static uint64_t count_writes(const weft_plan *plan) {
    const wi_partition *p = &plan->partition;
    uint64_t writes = 0;
    for (size_t i = 0; i < p->storage_count; i++) {
        const wi_storage *storage = &p->storages[i];
        if (storage->kind != WI_STORAGE_BLOCK) continue;
        writes += wi_block_writes_on(plan->request.graph, storage->block, plan->request.devices.of[0]);
    }
    return writes;
}

static void note_writes(const weft_plan *plan) {
    const wi_partition *p = &plan->partition;
    for (size_t i = 0; i < p->storage_count; i++) {
        const wi_storage *storage = &p->storages[i];
        if (storage->kind == WI_STORAGE_BLOCK && p->assigned[storage->block])
            wi_block_written_on(plan->request.graph, storage->block, plan->request.devices.of[0]);
    }
}

static weft_status walk(weft_plan *plan, bool skips_fixed, bool counts) {
    const wi_launches *launches = &plan->launches;
    for (size_t i = 0; i < launches->count;) {
        const wi_plan_launch *launch = &launches->launches[i];
        const size_t together = launch->iterations > 0 ? (size_t)launch->launches_per_iteration : 1;
        WI_TRY(wi_early_reads_advance(plan, launch->run->index));
        if (!(launch->is_fixed && skips_fixed)) WI_TRY(run_iterations(plan, launch));
        for (size_t k = 0; counts && k < together; k++) WI_TRY(count_kernel(launch + k));
        i += together;
    }
    return WEFT_OK;
}

/* Reports progress in the first run if the context wants that. Not with several devices, whose queues may wait for one another. */
static weft_status walk_new(weft_plan *plan, bool skips_fixed) {
    wi_device *const device = plan->request.devices.of[0];
    const size_t count = plan->launches.new_kernels;
    const bool counts = count > 0 && plan->request.devices.count == 1 && wi_progress_is_asked(device);
    plan->launches.new_kernels = 0;
    if (counts) wi_progress_begin(device, count, "kernels");
    const weft_status status = walk(plan, skips_fixed, counts);
    if (counts) wi_progress_end(device);
    return status;
}

weft_status wi_plan_walk(weft_plan *plan) {
    const bool skips = plan->fixed_is_known && count_writes(plan) == plan->fixed_writes;
    note_writes(plan); /* fixed launches do not read the blocks that the plan writes */
    const uint64_t writes = count_writes(plan);
    plan->fixed_is_known = false;
    WI_TRY(walk_new(plan, skips));
    for (int d = 0; d < plan->request.devices.count; d++) WI_TRY(wi_queue_flush(plan->request.devices.of[d]));
    plan->fixed_is_known = true;
    plan->fixed_writes = writes;
    return plan->after ? weft_plan_run(plan->after) : WEFT_OK;
}

weft_status weft_plan_run(weft_plan *plan) {
    if (!plan) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_plan_run: plan is NULL");
    WI_TRY(wi_plan_begin_run(plan));
    return wi_plan_walk(plan);
}
