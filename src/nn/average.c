/* The average of the parameters is exchanged with them, a range at a time, through a small buffer. */
#include "cl/driver.h"
#include "cl/launch.h"
#include "nn/update_rules.h"
#include "ops/loss_scale.h"

enum { MOST_SCRATCH = 1 << 20 };

static weft_status copy(
    weft_context *context, cl_mem from, cl_mem to, size_t from_at, size_t to_at, size_t bytes) {
    WI_CL(clEnqueueCopyBuffer(
              wi_context_device(context)->queue, from, to, from_at, to_at, bytes, 0, NULL, NULL),
        "clEnqueueCopyBuffer");
    return WEFT_OK;
}

/* A state and what it covers of the parameters, by scratch memory of so many bytes. */
static weft_status exchange(
    weft_graph *graph, const wi_variable *average, cl_mem scratch, size_t scratch_bytes) {
    weft_context *const context = graph->context;
    WI_TRY(wi_graph_block_ready(graph, average->covered_block));
    WI_TRY(wi_graph_block_ready(graph, average->block));
    wi_graph_block_written(graph, average->covered_block);
    wi_graph_block_written(graph, average->block);
    for (size_t at = 0; at < average->bytes;) {
        const size_t left = average->bytes - at, most = left < scratch_bytes ? left : scratch_bytes;
        const wi_block_range a =
            wi_graph_block_range(graph, average->covered_block, average->covered + at, most);
        const wi_block_range b = wi_graph_block_range(graph, average->block, at, a.bytes);
        WI_TRY(copy(context, a.memory, scratch, a.offset, 0, b.bytes));
        WI_TRY(copy(context, b.memory, a.memory, b.offset, a.offset, b.bytes));
        WI_TRY(copy(context, scratch, b.memory, 0, b.offset, b.bytes));
        at += b.bytes;
    }
    return WEFT_OK;
}

static bool is_kept(const wi_variable *variable) {
    return variable->role == wi_average_role && !variable->replaced_by;
}

/* Those that were not skipped. */
static weft_status count_updates(const wi_clock *clock, uint64_t *updates) {
    float skipped = 0;
    if (clock->skipped) WI_TRY(wi_loss_scale_read(clock->skipped, &skipped));
    *updates = clock->runs / clock->every - (uint64_t)skipped;
    return WEFT_OK;
}

static weft_status check_averages(const weft_graph *graph) {
    size_t kept = 0;
    for (size_t i = 0; i < graph->variable_count; i++) {
        const wi_variable *const variable = graph->variables[i];
        if (!is_kept(variable)) continue;
        uint64_t updates;
        WI_TRY(count_updates(&graph->clocks[variable->clock], &updates));
        if (updates == 0)
            WI_FAIL(WEFT_ERROR_STATE, "weft_average_swap: nothing is averaged before the first update");
        kept++;
    }
    if (kept == 0)
        WI_FAIL(WEFT_ERROR_STATE, "weft_average_swap: no average is kept; set the optimizer's average_decay");
    return WEFT_OK;
}

weft_status weft_average_swap(weft_graph *graph) {
    if (!graph) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_average_swap: graph must not be NULL");
    WI_TRY(weft_graph_status(graph));
    WI_TRY(check_averages(graph));
    wi_device *const device = wi_context_device(graph->context);
    wi_buffer scratch;
    const size_t largest = wi_buffer_largest(device), bytes = largest < MOST_SCRATCH ? largest : MOST_SCRATCH;
    WI_TRY(wi_buffer_create(&scratch, device, bytes));
    weft_status status = WEFT_OK;
    for (size_t i = 0; i < graph->variable_count && status == WEFT_OK; i++)
        if (is_kept(graph->variables[i]))
            status = exchange(graph, graph->variables[i], scratch.memory, bytes);
    if (status == WEFT_OK) status = wi_queue_finish(device);
    wi_buffer_release(&scratch, device);
    if (status == WEFT_OK) graph->swapped = !graph->swapped;
    return status;
}
