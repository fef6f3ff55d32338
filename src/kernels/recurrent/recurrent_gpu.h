/* What the implementations of recurrent scans of class gpu share: recurrent_gpu.cl and recurrent_engine_gpu.cl take the same arguments in
 * the same launches, and differ in how a group multiplies. */
#ifndef WI_RECURRENT_GPU_H
#define WI_RECURRENT_GPU_H

#include "kernels/recurrent/recurrent_arguments.h"

/* A work-group: its items, the rows of the batch that it owns, and the quads of columns, a chunk, that it takes at once. Packed weights:
 * steps of k of a block, to which chunks are filled up, with a block that is read ahead, and bytes of a number. Items of a group that
 * prepares. For estimates: how many times f32's peak the products reach. */
typedef struct wi_recurrent_groups {
    int64_t items, rows, quads, block, bytes, prepare;
    double share;
} wi_recurrent_groups;

/* Indices within a step have 32 bits. */
bool wi_recurrent_groups_fit(const wi_kernel_site *site, bool back);
/* Launches, and the seconds that they take. */
void wi_recurrent_groups_prepare(
    const wi_kernel_site *site, bool back, const wi_recurrent_groups *groups, wi_kernel_plan *plan);
double wi_recurrent_groups_seconds(const wi_kernel_site *site, bool back, const wi_recurrent_groups *groups);

#endif
