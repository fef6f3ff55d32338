/* Removes what a failed call has added to a graph (contract in attempt.h). */
#include "graph/attempt.h"
#include "cl/context.h"
#include "graph/block_copies.h"
#include "graph/variable_names.h"

wi_attempt wi_attempt_begin(weft_graph *graph) {
    return (wi_attempt){.graph = graph,
        .block_count = graph->block_count,
        .variable_count = graph->variable_count,
        .scalar_count = graph->scalar_count,
        .clock_count = graph->clock_count,
        .optimizers = graph->optimizers,
        .streams = graph->streams,
        .precision = graph->precision,
        .matmul_precision = graph->matmul_precision,
        .scaling = graph->scaling,
        .rate = graph->rate,
        .rated = graph->rated,
        .failed_before = graph->status != WEFT_OK};
}

static void remove_variables(weft_graph *graph, size_t count) {
    while (graph->variable_count > count) {
        wi_variable *const variable = graph->variables[--graph->variable_count];
        graph->kinds[variable->trainable].count--;
        wi_variable_names_forget(graph, variable->tensor);
        wi_release(graph->context->allocator, variable->data);
        variable->data = NULL;
    }
}

static void remove_blocks(weft_graph *graph, size_t count) {
    wi_device *const device = wi_context_device(graph->context);
    while (graph->block_count > count) {
        wi_block *const block = &graph->blocks[--graph->block_count];
        wi_copies_release(graph, block);
        wi_buffer_release(&block->buffer, device);
    }
}

static void undo(const wi_attempt *attempt) {
    weft_graph *const graph = attempt->graph;
    remove_variables(graph, attempt->variable_count);
    remove_blocks(graph, attempt->block_count);
    graph->scalar_count = attempt->scalar_count;
    graph->clock_count = attempt->clock_count;
    graph->optimizers = attempt->optimizers;
    graph->streams = attempt->streams;
    graph->precision = attempt->precision;
    graph->matmul_precision = attempt->matmul_precision;
    graph->scaling = attempt->scaling;
    graph->rate = attempt->rate;
    graph->rated = attempt->rated;
}

weft_status wi_attempt_end(const wi_attempt *attempt, weft_status status) {
    weft_graph *const graph = attempt->graph;
    if (status == WEFT_OK) status = weft_graph_status(graph);
    if (status == WEFT_OK || attempt->failed_before) return status;
    undo(attempt);
    graph->status = WEFT_OK;
    wi_cause_forget(graph);
    return status;
}
