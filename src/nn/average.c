/* weft_average_swap: exchanges each parameter with its average through a buffer of at most MOST_SCRATCH bytes. */
#include "cl/context.h"
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

/* The bytes of the parameter that the average covers: all, or those of a part, as processes may keep averages for a part of the parameters each.
 * count 0: none. */
typedef struct covered {
    size_t first, count;
} covered;

static covered covered_by(const wi_variable *average, const wi_variable *parameter) {
    const size_t end = parameter->offset + parameter->bytes, last = average->covered + average->bytes;
    if (average->role != wi_average_role || average->covered_block != parameter->block) return (covered){0};
    const size_t from = average->covered > parameter->offset ? average->covered : parameter->offset,
                 to = last < end ? last : end;
    return from < to ? (covered){from - parameter->offset, to - from} : (covered){0};
}

/* Exchanges a parameter with its average, at most scratch_bytes at a time. */
static weft_status exchange(weft_graph *graph, const wi_variable *parameter, const wi_variable *average,
    cl_mem scratch, size_t scratch_bytes) {
    weft_context *const context = graph->context;
    const covered range = covered_by(average, parameter);
    const size_t offset = parameter->offset + range.first, first = offset - average->covered;
    wi_graph_block_written(graph, parameter->block);
    wi_graph_block_written(graph, average->block);
    for (size_t at = 0; at < range.count;) {
        const size_t left = range.count - at, most = left < scratch_bytes ? left : scratch_bytes;
        const wi_block_range a = wi_graph_block_range(graph, parameter->block, offset + at, most);
        const wi_block_range b = wi_graph_block_range(graph, average->block, first + at, a.bytes);
        WI_TRY(copy(context, a.memory, scratch, a.offset, 0, b.bytes));
        WI_TRY(copy(context, b.memory, a.memory, b.offset, a.offset, b.bytes));
        WI_TRY(copy(context, scratch, b.memory, 0, b.offset, b.bytes));
        at += b.bytes;
    }
    return WEFT_OK;
}

/* The parameter's average; if several optimizers average it, that of the optimizer created last. NULL: there is
 * none. */
static const wi_variable *average_of(const weft_graph *graph, const wi_variable *parameter) {
    const wi_variable *latest = NULL;
    for (size_t i = 0; i < graph->kinds[false].count; i++) {
        const wi_variable *const other = graph->kinds[false].of[i];
        if (covered_by(other, parameter).count == 0) continue;
        if (!latest || other->optimizer >= latest->optimizer) latest = other;
    }
    return latest;
}

static bool is_divided(const weft_graph *graph) {
    bool any = false;
    for (size_t i = 0; i < graph->kinds[false].count; i++)
        any = any || (graph->kinds[false].of[i]->role == wi_average_role &&
                         graph->kinds[false].of[i]->whole_bytes > 0);
    return any;
}

/* *updates: the clock's updates that were not skipped. Waits for the device if updates can be skipped. */
static weft_status count_updates(const wi_clock *clock, uint64_t *updates) {
    float skipped = 0;
    if (clock->skipped) WI_TRY(wi_loss_scale_read(clock->skipped, &skipped));
    *updates = clock->runs / clock->every - (uint64_t)skipped;
    return WEFT_OK;
}

static weft_status check_averages(const weft_graph *graph) {
    size_t kept = 0;
    for (size_t i = 0; i < weft_graph_parameter_count(graph); i++) {
        const wi_variable *const average = average_of(graph, weft_graph_parameter(graph, i)->variable);
        uint64_t updates;
        if (!average) continue;
        WI_TRY(count_updates(&graph->clocks[average->clock], &updates));
        if (updates == 0)
            WI_FAIL(WEFT_ERROR_STATE,
                "weft_average_swap: there is no average before the first update of the parameters");
        kept++;
    }
    if (kept == 0)
        WI_FAIL(WEFT_ERROR_STATE,
            "weft_average_swap: the optimizer computes no average; set its option average_decay");
    return WEFT_OK;
}

/* Creates all memory that the exchange needs, because running out of memory later would leave only some parameters
 * exchanged. */
static weft_status prepare_all(weft_graph *graph) {
    for (size_t i = 0; i < weft_graph_parameter_count(graph); i++) {
        const wi_variable *const parameter = weft_graph_parameter(graph, i)->variable;
        const wi_variable *const average = average_of(graph, parameter);
        if (!average) continue;
        WI_TRY(wi_graph_block_ready(graph, parameter->block));
        WI_TRY(wi_graph_block_ready(graph, average->block));
    }
    return WEFT_OK;
}

static weft_status exchange_all(weft_graph *graph, cl_mem scratch, size_t scratch_bytes) {
    for (size_t i = 0; i < weft_graph_parameter_count(graph); i++) {
        const wi_variable *const parameter = weft_graph_parameter(graph, i)->variable;
        const wi_variable *const average = average_of(graph, parameter);
        if (average) WI_TRY(exchange(graph, parameter, average, scratch, scratch_bytes));
    }
    return WEFT_OK;
}

static weft_status swap(weft_graph *graph) {
    WI_TRY(check_averages(graph));
    WI_TRY(prepare_all(graph));
    wi_device *const device = wi_context_device(graph->context);
    wi_buffer scratch;
    const size_t largest = wi_buffer_largest(device), bytes = largest < MOST_SCRATCH ? largest : MOST_SCRATCH;
    WI_TRY(wi_buffer_create(&scratch, device, bytes));
    weft_status status = exchange_all(graph, scratch.memory, bytes);
    if (status == WEFT_OK) status = wi_queue_finish(device);
    wi_buffer_release(&scratch, device);
    return status;
}

weft_status weft_average_swap(weft_graph *graph) {
    if (!graph) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_average_swap: graph must not be NULL");
    WI_TRY(weft_graph_status(graph));
    const bool divided = is_divided(graph);
    if (divided && !graph->share_parts)
        WI_FAIL(WEFT_ERROR_STATE,
            "weft_average_swap: the averages are divided among processes "
            "(shard_optimizer): call it in all of them, before the trainer is released");
    weft_status status = swap(graph);
    if (divided) status = graph->share_parts(graph->shares, status);
    if (status == WEFT_OK) graph->swapped = !graph->swapped;
    return status;
}
