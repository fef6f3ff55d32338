/* What the implementations of attention of class gpu share: attention_gpu.cl and attention_engine_gpu.cl take the same arguments
 * in the same launches, and differ in how a group multiplies. */
#ifndef WI_ATTENTION_GPU_H
#define WI_ATTENTION_GPU_H

#include "kernels/attention/attention_arguments.h"

/* A work-group: its items, the rows (queries or keys) of its block, and how many of the others come at a time. For estimates:
 * numbers that are multiplied for each score and each of its two products, and the share of f32's peak that they reach. */
typedef struct wi_attention_groups {
    int64_t items, rows, others;
    double d, dv, share;
} wi_attention_groups;

/* Columns of a head that a program is for: 32, 64, 128 or 256. */
int64_t wi_attention_gpu_columns(int64_t width);
/* Offsets within a block of rows are ints. */
bool wi_attention_gpu_fits(const wi_kernel_site *site);

/* Launches, and what they take. */
void wi_attention_groups_forward(
    const wi_kernel_site *site, wi_kernel_plan *plan, const wi_attention_groups *groups);
void wi_attention_groups_gradient(
    const wi_kernel_site *site, wi_kernel_plan *plan, const wi_attention_groups *groups);
double wi_attention_groups_forward_seconds(const wi_kernel_site *site, const wi_attention_groups *groups);
double wi_attention_groups_gradient_seconds(const wi_kernel_site *site, const wi_attention_groups *groups);

#endif
