/* The memory of parameters and states: reserved in blocks, made and filled when first needed. */
#include "graph/initial.h"
#include "graph/variable_names.h"
#include <string.h>

weft_status wi_graph_add_block(weft_graph *graph, size_t bytes, size_t *index) {
    WI_TRY(wi_grow(graph->context->allocator, (void **)&graph->blocks, &graph->block_capacity,
        graph->block_count + 1, sizeof *graph->blocks));
    *index = graph->block_count++;
    graph->blocks[*index] = (wi_block){.bytes = bytes};
    return WEFT_OK;
}

size_t wi_graph_variable_bytes(const weft_graph *graph) {
    size_t bytes = 0;
    for (size_t i = 0; i < graph->block_count; i++) bytes += graph->blocks[i].bytes;
    return bytes;
}

/* ---- initial content ---- */

static void forget_data(weft_graph *graph, size_t block) {
    for (size_t i = 0; i < graph->variable_count; i++) {
        wi_variable *variable = graph->variables[i];
        if (variable->block != block) continue;
        wi_release(graph->context->allocator, variable->data);
        variable->data = NULL;
    }
}

weft_status wi_graph_block_ready(weft_graph *graph, size_t index) {
    wi_block *block = &graph->blocks[index];
    weft_context *context = graph->context;
    if (block->buffer.memory || block->bytes == 0) return WEFT_OK;
    char *content = wi_allocate(context->allocator, block->bytes);
    if (!content) return WEFT_ERROR_MEMORY;
    weft_status status = WEFT_OK;
    for (size_t i = 0; i < graph->variable_count && status == WEFT_OK; i++) {
        const wi_variable *variable = graph->variables[i];
        if (variable->block == index) status = wi_initial_content(variable, content + variable->offset);
    }
    if (status == WEFT_OK)
        status = wi_buffer_create(&block->buffer, wi_context_device(context), block->bytes);
    if (status == WEFT_OK)
        status = wi_buffer_write(wi_context_device(context), block->buffer.memory, 0, content, block->bytes);
    wi_release(context->allocator, content);
    if (status != WEFT_OK) {
        wi_buffer_release(&block->buffer, wi_context_device(context));
        return status;
    }
    forget_data(graph, index);
    return WEFT_OK;
}

void wi_graph_block_written(weft_graph *graph, size_t block) {
    graph->blocks[block].writes++;
}

/* ---- the public view ---- */

static weft_tensor *nth_of(const weft_graph *graph, size_t index, bool trainable) {
    return graph && index < graph->kinds[trainable].count ? graph->kinds[trainable].of[index]->tensor : NULL;
}

size_t weft_graph_parameter_count(const weft_graph *graph) {
    return graph ? graph->kinds[true].count : 0;
}
weft_tensor *weft_graph_parameter(const weft_graph *graph, size_t index) {
    return nth_of(graph, index, true);
}
size_t weft_graph_state_count(const weft_graph *graph) {
    return graph ? graph->kinds[false].count : 0;
}
weft_tensor *weft_graph_state(const weft_graph *graph, size_t index) {
    return nth_of(graph, index, false);
}

weft_tensor *weft_graph_find(const weft_graph *graph, const char *name) {
    return graph && name ? wi_variable_names_find(graph, name) : NULL;
}

static weft_status check_variable(
    const char *call, const weft_tensor *tensor, const void *data, size_t bytes) {
    if (!tensor || !data) WI_FAIL(WEFT_ERROR_ARGUMENT, "%s: tensor or data is NULL", call);
    WI_TRY(weft_graph_status(tensor->graph));
    if (!tensor->variable)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "%s: a %s is neither parameter nor state; read it from a plan", call,
            tensor->op->name);
    if (bytes != tensor->variable->bytes)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "%s: '%s' has %zu bytes, %zu were given", call, weft_tensor_name(tensor),
            tensor->variable->bytes, bytes);
    return wi_graph_block_ready(tensor->graph, tensor->variable->block);
}

weft_status weft_tensor_read(weft_tensor *tensor, void *data, size_t bytes) {
    WI_TRY(check_variable("weft_tensor_read", tensor, data, bytes));
    const wi_variable *variable = tensor->variable;
    weft_graph *graph = tensor->graph;
    return wi_buffer_read(wi_context_device(graph->context), graph->blocks[variable->block].buffer.memory,
        variable->offset, data, bytes);
}

weft_status weft_tensor_write(weft_tensor *tensor, const void *data, size_t bytes) {
    WI_TRY(check_variable("weft_tensor_write", tensor, data, bytes));
    const wi_variable *variable = tensor->variable;
    weft_graph *graph = tensor->graph;
    wi_graph_block_written(graph, variable->block);
    return wi_buffer_write(wi_context_device(graph->context), graph->blocks[variable->block].buffer.memory,
        variable->offset, data, bytes);
}
