/* Copies of variables on further devices of the context.
 *
 * Blocks (weft_graph.h) are on the first device. A plan that runs as a whole on another device (wi_plan_create_on) has copies of the
 * blocks that it reads or assigns. wi_copies_update brings all copies of a graph up to date, before the plans of a step run;
 * what a plan assigns changes only the copy of its device, until the next update. */
#ifndef WI_BLOCK_COPIES_H
#define WI_BLOCK_COPIES_H

#include "cl/opened_device.h"
#include "graph/weft_graph.h"

/* The memory of a block on a device of the graph's context: that of the block, or a copy, which is created at the first call. */
weft_status wi_block_memory_on(weft_graph *graph, size_t block, const wi_device *device, cl_mem *memory);
/* Whether the block has memory on the device. */
bool wi_block_is_on(const weft_graph *graph, size_t block, const wi_device *device);
/* The number of writes so far to the block's memory on this device (as wi_block.writes). */
uint64_t wi_block_writes_on(const weft_graph *graph, size_t block, const wi_device *device);
/* Like wi_graph_block_written, for a plan that writes to the block's memory on this device. */
void wi_block_written_on(weft_graph *graph, size_t block, const wi_device *device);

/* Copies the blocks that were written since the last update, or that a plan has changed on a further device, to all devices with copies.
 * Waits for the first device, but not for the others. No effect without copies. */
weft_status wi_copies_update(weft_graph *graph);
/* Enqueue a copy between host memory and the variable's memory on this device, which the block must have. The data must stay valid, and data
 * that is written must not change, until the device has finished. */
weft_status wi_variable_read_on(const weft_tensor *variable, wi_device *device, void *data);
weft_status wi_variable_write_on(const weft_tensor *variable, wi_device *device, const void *data);

void wi_copies_release(weft_graph *graph, wi_block *block);

#endif
