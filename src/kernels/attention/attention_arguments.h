/* What the implementations of attention share: sizes, and the arguments of their kernels. */
#ifndef WI_ATTENTION_ARGUMENTS_H
#define WI_ATTENTION_ARGUMENTS_H

#include "kernels/implementation.h"
#include "ops/attention/attention.h"

/* Queries, keys and values have the shape (n0, n1, length, width): batch, heads, length, width of a head. */
typedef struct wi_attention_sizes {
    int64_t n0, n1, queries, keys, d, dv; /* d: width of queries and keys; dv: of values */
} wi_attention_sizes;

wi_attention_sizes wi_attention_sizes_of(const wi_kernel_site *site);

/* A launch of `items` work-items for each head of the batch. */
wi_kernel_launch *wi_attention_launch(
    wi_kernel_plan *plan, const char *suffix, int64_t items, int64_t group, const wi_attention_sizes *s);

/* The arguments of the forward kernels. */
void wi_attention_forward_arguments(
    wi_kernel_launch *launch, const wi_kernel_site *site, const wi_attention_sizes *s);
/* Appends the arguments of the gradient kernels of attention_cpu.cl and attention_naive.cl. The keys are divided into ranges of
 * `range` keys. to_scratch: each range writes a separate gradient of the queries to scratch memory, not to the result. */
void wi_attention_gradient_arguments(wi_kernel_launch *launch, const wi_kernel_site *site,
    const wi_attention_sizes *s, bool to_scratch, int64_t range);

/* Each function appends a group of arguments: the four strides of an input; the strides of a section of the result along n0, n1
 * and its rows; the kind of the mask, the mask's memory and strides (those of the queries if there is no mask), and whether the
 * attention is causal. */
void wi_attention_strides(wi_kernel_launch *launch, const wi_kernel_site *site, int input);
void wi_attention_section_strides(wi_kernel_launch *launch, const wi_kernel_site *site,
    const wi_attention_sizes *s, int64_t length, int64_t width);
void wi_attention_mask(wi_kernel_launch *launch, const wi_kernel_site *site, int mask);
/* Appends the last arguments: the scale and, if weights are dropped, what the kernel needs to draw the dropped weights. */
void wi_attention_scale_and_dropout(wi_kernel_launch *launch, const wi_kernel_site *site);

/* Defines WEFT_DROP for a template: 1 if weights are dropped, else 0. */
void wi_attention_dropout_macro(wi_kernel_plan *plan, const wi_kernel_site *site);

/* Floating-point operations of the forward pass, and of the gradient. */
double wi_attention_forward_flops(const wi_attention_sizes *s);
double wi_attention_gradient_flops(const wi_attention_sizes *s);

#endif
