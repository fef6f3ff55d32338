/* The schedule: how the work of each step is divided among work-items, the scratch memory of the step, and its estimated time. Actual sizes
 * decide here; the structure of the plan, which general sizes decide, does not change. */
#ifndef WI_SCHEDULE_H
#define WI_SCHEDULE_H

#include "plan/layout/loops.h"

/* The numbers that describe the division of a loop's work (code_loop.c): w0, w1, ... in kernels. */
enum {
    WI_WORK_RESULTS, /* results (in a map, elements); if an item computes several elements: items */
    WI_WORK_ROWS,    /* rows that an item computes; if an item computes several elements: items in each row */
    WI_WORK_SPANS,   /* ranges of columns into which a row is divided */
    WI_WORK_SPAN,    /* elements of such a range */
    WI_WORK_SPLITS,  /* splits of a reduction */
    WI_WORK_NUMBERS
};

struct wi_kernel_plan; /* kernels/kernel_plan.h */

typedef struct wi_step_schedule {
    struct wi_kernel_plan *kernel; /* PRODUCT and KERNEL: launches and macros; NULL: a library's kernel */
    int work[WI_WORK_NUMBERS];     /* LOOP: the division of the work */
    size_t items, combine_items;   /* LOOP: work-items of the loop's launch, and of `combine` */
    size_t scratch_bytes;
    size_t cell_bytes; /* cells (placement.h) in which the launch joins its splits; 0: it needs none */
    /* The first `fixed_launches` launches are fixed (fixed.c). They fill the first `fixed_bytes` of the scratch memory, for all runs. */
    int fixed_launches;
    size_t fixed_bytes;
    int launch_count; /* each repetition counts */
    double flops, bytes_moved;
    double seconds; /* estimated */
} wi_step_schedule;

typedef struct wi_schedule {
    const wi_loops *loops;
    wi_step_schedule *of;       /* by step */
    struct wi_key_map *kernels; /* by implementation and site */
    bool draws;                 /* a kernel op takes random numbers */
} wi_schedule;

weft_status wi_plan_schedule(const wi_loops *loops, wi_schedule *schedule);
/* fixed.c: makes every launch run in every run of the plan. Returns false if no launch was fixed. */
bool wi_schedule_unfix(wi_schedule *schedule);
/* Is the step a loop whose launches are all fixed? */
bool wi_step_is_fixed(const wi_schedule *schedule, const wi_step *step);
/* Does the loop have two launches, of which the second combines the partial results of splits? */
bool wi_is_split(const wi_step *step, const wi_step_schedule *schedule);

#endif
