/* The average of the parameters is exchanged with them, a range at a time, through a small buffer. */
#include "cl/launch.h"
#include "graph/nodes.h"
#include <weft/nn.h>

enum { SCRATCH_BYTES = 1 << 20 };

static weft_status copy(
    weft_context *context, cl_mem from, cl_mem to, size_t from_at, size_t to_at, size_t bytes) {
    WI_CL(clEnqueueCopyBuffer(
              wi_context_device(context)->queue, from, to, from_at, to_at, bytes, 0, NULL, NULL),
        "clEnqueueCopyBuffer");
    return WEFT_OK;
}

static weft_status exchange(weft_context *context, cl_mem a, cl_mem b, cl_mem scratch, size_t bytes) {
    for (size_t at = 0; at < bytes; at += SCRATCH_BYTES) {
        const size_t count = bytes - at < SCRATCH_BYTES ? bytes - at : SCRATCH_BYTES;
        WI_TRY(copy(context, a, scratch, at, 0, count));
        WI_TRY(copy(context, b, a, at, at, count));
        WI_TRY(copy(context, scratch, b, 0, at, count));
    }
    return wi_queue_finish(wi_context_device(context));
}

weft_status weft_average_swap(weft_graph *graph) {
    if (!graph) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_average_swap: graph must not be NULL");
    WI_TRY(weft_graph_status(graph));
    if (!graph->average)
        WI_FAIL(WEFT_ERROR_STATE, "weft_average_swap: no average is kept; set the optimizer's average_decay");
    const wi_clock *const clock = &graph->clocks[graph->average_clock];
    if (clock->runs < clock->every)
        WI_FAIL(WEFT_ERROR_STATE, "weft_average_swap: nothing is averaged before the first update");
    weft_context *const context = graph->context;
    const size_t bytes = graph->blocks[0].bytes, block = graph->average->variable->block;
    WI_TRY(wi_graph_block_ready(graph, 0));
    WI_TRY(wi_graph_block_ready(graph, block));
    wi_buffer scratch;
    WI_TRY(wi_buffer_create(
        &scratch, wi_context_device(context), bytes < SCRATCH_BYTES ? bytes : SCRATCH_BYTES));
    const weft_status status = exchange(
        context, graph->blocks[0].buffer.memory, graph->blocks[block].buffer.memory, scratch.memory, bytes);
    wi_buffer_release(&scratch, wi_context_device(context));
    if (status == WEFT_OK) graph->swapped = !graph->swapped;
    return status;
}
