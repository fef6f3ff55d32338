/* The schedule: how each step's work is cut into work-items, what scratch memory that takes, and what the step
 * costs. Only here do actual sizes decide, and only between kernels that the program has anyway. */
#ifndef WI_SCHEDULE_H
#define WI_SCHEDULE_H

#include "plan/code.h"

typedef struct wi_step_schedule {
    int work[WI_WORK_NUMBERS]; /* LOOP: the work split. PRODUCT with sums: columns and splits */
    size_t items, combine_items;
    size_t scratch_bytes;
    size_t
        cell_bytes; /* of the device's cells (placement.h), in which a launch joins its own splits; 0: it has none */
    /* Of the launches, the first that need not run again until a variable is written (fixed.c); of the scratch memory, the
     * first bytes, which these fill for all runs. */
    int fixed_launches;
    size_t fixed_bytes;
    int launch_count; /* repetitions included */
    double flops, bytes_moved;
    double seconds; /* estimated */
} wi_step_schedule;

typedef struct wi_schedule {
    const wi_code *code;
    wi_step_schedule *of; /* by step */
} wi_schedule;

weft_status wi_plan_schedule(const wi_code *code, wi_schedule *schedule);
/* fixed.c: which launches are fixed; nothing is, from now on; does the whole step depend on nothing but fixed values? */
void wi_find_fixed(wi_schedule *schedule);
bool wi_schedule_unfix(wi_schedule *schedule);
bool wi_step_is_fixed(const wi_schedule *schedule, const wi_step *step);
/* Has the step's reduction two launches, of which one combines the splits? */
bool wi_is_split(const wi_step *step, const wi_step_schedule *schedule);

#endif
