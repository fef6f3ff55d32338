/* Copies on the device: of a variable to another, and snapshots of everything that training changes (contract in graph.h). */
#include "base/names.h"
#include "cl/context.h"
#include "cl/driver.h"
#include "cl/launch.h"
#include "graph/host_state.h"
#include <string.h>

static weft_status copy(
    const weft_graph *graph, cl_mem from, size_t from_at, cl_mem to, size_t to_at, size_t bytes) {
    WI_CL(clEnqueueCopyBuffer(
              wi_context_device(graph->context)->queue, from, to, from_at, to_at, bytes, 0, NULL, NULL),
        "clEnqueueCopyBuffer");
    return WEFT_OK;
}

/* ---- one variable ---- */

static weft_status check_pair(const weft_tensor *to, const weft_tensor *from) {
    char text_to[WI_SHAPE_TEXT], text_from[WI_SHAPE_TEXT];
    if (!to || !from) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_tensor_copy: to or from is NULL");
    if (!to->variable || !from->variable)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_tensor_copy: %s %s is neither a parameter nor a state",
            wi_article((to->variable ? from : to)->op->name), (to->variable ? from : to)->op->name);
    if (to->graph->context != from->graph->context)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_tensor_copy: '%s' and '%s' belong to different contexts",
            weft_tensor_name(to), weft_tensor_name(from));
    if (to->dtype != from->dtype || !wi_shape_equal(&to->shape, &from->shape))
        WI_FAIL(WEFT_ERROR_SHAPE,
            "weft_tensor_copy: '%s' is %s %s, but '%s' is %s %s; dtype and shape must be equal",
            weft_tensor_name(to), weft_dtype_name(to->dtype), wi_shape_print(to->graph, &to->shape, text_to),
            weft_tensor_name(from), weft_dtype_name(from->dtype),
            wi_shape_print(from->graph, &from->shape, text_from));
    return WEFT_OK;
}

weft_status weft_tensor_copy(weft_tensor *to, weft_tensor *from) {
    WI_TRY(check_pair(to, from));
    WI_TRY(weft_graph_status(to->graph));
    WI_TRY(weft_graph_status(from->graph));
    const wi_variable *const target = to->variable, *const source = from->variable;
    WI_TRY(wi_graph_block_ready(to->graph, target->block));
    WI_TRY(wi_graph_block_ready(from->graph, source->block));
    if (to == from) return WEFT_OK;
    wi_graph_block_written(to->graph, target->block);
    for (size_t done = 0; done < target->bytes;) {
        const size_t left = target->bytes - done;
        const wi_block_range a =
            wi_graph_block_range(from->graph, source->block, source->offset + done, left);
        const wi_block_range b =
            wi_graph_block_range(to->graph, target->block, target->offset + done, a.bytes);
        WI_TRY(copy(to->graph, a.memory, a.offset, b.memory, b.offset, b.bytes));
        done += b.bytes;
    }
    return WEFT_OK;
}

/* ---- snapshots ---- */

struct weft_snapshot {
    weft_graph *graph;
    wi_buffer *blocks; /* copies of the blocks that the graph had */
    size_t block_count, block_capacity;
    wi_clock clocks[WI_MAX_CLOCKS];
    size_t clock_count;
    wi_scalar *scalars;
    size_t scalar_count, scalar_capacity;
    wi_host_copies host;
    uint64_t draws;
    bool swapped, taken;
};

static void clear_blocks(weft_snapshot *snapshot) {
    wi_device *const device = wi_context_device(snapshot->graph->context);
    for (size_t i = 0; i < snapshot->block_count; i++) wi_buffer_release(&snapshot->blocks[i], device);
    snapshot->block_count = 0;
}

weft_status weft_snapshot_create(weft_snapshot **snapshot, weft_graph *graph) {
    if (!snapshot || !graph) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_snapshot_create: snapshot or graph is NULL");
    *snapshot = NULL;
    WI_TRY(weft_graph_status(graph));
    weft_snapshot *const made = wi_allocate(graph->context->allocator, sizeof *made);
    if (!made) return WEFT_ERROR_MEMORY;
    made->graph = weft_graph_retain(graph);
    *snapshot = made;
    return WEFT_OK;
}

void weft_snapshot_release(weft_snapshot *snapshot) {
    if (!snapshot) return;
    weft_graph *const graph = snapshot->graph;
    const weft_allocator *const allocator = graph->context->allocator;
    clear_blocks(snapshot);
    wi_host_copies_clear(graph, &snapshot->host);
    wi_release(allocator, snapshot->blocks);
    wi_release(allocator, snapshot->scalars);
    wi_release(allocator, snapshot);
    weft_graph_release(graph);
}

/* Allocates memory for a copy: in host memory if the memory limit has no room. */
static weft_status create_copy(const weft_graph *graph, size_t bytes, wi_buffer *buffer) {
    wi_device *const device = wi_context_device(graph->context);
    const bool on_host = bytes > wi_buffer_available(device);
    return (on_host ? wi_buffer_create_on_host : wi_buffer_create)(buffer, device, bytes);
}

/* Copies a block. It is first created on the device if necessary, after which no parameters can be added to it. */
static weft_status take_block(weft_snapshot *snapshot, size_t index) {
    const weft_graph *const graph = snapshot->graph;
    const size_t bytes = graph->blocks[index].bytes;
    WI_TRY(wi_graph_block_ready(snapshot->graph, index));
    if (index == snapshot->block_count) {
        WI_TRY(wi_grow(graph->context->allocator, (void **)&snapshot->blocks, &snapshot->block_capacity,
            index + 1, sizeof *snapshot->blocks));
        snapshot->blocks[snapshot->block_count++] = (wi_buffer){0};
        if (bytes) WI_TRY(create_copy(graph, bytes, &snapshot->blocks[index]));
    }
    if (bytes == 0) return WEFT_OK;
    return copy(graph, graph->blocks[index].buffer.memory, 0, snapshot->blocks[index].memory, 0, bytes);
}

static weft_status take_numbers(weft_snapshot *snapshot) {
    const weft_graph *const graph = snapshot->graph;
    WI_TRY(wi_grow(graph->context->allocator, (void **)&snapshot->scalars, &snapshot->scalar_capacity,
        graph->scalar_count + 1, sizeof *snapshot->scalars));
    if (graph->scalar_count)
        memcpy(snapshot->scalars, graph->scalars, graph->scalar_count * sizeof *graph->scalars);
    snapshot->scalar_count = graph->scalar_count;
    memcpy(snapshot->clocks, graph->clocks, sizeof graph->clocks);
    snapshot->clock_count = graph->clock_count;
    snapshot->draws = graph->draws;
    snapshot->swapped = graph->swapped;
    return wi_host_copies_take(snapshot->graph, &snapshot->host);
}

weft_status weft_snapshot_take(weft_snapshot *snapshot) {
    if (!snapshot) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_snapshot_take: snapshot is NULL");
    WI_TRY(weft_graph_status(snapshot->graph));
    snapshot->taken = false;
    weft_status status = take_numbers(snapshot);
    for (size_t i = 0; i < snapshot->graph->block_count && status == WEFT_OK; i++)
        status = take_block(snapshot, i);
    snapshot->taken = status == WEFT_OK;
    if (status != WEFT_OK) clear_blocks(snapshot);
    return status;
}

weft_status weft_snapshot_restore(weft_snapshot *snapshot) {
    if (!snapshot) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_snapshot_restore: snapshot is NULL");
    weft_graph *const graph = snapshot->graph;
    WI_TRY(weft_graph_status(graph));
    if (!snapshot->taken)
        WI_FAIL(
            WEFT_ERROR_STATE, "weft_snapshot_restore: the snapshot is empty; call weft_snapshot_take first");
    for (size_t i = 0; i < snapshot->block_count; i++) {
        const wi_buffer *const kept = &snapshot->blocks[i];
        if (!kept->memory) continue;
        wi_graph_block_written(graph, i);
        WI_TRY(copy(graph, kept->memory, 0, graph->blocks[i].buffer.memory, 0, kept->bytes));
    }
    for (size_t i = 0; i < snapshot->clock_count; i++) graph->clocks[i] = snapshot->clocks[i];
    for (size_t i = 0; i < snapshot->scalar_count; i++) graph->scalars[i] = snapshot->scalars[i];
    graph->draws = snapshot->draws;
    graph->swapped = snapshot->swapped;
    return wi_host_copies_restore(graph, &snapshot->host);
}
