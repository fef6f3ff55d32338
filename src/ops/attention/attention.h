/* Attention for its kernels and the layers above. */
#ifndef WI_ATTENTION_H
#define WI_ATTENTION_H

#include "ops/op_table.h"

/* Inputs of attention_forward (the first four) and of attention_gradient. */
enum {
    WI_ATTENTION_QUERY,
    WI_ATTENTION_KEY,
    WI_ATTENTION_VALUE,
    WI_ATTENTION_MASK,
    WI_ATTENTION_FORWARD = 3,
    WI_ATTENTION_OUTPUT_GRADIENT,
    WI_ATTENTION_GRADIENT_MASK
};

extern const wi_op wi_op_attention_forward, wi_op_attention_gradient;

/* The widest heads that the kernels take; wider ones are composed of other ops. */
enum { WI_ATTENTION_WIDTH = 256 };

#define WI_LOG2_E 1.4426950408889634

/* ---- composed of other ops (attention_composed.c) ---- */

/* (queries, keys): does the causal mask leave it? x = {q, k, ...}. */
weft_tensor *wi_attention_allowed(weft_tensor *const *x);
/* weft_attention of checked inputs, with the scores in memory. */
weft_tensor *wi_attention_composed(
    weft_tensor *const *x, const weft_attention_options *options, double scale);
/* softmax(q kT scale + mask), with the scores in memory; mask NULL: none. */
weft_tensor *wi_attention_weights(weft_tensor *const *x, weft_tensor *mask, double scale, bool causal);
/* What gradients of the kernels go back through. */
weft_tensor *wi_attention_forward_composed(weft_tensor *y, weft_tensor *leaves[WI_COMPOSED_LEAVES]);
weft_tensor *wi_attention_gradient_composed(weft_tensor *y, weft_tensor *leaves[WI_COMPOSED_LEAVES]);

/* Elements as a dimension is written. */
int64_t wi_attention_length(const wi_shape *shape);
/* What the logarithms in a packed result lost by rounding: 1, or less where a mask is of large numbers. */
weft_tensor *wi_attention_lost(weft_tensor *pack, const wi_shape *y);

/* weft_attention of x = {q, k, v, mask or NULL}; options without their mask. heads_inside: the result lies in
 * memory with its third axis before its second, (batch, length, heads, width), so that heads merge at no
 * cost. */
weft_tensor *wi_attention(weft_tensor *const *x, const weft_attention_options *options, bool heads_inside);

#endif
