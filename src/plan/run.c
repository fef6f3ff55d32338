/* The step loop: a walk over prepared launches. Nothing is allocated, hashed or printed here. */
#include "plan/profiler.h"

static float scalar_value(weft_graph *graph, int index) {
    wi_scalar *scalar = &graph->scalars[index];
    return scalar->rule ? (float)scalar->rule(scalar, &graph->clocks[scalar->clock]) : scalar->value;
}

static weft_status set_changing(const weft_plan *plan, const wi_plan_launch *launch, int64_t turn) {
    for (int i = 0; i < launch->changing_count; i++) {
        const wi_bound_argument *argument = &launch->changing[i];
        const float number =
            argument->kind == WI_ARGUMENT_SCALAR ? scalar_value(plan->graph, argument->which) : 0;
        const cl_uint whole =
            argument->kind == WI_ARGUMENT_TURN ? (cl_uint)turn : (cl_uint)plan->graph->draws;
        const void *value =
            argument->kind == WI_ARGUMENT_SCALAR ? (const void *)&number : (const void *)&whole;
        WI_CL(clSetKernelArg(launch->launch.kernel, (cl_uint)argument->index, 4, value), "clSetKernelArg");
    }
    return WEFT_OK;
}

/* A product that a library computes. */
static weft_status run_library(weft_plan *plan, const wi_step *step, cl_event *event) {
    size_t offset[3];
    cl_mem memory[3];
    const int values[3] = {step->sources[0], step->sources[1], step->members[0]};
    for (int i = 0; i < 3; i++) {
        const wi_storage *storage = wi_plan_storage(plan, wi_plan_base_storage(plan, values[i]), &offset[i]);
        memory[i] = storage->memory;
        offset[i] = offset[i] / sizeof(float) + (size_t)plan->values[values[i]].layout.offset.actual;
    }
    return step->implementation->run(
        plan->context, &step->gemm, memory[0], offset[0], memory[1], offset[1], memory[2], offset[2], event);
}

static weft_status enqueue(weft_plan *plan, const wi_plan_launch *launch, int64_t turn, cl_event *event) {
    if (!launch->launch.kernel) return run_library(plan, launch->step, event);
    if (launch->changing_count > 0) WI_TRY(set_changing(plan, launch, turn));
    return wi_launch_run_event(&launch->launch, wi_context_device(plan->context), event);
}

static weft_status run_launch(weft_plan *plan, const wi_plan_launch *launch, int64_t turn) {
    wi_profiled *const noted = plan->profiler ? wi_profiler_next(plan->profiler, launch) : NULL;
    WI_TRY(enqueue(plan, launch, turn, noted ? &noted->event : NULL));
    if (noted) noted->end = wi_clock_seconds();
    return WEFT_OK;
}

/* A launch, or those that are repeated together with it. */
static weft_status run_turns(weft_plan *plan, const wi_plan_launch *launch) {
    if (launch->turns <= 0) return run_launch(plan, launch, 0);
    for (int64_t turn = 0; turn < launch->turns; turn++)
        for (int i = 0; i < launch->together; i++) WI_TRY(run_launch(plan, launch + i, turn));
    return WEFT_OK;
}

/* Some drivers compile at the first launch, so binaries are complete once the first run is over; fetching
 * them may take a second, so it waits for the second run. A plan that runs once leaves it to the context's
 * end. */
static weft_status keep_binaries(weft_plan *plan) {
    WI_TRY(wi_queue_finish(wi_context_device(plan->context)));
    wi_programs_keep(wi_context_device(plan->context));
    return WEFT_OK;
}

weft_status wi_plan_begin_run(weft_plan *plan) {
    WI_TRY(wi_plan_compile(plan));
    if (plan->trains && plan->graph->swapped)
        WI_FAIL(WEFT_ERROR_STATE,
            "weft_plan_run: the parameters hold their average; weft_average_swap them back before training");
    for (size_t i = 0; i < plan->graph->clock_count; i++)
        plan->graph->clocks[i].runs += plan->clocks >> i & 1;
    plan->graph->draws += plan->draws;
    if (plan->run_count == 1) WI_TRY(keep_binaries(plan));
    plan->run_count++;
    return WEFT_OK;
}

weft_status wi_plan_walk(weft_plan *plan) {
    for (size_t i = 0; i < plan->launch_count;) {
        const wi_plan_launch *launch = &plan->launches[i];
        WI_TRY(run_turns(plan, launch));
        i += launch->turns > 0 ? (size_t)launch->together : 1;
    }
    return wi_queue_flush(wi_context_device(plan->context));
}

weft_status weft_plan_run(weft_plan *plan) {
    if (!plan) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_plan_run: plan is NULL");
    WI_TRY(wi_plan_begin_run(plan));
    return wi_plan_walk(plan);
}

weft_status weft_plan_wait(weft_plan *plan) {
    if (!plan) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_plan_wait: plan is NULL");
    WI_TRY(wi_queue_finish(wi_context_device(plan->context)));
    return wi_plan_check_faults(plan);
}
