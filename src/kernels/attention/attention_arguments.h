/* What the implementations of attention share: sizes, and arguments, which attention_cpu.cl and attention_gpu.cl
 * take in the same order. */
#ifndef WI_ATTENTION_ARGUMENTS_H
#define WI_ATTENTION_ARGUMENTS_H

#include "kernels/implementation.h"
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

/* Groups of arguments: an input's four strides; strides n0, n1 and row of a section of the result; the kind of mask, its
 * memory and strides, causal; and, behind all others, dropout, where weights are dropped. */
void wi_attention_strides(wi_kernel_launch *launch, const wi_kernel_site *site, int input);
void wi_attention_section_strides(wi_kernel_launch *launch, const wi_kernel_site *site,
    const wi_attention_sizes *s, int64_t length, int64_t width);
void wi_attention_mask(wi_kernel_launch *launch, const wi_kernel_site *site, int mask);
void wi_attention_dropout(wi_kernel_launch *launch, const wi_kernel_site *site);

/* Defines WEFT_DROP for a template: 1 where weights are dropped. */
void wi_attention_dropout_macro(wi_kernel_plan *plan, const wi_kernel_site *site);

/* Multiplications and additions of both passes. */
double wi_attention_forward_flops(const wi_attention_sizes *s);
double wi_attention_gradient_flops(const wi_attention_sizes *s);

#endif
