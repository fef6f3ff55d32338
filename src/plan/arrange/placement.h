/* Placement: the live range of each place, places that share memory, and offsets in as few buffers as the device allows. The bytes are
 * exact before any memory is allocated. */
#ifndef WI_PLACEMENT_H
#define WI_PLACEMENT_H

#include "plan/arrange/materialise.h"

/* Memory that gets an offset: a storage of the partition, another instance of a storage, or scratch memory of a run. */
typedef struct wi_place {
    wi_storage_kind kind;
    int device; /* device index */
    size_t bytes;
    int first, last;     /* the first and last run that use it; -1: no run does */
    bool keep;           /* in use as long as the plan exists, so that no other place shares this memory */
    bool cleared;        /* zeroed when the memory is allocated; such a place is also kept */
    int alias;           /* the place that contains this one; -1: none */
    size_t alias_offset; /* bytes from the beginning of the alias */
    size_t chunk;        /* ARENA without alias: index of its buffer in the arena */
    size_t offset;       /* ARENA without alias: bytes from the beginning of this buffer */
} wi_place;

typedef struct wi_placement {
    const wi_partition *partition;
    const wi_materialised *runs;
    wi_arena *arena;
    wi_place *places; /* storages of the partition, further instances, loads, then scratch memory */
    size_t place_count;
    int *scratch; /* by run: the place of its scratch memory; -1: none */
    /* By run: the place of scratch memory that a fixed launch fills for all runs of the plan; -1: none. */
    int *fixed;
    /* By device index: the cells through which splits of a reduction are joined. Steps use them one after another, and each launch
     * leaves them zero. -1: no step needs cells. */
    int cells[WI_MAX_DEVICES];
    size_t *chunk_bytes; /* bytes of each buffer of the arena */
    int *chunk_device;   /* device index of each buffer */
    size_t chunk_count;
    size_t arena_bytes, io_bytes;        /* bytes of the arena and of inputs, over all devices */
    size_t device_bytes[WI_MAX_DEVICES]; /* arena and inputs, by device index */
    size_t lower_bound;                  /* bytes of the smallest possible arena */
} wi_placement;

/* arena: host memory for the arrays of the placement. */
weft_status wi_plan_placement(const wi_materialised *runs, wi_arena *arena, wi_placement *placement);
/* The bytes rounded up to the alignment of the next place. */
static inline size_t wi_aligned_bytes(size_t bytes) {
    enum { ALIGNMENT = 128 };
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}
/* Can the step write the output over the input, if no later step reads the input? */
bool wi_may_overwrite(
    const wi_loops *loops, const wi_loop *loop, const wi_operand *output, const wi_operand *input);
/* The place that contains this one and lies in no other; *offset (may be NULL): bytes from its beginning. */
int wi_place_root(const wi_placement *placement, int place, size_t *offset);

#endif
