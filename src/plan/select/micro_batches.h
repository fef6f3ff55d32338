/* Micro-batches of a plan: as many as it takes for each memory to fit into a buffer that the device allows. */
#ifndef WI_MICRO_BATCHES_H
#define WI_MICRO_BATCHES_H

#include "plan/select/schedule.h"

/* What to try next. */
typedef struct wi_micro_batches {
    int64_t count;       /* of them */
    size_t most_scratch; /* bytes of the kernels' scratch memory; 0: any */
    size_t bytes;        /* of what was too large when it was last asked; 0: nothing yet */
    bool enough;         /* the schedule is good */
} wi_micro_batches;

/* Asks after each schedule. Fails, with the line that names what is too large, where more would not help. */
weft_status wi_count_micro_batches(const wi_schedule *schedule, wi_micro_batches *m);

#endif
