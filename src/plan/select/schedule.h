/* The schedule: how each step's work is cut into work-items, what scratch memory that takes, and what the step
 * costs. Only here do actual sizes decide, and only between kernels that the program has anyway. */
#ifndef WI_SCHEDULE_H
#define WI_SCHEDULE_H

#include "plan/layout/loops.h"

/* The numbers of a step's work split (code_loop.c), w0, w1, ... in kernels. */
enum {
    WI_WORK_RESULTS, /* or rows, or items where these have several elements */
    WI_WORK_ROWS,    /* of an item; where items have several elements, items of a row */
    WI_WORK_SPANS,   /* of a row */
    WI_WORK_SPAN,    /* elements of one */
    WI_WORK_SPLITS,
    WI_WORK_NUMBERS
};

struct wi_kernel_plan; /* kernels/kernel_plan.h */

typedef struct wi_step_schedule {
    struct wi_kernel_plan *kernel;    /* PRODUCT and KERNEL: launches and macros; NULL: a library's */
    int work[WI_WORK_NUMBERS]; /* LOOP: the work split */
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
    const wi_loops *loops;
    wi_step_schedule *of; /* by step */
    wi_key_map kernels;   /* by implementation and site */
    bool draws;           /* a kernel op takes random numbers */
} wi_schedule;

weft_status wi_plan_schedule(const wi_loops *loops, wi_schedule *schedule);
/* fixed.c: from now on every launch runs every time. False: all did before. */
bool wi_schedule_unfix(wi_schedule *schedule);
/* Does the whole step depend on nothing but fixed values? */
bool wi_step_is_fixed(const wi_schedule *schedule, const wi_step *step);
/* Has the step's reduction two launches, of which one combines the splits? */
bool wi_is_split(const wi_step *step, const wi_step_schedule *schedule);

#endif
