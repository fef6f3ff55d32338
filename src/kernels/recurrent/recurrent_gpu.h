/* What the implementations of recurrent scans of class gpu share. recurrent_gpu.cl and recurrent_engine_gpu.cl have the same
 * arguments and launches, and differ in how a work-group multiplies. */
#ifndef WI_RECURRENT_GPU_H
#define WI_RECURRENT_GPU_H

#include "kernels/recurrent/recurrent_arguments.h"

typedef struct wi_recurrent_groups {
    int64_t items; /* work-items of a work-group */
    int64_t rows;  /* rows of the batch that a work-group computes */
    int64_t quads; /* quads of columns that a work-group computes at once: a *chunk* */
    int64_t block; /* steps of k of a block of packed weights; there is one more block, which is read ahead */
    int64_t bytes; /* bytes of a number of the packed weights */
    int64_t prepare; /* items of a group that packs weights and sets states */
    double share;    /* the speed of the products, as a multiple of the f32 peak */
} wi_recurrent_groups;

/* Do the indices within a step fit in 32 bits? */
bool wi_recurrent_groups_fit(const wi_kernel_site *site);
/* Appends the launches, and estimates their seconds. */
void wi_recurrent_groups_prepare(
    const wi_kernel_site *site, const wi_recurrent_groups *groups, wi_kernel_plan *plan);
double wi_recurrent_groups_seconds(const wi_kernel_site *site, const wi_recurrent_groups *groups);

#endif
