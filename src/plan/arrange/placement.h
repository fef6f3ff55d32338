/* The placement: from when to when each memory is in use, what lies over what, and offsets in as few buffers as the
 * device allows. Exact before anything is allocated. */
#ifndef WI_PLACEMENT_H
#define WI_PLACEMENT_H

#include "plan/arrange/materialise.h"

/* A storage of the partition, a further instance of one, or the scratch memory of a run. */
typedef struct wi_place {
    wi_storage_kind kind;
    int device; /* index */
    size_t bytes;
    int first, last; /* runs between which it is in use; -1: in none */
    bool keep;
    bool cleared;        /* kept, and zero at first */
    int alias;           /* lies inside that place; -1: of its own */
    size_t alias_offset; /* bytes */
    size_t chunk;        /* ARENA without alias: the buffer that it lies in, */
    size_t offset;       /* and where, in bytes */
} wi_place;

typedef struct wi_placement {
    const wi_partition *partition;
    const wi_materialised *runs;
    wi_arena *arena;
    wi_place *places; /* the partition's storages, further instances, then scratch memory */
    size_t place_count;
    int *scratch; /* by run: a place; -1: none */
    int *fixed;   /* the same, of the scratch memory that is filled for all runs */
    /* By device: where steps join their splits, one after another; every launch leaves zeros. -1: none does. */
    int cells[WI_MAX_DEVICES];
    size_t *chunk_bytes; /* of the arena's buffers */
    int *chunk_device;   /* index */
    size_t chunk_count;
    size_t arena_bytes, io_bytes;        /* on all devices */
    size_t device_bytes[WI_MAX_DEVICES]; /* of both, by device index */
    size_t lower_bound;                  /* no arena has less */
} wi_placement;

/* arena: for what the placement holds. */
weft_status wi_plan_placement(const wi_materialised *runs, wi_arena *arena, wi_placement *placement);
/* The bytes that a storage takes, with what aligns the next. */
size_t wi_aligned_bytes(size_t bytes);
/* May the step write the output over the input, when nothing reads the input after it? */
bool wi_may_lie_over(
    const wi_loops *loops, const wi_loop *loop, const wi_operand *output, const wi_operand *input);
/* The place that aliases lead to; *offset (may be NULL) gets the bytes from its beginning. */
int wi_place_root(const wi_placement *placement, int place, size_t *offset);

#endif
