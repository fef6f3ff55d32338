/* Slices: loops that read the same rows of a table, run for one slice of the batch after another in one launch.
 *
 *     picked rows ──▶ loop ──▶ loop ──▶ loop          slice 0: all three; slice 1: all three; ...
 *          ╲──────────────────────────▲
 *
 * Where rows are picked by two loops (partition_picks.c), the second would get them from far away again: those of a slice are
 * still in the first-level cache. What the second needs of what lies between comes along. All of them have the same first
 * dimension, along which a slice of each depends on the same slice of the others alone, so that items meet nowhere. The launch
 * is in the place of the first loop. Only where items walk; under a limit of memory that this does not fit into, each loop
 * has a launch of its own. No bit of a result depends on it. */
#ifndef WI_SLICES_H
#define WI_SLICES_H

#include "plan/schedule.h"

enum { WI_MOST_SLICED = 4 };

struct wi_sliced {
    int steps[WI_MOST_SLICED], count; /* in their order */
    wi_size size;                     /* of what is sliced, such as the batch */
    int64_t row_bytes;                /* of the rows that are picked for one of it */
    wi_kernel_text
        kernels[WI_MOST_SLICED]; /* the arguments of each step, after another; all have one piece */
    int work[WI_MOST_SLICED][WI_WORK_NUMBERS]; /* as in wi_step_schedule, of one slice */
    int slices;                                /* of an item */
    size_t items;
    struct wi_sliced *next;
};

/* ---- code ---- */
/* The loops that are sliced, with the kernels of each launch. */
weft_status wi_code_slices(wi_code *code);
/* code_slices.c */
weft_status wi_code_sliced(wi_code *code, wi_sliced *sliced);

/* ---- schedule ---- */
void wi_cut_slices(wi_schedule *schedule);
/* None is, from now on. */
void wi_schedule_unslice(wi_schedule *schedule);
/* Of a step that is sliced: the steps between whose places what it reads and writes is in use. */
static inline int wi_first_sliced(const wi_sliced *sliced) {
    return sliced->steps[0];
}
static inline int wi_last_sliced(const wi_sliced *sliced) {
    return sliced->steps[sliced->count - 1];
}

#endif
