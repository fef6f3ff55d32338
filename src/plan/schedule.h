/* The schedule: how each step's work is cut into work-items, what scratch memory that takes, and what the step
 * costs. Only here do actual sizes decide, and only between kernels that the program has anyway. */
#ifndef WI_SCHEDULE_H
#define WI_SCHEDULE_H

#include "plan/code.h"

typedef struct wi_step_schedule {
    int work[5]; /* LOOP: the work split, see code_loop.c; work[4] is the number of splits */
    size_t items, combine_items;
    size_t scratch_bytes;
    int launch_count; /* repetitions included */
    double flops, bytes_moved;
    double seconds; /* estimated */
} wi_step_schedule;

typedef struct wi_schedule {
    const wi_code *code;
    wi_step_schedule *of; /* by step */
} wi_schedule;

weft_status wi_plan_schedule(const wi_code *code, wi_schedule *schedule);
/* Is the step's reduction split? */
bool wi_is_split(const wi_step *step, const wi_step_schedule *schedule);

#endif
