/* Finds a process that is persistently slower than the others. */
#ifndef WI_SPEEDS_H
#define WI_SPEEDS_H

#include "base/status.h"

/* The number of steps over which the seconds are added before they are compared, so that a single slow step does not matter. */
enum { WI_SPEED_STEPS = 32 };

typedef struct wi_speeds {
    const weft_allocator *allocator;
    size_t ranks, steps;
    double *
        sums; /* by rank: seconds per shard, added over the steps since the last comparison; the caller adds each step */
    double *others;
    size_t slowest; /* the slow rank of the last comparison; SIZE_MAX: none */
    bool is_known;  /* the slow rank was reported already */
} wi_speeds;

typedef struct wi_slow_rank {
    size_t rank;
    double seconds, factor; /* mean seconds for a shard; these divided by the median of the other ranks */
} wi_slow_rank;

weft_status wi_speeds_init(wi_speeds *speeds, const weft_allocator *allocator, size_t ranks);
void wi_speeds_clear(wi_speeds *speeds);
/* After each step, whose seconds the caller has added to `sums`. Returns the slowest rank once it has been 1.5 times as slow as the median
 * of the others in two comparisons in a row; otherwise, and if it was returned before, one whose factor is 0. */
wi_slow_rank wi_speeds_step(wi_speeds *speeds);

#endif
