/* What the implementations of attention of class gpu share. attention_gpu.cl and attention_engine_gpu.cl have the same arguments
 * and launches, and differ in how a work-group multiplies. */
#ifndef WI_ATTENTION_GPU_H
#define WI_ATTENTION_GPU_H

#include "kernels/attention/attention_arguments.h"

/* A work-group computes a block of `rows` and reads `others` at a time. For the result and dq the rows are queries and the
 * *others* are keys; for dk and dv the rows are keys and the others are queries. */
typedef struct wi_attention_groups {
    int64_t items, rows, others; /* items: work-items of a work-group */
    double d, dv;                /* multiply-adds for one score in the products with keys and with values */
    double share;                /* the speed of the products, as a multiple of the f32 peak */
} wi_attention_groups;

/* The number of columns of a head for which a program is compiled: 32, 64, 128 or 256. */
int64_t wi_attention_gpu_columns(int64_t width);
/* Do the offsets within a block of rows fit in ints? */
bool wi_attention_gpu_fits(const wi_kernel_site *site);

/* Append the launches of a pass, and estimate its seconds. */
void wi_attention_groups_forward(
    const wi_kernel_site *site, wi_kernel_plan *plan, const wi_attention_groups *groups);
void wi_attention_groups_gradient(
    const wi_kernel_site *site, wi_kernel_plan *plan, const wi_attention_groups *groups);
double wi_attention_groups_forward_seconds(const wi_kernel_site *site, const wi_attention_groups *groups);
double wi_attention_groups_gradient_seconds(const wi_kernel_site *site, const wi_attention_groups *groups);

#endif
