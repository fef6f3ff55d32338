/* Finds a process that is slow for long. */
#ifndef WI_SPEEDS_H
#define WI_SPEEDS_H

#include "base/status.h"

/* Steps whose seconds are compared together, so that one slow step does not count. */
enum { WI_SPEED_STEPS = 32 };

typedef struct wi_speeds {
    const weft_allocator *allocator;
    size_t ranks, steps;
    double
        *sums; /* of each rank: seconds for a shard, over the steps so far; the caller adds those of a step */
    double *others;
    size_t slowest; /* the slow rank of the last comparison; SIZE_MAX: none */
    bool is_known;  /* it was reported already */
} wi_speeds;

typedef struct wi_slow_rank {
    size_t rank;
    double seconds, factor; /* mean seconds for a shard, and the factor to the median of the other ranks */
} wi_slow_rank;

weft_status wi_speeds_init(wi_speeds *speeds, const weft_allocator *allocator, size_t ranks);
void wi_speeds_clear(wi_speeds *speeds);
/* After each step, whose seconds the caller has added to `sums`. Returns the slowest rank once it has been 1.5 times as slow as the median
 * of the others in two comparisons in a row; otherwise, and if it was returned before, one whose factor is 0. */
wi_slow_rank wi_speeds_step(wi_speeds *speeds);

#endif
