/* Parameters and states in host memory.
 *
 * If a plan does not fit in the context's memory limit although it runs steps again, it keeps blocks of the graph in host memory
 * (host_blocks.c). A run of a step that accesses such a block gets *loads*: the bytes that it accesses are copied to the arena before its
 * kernels, and copied back after them if the step changes them. In the arena, loads are like scratch memory: only their run uses them.
 * Steps, kernels and the order of the sums are those of a plan without a limit, and so are the bits of the results.
 *
 *   loads.c        the loads of each run
 *   host_blocks.c  chooses the blocks */
#ifndef WI_LOADS_H
#define WI_LOADS_H

#include "plan/arrange/materialise.h"

/* A range of a block in host memory that a run has on the device. */
typedef struct wi_load {
    int storage, place;
    size_t first, bytes; /* first byte of the range in the storage, and number of bytes */
    bool changes;        /* the run writes to the range, which is then copied back */
} wi_load;

enum { WI_MOST_LOADS = WI_MAX_OPERANDS + 2 };

/* Lists the loads of the step, without their places in the arena, and returns their number. */
int wi_step_loads(const wi_loops *loops, int step, wi_load loads[WI_MOST_LOADS]);
/* The bytes of the arena that the loads of the step take, and the bytes that are copied. */
typedef struct wi_load_cost {
    size_t bytes, copied;
} wi_load_cost;
wi_load_cost wi_step_load_cost(const wi_loops *loops, int step);
/* Adds the loads of the steps to the runs. */
weft_status wi_load_runs(wi_materialised *m, wi_arena *arena);

/* Marks further blocks, which the plan keeps in host memory, until they have at least `missing` bytes. The blocks that are copied least for
 * their size come first, and of these the largest. False: the plan has no further block that could be there. */
bool wi_choose_host_blocks(wi_partition *partition, const wi_loops *loops, size_t missing);
/* Bytes on the device of blocks that are marked but have not moved yet. */
size_t wi_bytes_to_move(const wi_partition *partition);
/* Moves the marked blocks to host memory. */
weft_status wi_move_host_blocks(const wi_partition *partition);

#endif
