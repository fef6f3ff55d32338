/* Attention, for its kernels and for higher layers. */
#ifndef WI_ATTENTION_H
#define WI_ATTENTION_H

#include "ops/op_table.h"

/* Inputs of attention_forward and of attention_gradient. */
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

/* The largest width of a head that the kernels support; other ops compute wider ones. */
enum { WI_ATTENTION_WIDTH = 256 };

#define WI_LOG2_E 1.4426950408889634

/* ---- attention of ordinary nodes, with the scores in memory (attention_composed.c) ---- */

/* Does what weft_attention does, by ordinary nodes, for inputs that have been checked. */
weft_tensor *wi_attention_composed(
    weft_tensor *const *x, const weft_attention_options *options, double scale);
/* softmax(q kT scale + mask); mask NULL: none. */
weft_tensor *wi_attention_weights(weft_tensor *const *x, weft_tensor *mask, double scale, bool causal);
/* The functions wi_op.composed of the kernels' ops. */
weft_tensor *wi_attention_forward_composed(weft_tensor *y, weft_tensor *leaves[WI_COMPOSED_LEAVES]);
weft_tensor *wi_attention_gradient_composed(weft_tensor *y, weft_tensor *leaves[WI_COMPOSED_LEAVES]);

/* The number of elements of the shape, as a dimension (negative if it is a multiple of the batch). */
int64_t wi_attention_length(weft_graph *graph, const wi_shape *shape);
/* The correction of each row: the factor by which the gradient must be multiplied because the logarithm of the row's sum is rounded. It
 * is 1, or less if a mask has large numbers (attention_mask.clh). */
weft_tensor *wi_attention_lost(weft_tensor *pack, const wi_shape *y);

/* Do the kernels compute attention of x = {q, k, v}? lead: the leading dimensions of the three, broadcast. */
bool wi_attention_fits(weft_tensor *const *x, const wi_shape *lead);
/* The composite over checked inputs {q, k, v, mask or NULL}, reshaped to (lead..., queries, dv). */
weft_tensor *wi_attention_over(
    weft_tensor *const *x, const wi_shape *lead, const wi_attention_attributes *attributes);

/* weft_attention of x = {q, k, v, mask or NULL}; the mask of the options is ignored. heads_inside: the result is stored as (batch,
 * length, heads, width), so that merging the heads needs no copy. */
weft_tensor *wi_attention(weft_tensor *const *x, const weft_attention_options *options, bool heads_inside);

#endif
