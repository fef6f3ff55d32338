/* The memory of parameters and states: blocks, which are created and filled when they are first needed. */
#include "base/names.h"
#include "base/pattern.h"
#include "base/process.h"
#include "cl/context.h"
#include "cl/device_copy.h"
#include "cl/launch.h"
#include "graph/initial.h"
#include "graph/variable_names.h"
#include <stdio.h>
#include <string.h>

/* A block of so many bytes is filled variable by variable. A smaller one is filled by one write, which leaves the data of
 * its variables in host memory if the write fails, so that the program can try again. */
enum { LARGE_BLOCK = 64 << 20 };

static weft_status add_one(weft_graph *graph, size_t bytes, size_t first) {
    WI_TRY(wi_grow(graph->context->allocator, (void **)&graph->blocks, &graph->block_capacity,
        graph->block_count + 1, sizeof *graph->blocks));
    graph->blocks[graph->block_count++] = (wi_block){.bytes = bytes, .first = first, .pieces = 1};
    return WEFT_OK;
}

weft_status wi_graph_add_block(weft_graph *graph, size_t bytes, size_t piece, size_t *index) {
    const size_t first = graph->block_count;
    size_t left = bytes;
    for (; piece && left > piece; left -= piece) WI_TRY(add_one(graph, piece, first));
    WI_TRY(add_one(graph, left, first));
    graph->blocks[first].pieces = graph->block_count - first;
    *index = first;
    return WEFT_OK;
}

size_t wi_graph_block_of(const weft_tensor *source) {
    return source->variable ? source->variable->block : source->attributes->flat.block;
}

size_t wi_graph_block_bytes(const weft_graph *graph, size_t block) {
    const wi_block *const first = &graph->blocks[block];
    return (first->pieces - 1) * first->bytes + first[first->pieces - 1].bytes;
}

size_t wi_graph_variable_bytes(const weft_graph *graph) {
    size_t bytes = 0;
    for (size_t i = 0; i < graph->block_count; i++) bytes += graph->blocks[i].bytes;
    return bytes;
}

size_t wi_graph_host_bytes(const weft_graph *graph) {
    size_t bytes = 0;
    for (size_t i = 0; i < graph->block_count; i++)
        if (graph->blocks[i].buffer.on_host) bytes += graph->blocks[i].bytes;
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

static weft_status make_content(const weft_graph *graph, size_t block, char *content) {
    for (size_t i = 0; i < graph->variable_count; i++) {
        const wi_variable *variable = graph->variables[i];
        if (variable->block == block) WI_TRY(wi_initial_content(variable, content + variable->offset));
    }
    return WEFT_OK;
}

/* Fails if a block is larger than a buffer: its variable is not in pieces because a single row is larger than a buffer. */
static weft_status check_size(const weft_graph *graph, size_t block) {
    char text[WI_NODE_TEXT];
    for (size_t i = 0; i < graph->variable_count; i++) {
        if (graph->variables[i]->block != block) continue;
        return wi_buffer_check_largest(wi_context_device(graph->context), graph->blocks[block].bytes,
            wi_node_print(graph->variables[i]->tensor, text));
    }
    return WEFT_OK;
}

/* A block for which the memory limit has no room is created in host memory. The plan that needs it on the device has checked
 * the limit before. */
static bool belongs_on_host(const weft_graph *graph, size_t first, bool on_host) {
    return on_host ||
           wi_graph_block_bytes(graph, first) > wi_buffer_available(wi_context_device(graph->context));
}

static weft_status create_buffers(weft_graph *graph, size_t first, bool on_host) {
    wi_device *const device = wi_context_device(graph->context);
    const bool host = belongs_on_host(graph, first, on_host);
    for (size_t i = first; i < first + graph->blocks[first].pieces; i++) {
        wi_block *const block = &graph->blocks[i];
        WI_TRY((host ? wi_buffer_create_on_host : wi_buffer_create)(&block->buffer, device, block->bytes));
    }
    return WEFT_OK;
}

/* Writes bytes of a block, which may be in several buffers. */
static weft_status write_block(
    weft_graph *graph, size_t first, size_t offset, const char *from, size_t bytes) {
    wi_device *const device = wi_context_device(graph->context);
    for (size_t done = 0; done < bytes;) {
        const wi_block_range r = wi_graph_block_range(graph, first, offset + done, bytes - done);
        WI_TRY(wi_buffer_write(device, r.memory, r.offset, from + done, r.bytes));
        done += r.bytes;
    }
    return WEFT_OK;
}

static weft_status fill_at_once(weft_graph *graph, size_t first, bool on_host) {
    const size_t bytes = wi_graph_block_bytes(graph, first);
    char *const content = wi_allocate(graph->context->allocator, bytes);
    if (!content) return WEFT_ERROR_MEMORY;
    weft_status status = make_content(graph, first, content);
    if (status == WEFT_OK) status = create_buffers(graph, first, on_host);
    if (status == WEFT_OK) status = write_block(graph, first, 0, content, bytes);
    wi_release(graph->context->allocator, content);
    if (status == WEFT_OK) forget_data(graph, first);
    return status;
}

/* Writes the initial values of a variable, with zeros up to the next one, and releases its data. */
static weft_status fill_variable(weft_graph *graph, wi_variable *variable) {
    static const char zeros[WI_FLAT_ROW_BYTES];
    const weft_allocator *const allocator = graph->context->allocator;
    const size_t all = wi_graph_block_bytes(graph, variable->block), end = variable->offset + variable->bytes;
    const size_t rest = (WI_FLAT_ROW_BYTES - end % WI_FLAT_ROW_BYTES) % WI_FLAT_ROW_BYTES;
    char *const made = variable->data ? NULL : wi_allocate(allocator, variable->bytes);
    if (!variable->data && !made) return WEFT_ERROR_MEMORY;
    weft_status status = made ? wi_initial_content(variable, made) : WEFT_OK;
    if (status == WEFT_OK)
        status = write_block(
            graph, variable->block, variable->offset, made ? made : variable->data, variable->bytes);
    if (status == WEFT_OK)
        status = write_block(graph, variable->block, end, zeros, rest < all - end ? rest : all - end);
    wi_release(allocator, made);
    if (status != WEFT_OK) return status;
    wi_release(allocator, variable->data);
    variable->data = NULL;
    return WEFT_OK;
}

/* Fills the block variable by variable, so that the weights of a large network are not in host memory twice. After an
 * error, the variables that were written have lost their data, so that the graph keeps the error. */
static weft_status fill_one_by_one(weft_graph *graph, size_t first, bool on_host) {
    WI_TRY(create_buffers(graph, first, on_host));
    for (size_t i = 0; i < graph->variable_count; i++) {
        if (graph->variables[i]->block != first) continue;
        const weft_status status = fill_variable(graph, graph->variables[i]);
        if (status == WEFT_OK) continue;
        wi_graph_fail_recorded(graph, status);
        return status;
    }
    return WEFT_OK;
}

static weft_status make_ready(weft_graph *graph, size_t index, bool on_host) {
    const size_t first = graph->blocks[index].first;
    const wi_block *const block = &graph->blocks[first];
    if (block->buffer.memory || block->bytes == 0) return WEFT_OK;
    WI_TRY(wi_process_check_driver()); /* before the initial values are computed */
    WI_TRY(check_size(graph, first));
    const weft_status status = wi_graph_block_bytes(graph, first) < LARGE_BLOCK
                                   ? fill_at_once(graph, first, on_host)
                                   : fill_one_by_one(graph, first, on_host);
    for (size_t i = first; i < first + block->pieces && status != WEFT_OK; i++)
        wi_buffer_release(&graph->blocks[i].buffer, wi_context_device(graph->context));
    return status;
}

weft_status wi_graph_block_ready(weft_graph *graph, size_t block) {
    return make_ready(graph, block, false);
}

static weft_status move_to_host(weft_graph *graph, wi_block *block) {
    wi_device *const device = wi_context_device(graph->context);
    wi_buffer moved;
    if (block->buffer.on_host || block->bytes == 0) return WEFT_OK;
    WI_TRY(wi_buffer_create_on_host(&moved, device, block->bytes));
    weft_status status = wi_device_copy(&(wi_device_range){device, moved.memory, 0},
        &(wi_device_range){device, block->buffer.memory, 0}, block->bytes, NULL);
    if (status == WEFT_OK) status = wi_queue_finish(device);
    wi_buffer_release(status == WEFT_OK ? &block->buffer : &moved, device);
    if (status == WEFT_OK) block->buffer = moved;
    return status;
}

weft_status wi_graph_block_to_host(weft_graph *graph, size_t block) {
    const size_t first = graph->blocks[block].first;
    WI_TRY(make_ready(graph, first, true));
    for (size_t i = first; i < first + graph->blocks[first].pieces; i++)
        WI_TRY(move_to_host(graph, &graph->blocks[i]));
    return WEFT_OK;
}

void wi_graph_block_written(weft_graph *graph, size_t block) {
    for (size_t i = block; i < block + graph->blocks[block].pieces; i++) graph->blocks[i].writes++;
}

/* ---- reading and writing ---- */

wi_block_range wi_graph_block_range(const weft_graph *graph, size_t block, size_t offset, size_t bytes) {
    const size_t piece = graph->blocks[block].bytes, number = piece ? offset / piece : 0;
    const wi_block *const own = &graph->blocks[block + number];
    const size_t at = offset - number * piece, left = own->bytes - at;
    return (wi_block_range){own->buffer.memory, at, bytes < left ? bytes : left};
}

/* Reads into `to`, or if this is NULL, writes from `from`. */
static weft_status transfer(
    const weft_tensor *variable, size_t offset, char *to, const char *from, size_t bytes) {
    weft_graph *const graph = variable->graph;
    const wi_variable *const own = variable->variable;
    wi_device *const device = wi_context_device(graph->context);
    WI_TRY(wi_graph_block_ready(graph, own->block));
    if (!to) wi_graph_block_written(graph, own->block);
    for (size_t done = 0; done < bytes;) {
        const wi_block_range r =
            wi_graph_block_range(graph, own->block, own->offset + offset + done, bytes - done);
        WI_TRY(to ? wi_buffer_read(device, r.memory, r.offset, to + done, r.bytes)
                  : wi_buffer_write(device, r.memory, r.offset, from + done, r.bytes));
        done += r.bytes;
    }
    return WEFT_OK;
}

weft_status wi_variable_read(const weft_tensor *variable, size_t offset, void *data, size_t bytes) {
    return transfer(variable, offset, data, NULL, bytes);
}

weft_status wi_variable_write(const weft_tensor *variable, size_t offset, const void *data, size_t bytes) {
    return transfer(variable, offset, NULL, data, bytes);
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
int64_t weft_graph_element_count(const weft_graph *graph, const char *parameters) {
    int64_t all = 0;
    for (size_t i = 0; i < weft_graph_parameter_count(graph); i++) {
        const weft_tensor *const parameter = weft_graph_parameter(graph, i);
        int64_t count;
        int power; /* 0, because parameters do not depend on the batch */
        wi_shape_count(parameter->graph, &parameter->shape, &count, &power);
        if (!parameters || wi_pattern_matches(parameters, weft_tensor_name(parameter))) all += count;
    }
    return all;
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
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "%s: %s %s is neither a parameter nor a state; read it from a plan with weft_plan_read", call,
            wi_article(tensor->op->name), tensor->op->name);
    if (bytes != tensor->variable->bytes)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "%s: '%s' has %zu bytes, but %zu were given", call,
            weft_tensor_name(tensor), tensor->variable->bytes, bytes);
    return WEFT_OK;
}

weft_status weft_tensor_read(weft_tensor *tensor, void *data, size_t bytes) {
    WI_TRY(check_variable("weft_tensor_read", tensor, data, bytes));
    return wi_variable_read(tensor, 0, data, bytes);
}

weft_status weft_tensor_write(weft_tensor *tensor, const void *data, size_t bytes) {
    WI_TRY(check_variable("weft_tensor_write", tensor, data, bytes));
    return wi_variable_write(tensor, 0, data, bytes);
}
