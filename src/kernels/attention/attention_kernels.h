/* What the implementations of attention share: sizes, and arguments, which attention_cpu.cl and attention_gpu.cl
 * take in the same order. */
#ifndef WI_ATTENTION_KERNELS_H
#define WI_ATTENTION_KERNELS_H

#include "kernels/registry.h"
#include "ops/attention/attention.h"

/* Queries, keys and values are (n0, n1, length, width): batch and heads before them. */
typedef struct wi_attention_sizes {
    int64_t n0, n1, queries, keys, d, dv;
} wi_attention_sizes;

wi_attention_sizes wi_attention_sizes_of(const wi_kernel_site *site);

/* `items` work-items for each of the batch's heads. */
wi_kernel_launch *wi_attention_launch(
    wi_kernel_plan *plan, const char *suffix, int64_t items, int64_t group, const wi_attention_sizes *s);

void wi_attention_forward_arguments(
    wi_kernel_launch *launch, const wi_kernel_site *site, const wi_attention_sizes *s);
/* to_scratch: the gradient of the queries is written to scratch memory, one for each `range` of keys. */
void wi_attention_gradient_arguments(wi_kernel_launch *launch, const wi_kernel_site *site,
    const wi_attention_sizes *s, bool to_scratch, int64_t range);

/* Multiplications and additions of both passes. */
double wi_attention_forward_flops(const wi_attention_sizes *s);
double wi_attention_gradient_flops(const wi_attention_sizes *s);

extern const wi_implementation wi_attention_amx, wi_attention_amx_gradient, wi_attention_cpu,
    wi_attention_few, wi_attention_gpu, wi_attention_cpu_gradient, wi_attention_gpu_gradient;

#endif
