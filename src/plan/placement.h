/* The placement: from when to when each memory is in use, what lies over what, and offsets in as few buffers as the
 * device allows. Exact before anything is allocated. */
#ifndef WI_PLACEMENT_H
#define WI_PLACEMENT_H

#include "plan/schedule.h"

/* A storage of the partition, or the scratch memory of a step. */
typedef struct wi_place {
    wi_storage_kind kind;
    size_t bytes;
    int first, last; /* steps between which it is in use; -1: in none */
    bool keep;
    int alias;           /* lies inside that place; -1: of its own */
    size_t alias_offset; /* bytes */
    size_t chunk;        /* ARENA without alias: the buffer that it lies in, */
    size_t offset;       /* and where, in bytes */
} wi_place;

typedef struct wi_placement {
    const wi_partition *partition;
    wi_place *places; /* the partition's storages, then scratch memory */
    size_t place_count;
    int *scratch;        /* by step: a place; -1: none */
    size_t *chunk_bytes; /* of the arena's buffers */
    size_t chunk_count;
    size_t arena_bytes, io_bytes;
    size_t lower_bound; /* no arena has less */
} wi_placement;

weft_status wi_plan_placement(const wi_schedule *schedule, wi_placement *placement);
/* The place that aliases lead to; *offset (may be NULL) gets the bytes from its beginning. */
int wi_place_root(const wi_placement *placement, int place, size_t *offset);

#endif
