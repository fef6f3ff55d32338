/* Creates a plan by running the passes in order, and releases it. */
#include "cl/context.h"
#include "plan/compiled_plan.h"

#include "base/options.h"
#include "base/process.h"
#include "graph/attempt.h"
#include "graph/sizes.h"
#include "kernels/forced.h"
#include "plan/verify/verify.h"
#include <stdio.h>
#include <string.h>

static void plan_destroy(weft_plan *plan) {
    weft_context *context = plan->request.context;
    weft_graph *graph = plan->owns_graph ? plan->request.graph : NULL;
    wi_plan_finish_after_error(plan); /* kernels may still use the memory that is released below */
    weft_plan_release(plan->after);
    wi_launches_clear(&plan->launches);
    wi_plan_memory_clear(&plan->memory);
    wi_code_clear(&plan->code);
    wi_partition_clear(&plan->partition);
    wi_node_order_clear(&plan->order);
    wi_arena_clear(&plan->arena);
    wi_release(context->allocator, plan);
    weft_graph_release(graph);
}

/* ---- the passes ---- */

static void sum_up_transfer(weft_plan *plan, const wi_step *step) {
    if (!wi_changes_device(&plan->partition, step)) return;
    plan->transfers++;
    plan->transfer_bytes += wi_value_bytes(&plan->partition.values[step->members[0]]);
}

static void sum_up_steps(weft_plan *plan, weft_plan_info *info) {
    for (size_t i = 0; i < plan->runs.run_count; i++) {
        const wi_step *step = plan->runs.runs[i].step;
        sum_up_transfer(plan, step);
        const wi_step_schedule *schedule = &plan->schedule.of[step->index];
        const int left_out = wi_launches_left_out(&plan->schedule, &plan->placement, &plan->runs.runs[i]);
        info->launches += (size_t)(schedule->launch_count - left_out - schedule->fixed_launches);
        plan->fixed_launches += (size_t)schedule->fixed_launches;
        info->flops += schedule->flops;
        info->bytes_moved += schedule->bytes_moved;
        info->conversions += step->only_moves;
        const wi_layout_conversions changes = wi_count_layout_conversions(&plan->loops, step);
        info->layout_conversions += (size_t)(changes.to_last + changes.to_first);
    }
}

static void sum_up_rematerialised(const wi_materialised *runs, weft_plan_info *info) {
    info->rematerialised_steps = runs->again_count;
    info->rematerialised_bytes = runs->freed;
    info->rematerialised_flops = runs->flops;
    info->rematerialised_seconds = runs->seconds;
}

static void sum_up(weft_plan *plan) {
    weft_plan_info *info = &plan->info;
    info->batch = plan->request.batch;
    info->length = plan->request.given.values ? plan->request.given.values[WI_SYMBOL_LENGTH] : 0;
    info->micro_batches = plan->request.devices.share_batch ? 1 : plan->request.micro_batches;
    info->steps = plan->runs.run_count;
    info->kernels = plan->code.piece_count;
    info->arena_bytes = plan->placement.arena_bytes;
    info->io_bytes = plan->placement.io_bytes + plan->memory.spare_bytes;
    info->arena_lower_bound = plan->placement.lower_bound;
    info->variable_bytes = wi_graph_variable_bytes(plan->request.graph);
    info->host_bytes = wi_graph_host_bytes(plan->request.graph);
    info->loaded_bytes = plan->runs.loaded_bytes;
    info->total_bytes = info->arena_bytes + info->io_bytes;
    sum_up_steps(plan, info);
    sum_up_rematerialised(&plan->runs, info);
}

/* Warns about a plan without parameter updates that nevertheless uses dropout or updates running statistics. */
static void tell_of_training(const weft_plan *plan) {
    weft_graph *const graph = plan->request.graph;
    const wi_node_order *const order = &plan->order;
    char text[WI_NODE_TEXT];
    if (!order->in_training || plan->partition.trains || graph->told_of_training) return;
    graph->told_of_training = true;
    wi_log_line(&plan->request.context->log, WEFT_LOG_WARNING,
        "plan: it updates no parameter but computes %s (%s) as in training: set inference in "
        "weft_plan_options, or create the layer in a scope with weft_scope_inference",
        order->in_training->op->name, wi_node_print(order->names_it, text));
}

static weft_status build(weft_plan *plan, const weft_plan_options *options) {
    plan->verifies = wi_verify_is_on();
    WI_TRY(wi_process_check_driver());
    WI_TRY(wi_dump_begin(&plan->dump, plan->request.context));
    WI_TRY(wi_forced_check());
    WI_TRY(wi_plan_fit(plan, options->memory_limit));
    tell_of_training(plan);
    WI_TRY(wi_plan_end_pass(plan, WI_PASS_MATERIALISE));
    WI_TRY(wi_plan_end_pass(plan, WI_PASS_MEMORY));
    WI_TRY(wi_plan_allocate(&plan->placement, options->memory_limit, &plan->memory));
    sum_up(plan);
    return options->compile_late ? WEFT_OK : wi_plan_compile(plan);
}

/* ---- the public calls ---- */

static weft_status check_outputs(weft_tensor *const *outputs, size_t count) {
    if (!outputs || count == 0)
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "weft_plan_create: outputs is NULL or count is 0, expected 1 or more outputs");
    weft_graph *graph = NULL;
    for (size_t i = 0; i < count; i++) {
        if (!outputs[i]) continue;
        WI_TRY(weft_graph_status(outputs[i]->graph));
        if (graph && outputs[i]->graph != graph)
            WI_FAIL(WEFT_ERROR_ARGUMENT,
                "weft_plan_create: output %zu belongs to another graph than the others", i);
        graph = outputs[i]->graph;
    }
    for (size_t i = 0; i < count; i++) {
        char what[32];
        if (outputs[i]) continue;
        snprintf(what, sizeof what, "output %zu", i);
        return wi_fail_null("weft_plan_create", what);
    }
    return WEFT_OK;
}

static weft_status read_options(weft_plan_options *own, const weft_plan_options *given) {
    WI_TRY(WI_OPTIONS(own, given, "weft_plan_create", WEFT_PLAN_OPTIONS_INIT));
    if (own->batch == 0) own->batch = 1;
    if (own->batch < 1 || own->batch > INT32_MAX)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_plan_create: batch is %lld, expected 1 to 2^31 - 1",
            (long long)own->batch);
    if (own->length < 0 || own->length > INT32_MAX)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_plan_create: length is %lld, expected 1 to 2^31 - 1",
            (long long)own->length);
    if (own->size_count > 0 && !own->sizes)
        WI_FAIL(
            WEFT_ERROR_ARGUMENT, "weft_plan_create: sizes is NULL, but size_count is %zu", own->size_count);
    return WEFT_OK;
}

static weft_status read_sizes(const weft_graph *graph, const weft_plan_options *options, int64_t *values) {
    values[WI_SYMBOL_LENGTH] = options->length;
    for (size_t i = 0; i < options->size_count; i++) {
        const weft_named_size *const size = &options->sizes[i];
        const size_t symbol = size->name ? wi_symbol_find(graph, size->name) : SIZE_MAX;
        if (symbol == SIZE_MAX || symbol == WI_SYMBOL_BATCH)
            WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_plan_create: sizes[%zu] is '%.63s', which is %s", i,
                size->name ? size->name : "(NULL)",
                symbol == WI_SYMBOL_BATCH ? "the option batch" : "not a size of weft_symbol in this graph");
        if (size->size < 1 || size->size > INT32_MAX)
            WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_plan_create: the size '%s' is %lld, expected 1 to 2^31 - 1",
                size->name, (long long)size->size);
        if (values[symbol] != 0 && values[symbol] != size->size)
            WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_plan_create: the size '%s' is set to %lld and to %lld",
                size->name, (long long)values[symbol], (long long)size->size);
        values[symbol] = size->size;
    }
    return WEFT_OK;
}

/* The values of symbols if an output is symbolic. The batch is replaced by its value if a batch axis is sliced, padded or
 * concatenated. */
static weft_status take_sizes(wi_request *request, const weft_plan_options *options) {
    const size_t count = wi_symbol_count(request->graph);
    bool symbolic = false, cuts_batch = false;
    int64_t *const values = wi_arena_take(request->arena, count * sizeof *values);
    if (!values) return WEFT_ERROR_MEMORY;
    WI_TRY(read_sizes(request->graph, options, values));
    for (size_t i = 0; i < request->output_count; i++) {
        symbolic = symbolic || request->outputs[i]->is_symbolic;
        cuts_batch = cuts_batch || request->outputs[i]->cuts_batch;
    }
    if (!symbolic) return WEFT_OK;
    request->given = (wi_given){values, count, cuts_batch ? request->batch : 0, request->batch};
    return wi_sizes_check_required(request->graph, &request->given);
}

static weft_status fill_request(
    weft_plan *plan, weft_tensor *const *outputs, size_t count, const weft_plan_options *options) {
    weft_tensor **own = wi_arena_take(&plan->arena, count * sizeof(weft_tensor *));
    if (!own) return WEFT_ERROR_MEMORY;
    memcpy(own, outputs, count * sizeof *outputs);
    plan->request.outputs = own;
    plan->request.output_count = count;
    plan->request.inference = options->inference;
    plan->request.plain = plan->request.graph->plain;
    plan->request.precision = plan->request.graph->precision;
    plan->request.matmul_precision = plan->request.graph->matmul_precision;
    return take_sizes(&plan->request, options);
}

weft_status wi_plan_create_on(weft_plan **out, weft_tensor *const *outputs, size_t count,
    const weft_plan_options *given, const wi_plan_devices *devices) {
    weft_plan_options options;
    if (!out) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_plan_create: plan is NULL");
    *out = NULL;
    WI_TRY(check_outputs(outputs, count));
    WI_TRY(read_options(&options, given));
    weft_graph *graph = outputs[0]->graph;
    weft_context *context = graph->context;
    weft_plan *plan = wi_allocate(context->allocator, sizeof *plan);
    if (!plan) return WEFT_ERROR_MEMORY;
    wi_arena_init(&plan->arena, context->allocator);
    plan->request = (wi_request){.graph = graph,
        .context = context,
        .allocator = context->allocator,
        .devices = devices ? *devices : (wi_plan_devices){.of = context->devices, .count = 1},
        .arena = &plan->arena,
        .batch = options.batch};
    plan->references = 1;
    weft_status status = fill_request(plan, outputs, count, &options);
    const wi_attempt attempt = wi_attempt_begin(graph);
    if (status == WEFT_OK) status = build(plan, &options);
    if (status == WEFT_OK) status = weft_graph_status(graph);
    plan->memory.created = status == WEFT_OK;
    if (status != WEFT_OK)
        plan_destroy(plan);
    else
        *out = plan;
    return wi_attempt_end(&attempt, status);
}

weft_plan *weft_plan_retain(weft_plan *plan) {
    if (plan) plan->references++;
    return plan;
}

void weft_plan_release(weft_plan *plan) {
    if (plan && --plan->references == 0) plan_destroy(plan);
}
