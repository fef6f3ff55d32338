/* Copies of blocks on further devices (contract in block_copies.h). */
#include "graph/block_copies.h"
#include "cl/context.h"
#include "cl/driver.h"
#include "cl/launch.h"

/* One copy. */
typedef struct copy {
    wi_buffer buffer; /* no memory: there is none on this device */
    uint64_t writes;  /* to the copy */
    uint64_t of; /* the block's number of writes when it was copied; UINT64_MAX: the copy has changed since */
} copy;

struct wi_block_copies {
    unsigned char
        *staged; /* host memory for the content while it is copied from the first device to the others */
    copy on[WI_MAX_DEVICES];
};

static copy *copy_on(const weft_graph *graph, size_t block, const wi_device *device) {
    wi_block_copies *const copies = graph->blocks[block].copies;
    return device->index > 0 && copies ? &copies->on[device->index] : NULL;
}

/* ---- creating and releasing ---- */

static weft_status create(weft_graph *graph, wi_block *block, wi_device *device) {
    const weft_allocator *const allocator = graph->context->allocator;
    if (!block->copies) {
        wi_block_copies *const made = wi_allocate(allocator, sizeof *made);
        if (!made) return WEFT_ERROR_MEMORY;
        block->copies = made;
    }
    copy *const own = &block->copies->on[device->index];
    if (own->buffer.memory) return WEFT_OK;
    if (!block->copies->staged) block->copies->staged = wi_allocate(allocator, block->bytes);
    if (!block->copies->staged) return WEFT_ERROR_MEMORY;
    *own = (copy){.of = UINT64_MAX};
    return wi_buffer_create(&own->buffer, device, block->bytes);
}

weft_status wi_block_memory_on(weft_graph *graph, size_t index, const wi_device *device, cl_mem *memory) {
    WI_TRY(wi_graph_block_ready(graph, index));
    wi_block *const block = &graph->blocks[index];
    *memory = block->buffer.memory;
    if (device->index == 0 || block->bytes == 0) return WEFT_OK;
    WI_TRY(create(graph, block, graph->context->devices[device->index]));
    *memory = block->copies->on[device->index].buffer.memory;
    return WEFT_OK;
}

void wi_copies_release(weft_graph *graph, wi_block *block) {
    weft_context *const context = graph->context;
    for (int d = 1; block->copies && d < context->device_count; d++)
        wi_buffer_release(&block->copies->on[d].buffer, context->devices[d]);
    if (block->copies) wi_release(context->allocator, block->copies->staged);
    wi_release(context->allocator, block->copies);
    block->copies = NULL;
}

bool wi_block_is_on(const weft_graph *graph, size_t block, const wi_device *device) {
    const copy *const own = copy_on(graph, block, device);
    if (device->index == 0) return graph->blocks[block].buffer.memory != NULL;
    return own && own->buffer.memory;
}

/* ---- counting writes ---- */

uint64_t wi_block_writes_on(const weft_graph *graph, size_t block, const wi_device *device) {
    const copy *const own = copy_on(graph, block, device);
    return own ? own->writes : graph->blocks[block].writes;
}

static void mark_written(copy *own) {
    own->writes++;
    own->of = UINT64_MAX;
}

void wi_block_written_on(weft_graph *graph, size_t block, const wi_device *device) {
    if (device->index == 0) {
        wi_graph_block_written(graph, block);
        return;
    }
    for (size_t i = block; i < block + graph->blocks[block].pieces; i++) {
        copy *const own = copy_on(graph, i, device);
        if (own) mark_written(own);
    }
}

/* ---- updating ---- */

static bool is_stale(const wi_block *block, int device) {
    const copy *const own = &block->copies->on[device];
    return own->buffer.memory && own->of != block->writes;
}

static weft_status stage(const weft_graph *graph, bool *any) {
    cl_command_queue const queue = graph->context->devices[0]->queue;
    for (size_t i = 0; i < graph->block_count; i++) {
        const wi_block *const block = &graph->blocks[i];
        bool stale = false;
        for (int d = 1; block->copies && d < graph->context->device_count; d++)
            stale = stale || is_stale(block, d);
        if (!stale) continue;
        *any = true;
        WI_CL(clEnqueueReadBuffer(queue, block->buffer.memory, CL_FALSE, 0, block->bytes,
                  block->copies->staged, 0, NULL, NULL),
            "reading parameters for another device");
    }
    return WEFT_OK;
}

static weft_status send(weft_graph *graph, wi_device *device) {
    for (size_t i = 0; i < graph->block_count; i++) {
        wi_block *const block = &graph->blocks[i];
        if (!block->copies || !is_stale(block, device->index)) continue;
        copy *const own = &block->copies->on[device->index];
        WI_CL(clEnqueueWriteBuffer(device->queue, own->buffer.memory, CL_FALSE, 0, block->bytes,
                  block->copies->staged, 0, NULL, NULL),
            "writing parameters to another device");
        mark_written(own);
        own->of = block->writes;
    }
    return wi_queue_flush(device);
}

weft_status wi_copies_update(weft_graph *graph) {
    weft_context *const context = graph->context;
    bool any = false;
    /* The other devices may still read the content that was staged before. */
    for (int d = 1; d < context->device_count; d++) WI_TRY(wi_queue_finish(context->devices[d]));
    if (context->device_count == 1) return WEFT_OK;
    const weft_status status = stage(graph, &any);
    if (any)
        WI_TRY(
            wi_queue_finish(context->devices[0])); /* also after an error, as it may be writing to the host */
    WI_TRY(status);
    for (int d = 1; any && d < context->device_count; d++) WI_TRY(send(graph, context->devices[d]));
    return WEFT_OK;
}

/* ---- variables ---- */

/* Reads into `to`, or if this is NULL, writes from `from`. */
static weft_status transfer(const weft_tensor *variable, wi_device *device, char *to, const char *from) {
    weft_graph *const graph = variable->graph;
    const wi_variable *const own = variable->variable;
    if (!to) wi_block_written_on(graph, own->block, device);
    for (size_t done = 0; done < own->bytes;) {
        cl_mem memory = NULL;
        const size_t at = own->offset + done, piece = graph->blocks[own->block].bytes;
        const wi_block_range r = wi_graph_block_range(graph, own->block, at, own->bytes - done);
        WI_TRY(wi_block_memory_on(graph, own->block + at / piece, device, &memory));
        const cl_int error = to ? clEnqueueReadBuffer(device->queue, memory, CL_FALSE, r.offset, r.bytes,
                                      to + done, 0, NULL, NULL)
                                : clEnqueueWriteBuffer(device->queue, memory, CL_FALSE, r.offset, r.bytes,
                                      from + done, 0, NULL, NULL);
        WI_CL(error, to ? "reading a state" : "writing a state");
        done += r.bytes;
    }
    return WEFT_OK;
}

weft_status wi_variable_read_on(const weft_tensor *variable, wi_device *device, void *data) {
    return transfer(variable, device, data, NULL);
}

weft_status wi_variable_write_on(const weft_tensor *variable, wi_device *device, const void *data) {
    return transfer(variable, device, NULL, data);
}
