/* What all losses share: checks of their inputs and options, reductions, and a few functions. */
#ifndef WI_LOSS_H
#define WI_LOSS_H

#include "ops/op_table.h"
#include <weft/losses.h>

/* ---- checks; a failed one has recorded the error ---- */
/* The graph of the inputs when all are floats and the options (NULL: defaults) are good; else NULL. Replaces
 * inputs of 16 bits: losses are computed and given in f32, or in f64 where one input is. */
weft_graph *wi_loss_begin(const char *op, weft_tensor **inputs, int count, const weft_loss_options *options);
bool wi_loss_reduction_good(weft_graph *graph, const char *op, weft_loss_reduction reduction);
/* Are these shapes the same, but for axes of size 1 behind the first one? */
bool wi_loss_shapes_match(const wi_shape *a, const wi_shape *b);
/* Gives the inputs, which are compared element by element, the shape of the first: replaces those of a shape that
 * matches it, and numbers of rank 0 (constants and scalars). Any other shape is an error: losses do not broadcast. */
bool wi_loss_match(const char *op, weft_tensor **inputs, int count);
bool wi_loss_broadcasts(const char *op, weft_tensor *const *inputs, int count, wi_shape *shape);
/* low <= value <= high; NaN is outside. */
bool wi_loss_number_in(
    weft_graph *graph, const char *op, const char *name, double value, double low, double high);
bool wi_loss_finite(weft_graph *graph, const char *op, const char *name, double value);

/* ---- reductions ---- */
/* kept: an axis of size 1 that goes away at the end, -1: none. */
weft_tensor *wi_loss_finish(const char *op, weft_tensor *losses, int kept, const weft_loss_options *options);
/* total: what the mean divides by, one element of the losses' rank, 0 where the mean is; NULL: their number. */
weft_tensor *wi_loss_reduce(weft_tensor *losses, int kept, weft_loss_reduction reduction, weft_tensor *total);
/* Without an axis of size 1 (-1: none). */
weft_tensor *wi_loss_drop_axis(weft_tensor *x, int axis);

/* ---- shared expressions ---- */
weft_tensor *wi_loss_clamp_zero(weft_tensor *x); /* max(x, 0); at 0 the gradient is 0, as torch.clamp_min's */

/* ---- log(1 + exp(x)) and its derivatives for x of any size: one exponential for all of them ---- */
typedef struct wi_softplus {
    weft_tensor *of_x, *of_minus_x; /* log(1 + exp(±x)) */
} wi_softplus;
typedef struct wi_sigmoids {
    weft_tensor *of_x, *of_minus_x; /* 1 / (1 + exp(∓x)) */
} wi_sigmoids;
wi_softplus wi_loss_softplus(weft_tensor *x);
wi_sigmoids wi_loss_sigmoids(weft_tensor *x);

#endif
