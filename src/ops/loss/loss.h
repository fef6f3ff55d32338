/* Functions that all losses share: checks of inputs and options, reductions, and common expressions. */
#ifndef WI_LOSS_H
#define WI_LOSS_H

#include "ops/op_table.h"
#include <weft/losses.h>

/* ---- checks, which record an error ---- */
/* Returns the graph of the inputs, and casts them to f32, or f64 if one input is f64; NULL: an input is not a float, or an option (NULL:
 * defaults) is wrong. */
weft_graph *wi_loss_begin(const char *op, weft_tensor **inputs, int count, const weft_loss_options *options);
bool wi_loss_reduction_good(weft_graph *graph, const char *op, weft_loss_reduction reduction);
/* Are the shapes equal, except for axes of size 1 behind the first axis? */
bool wi_loss_shapes_match(const wi_shape *a, const wi_shape *b);
/* Replaces inputs whose shape matches the first input's, and constants and scalars, by tensors of this shape. Other shapes are errors,
 * because losses do not broadcast. */
bool wi_loss_match(const char *op, weft_tensor **inputs, int count);
bool wi_loss_broadcasts(const char *op, weft_tensor *const *inputs, int count, wi_shape *shape);
/* low <= value <= high; NaN is outside. */
bool wi_loss_number_in(
    weft_graph *graph, const char *op, const char *name, double value, double low, double high);
bool wi_loss_finite(weft_graph *graph, const char *op, const char *name, double value);

/* ---- reductions ---- */
/* kept: an axis of size 1 that is removed from the result; -1: none. */
weft_tensor *wi_loss_finish(const char *op, weft_tensor *losses, int kept, const weft_loss_options *options);
/* total: the divisor of a mean, one element of the losses' rank; if it is 0, the mean is 0. NULL: the number of losses. */
weft_tensor *wi_loss_reduce(weft_tensor *losses, int kept, weft_loss_reduction reduction, weft_tensor *total);
/* A view without this axis of size 1 (-1: none). */
weft_tensor *wi_loss_drop_axis(weft_tensor *x, int axis);

/* ---- shared expressions ---- */
weft_tensor *wi_loss_clamp_zero(
    weft_tensor *x); /* max(x, 0); at 0 the gradient is 0, as in torch.clamp_min */

/* ---- log(1 + exp(x)) and its derivatives, for all x; they share one exponential ---- */
typedef struct wi_softplus {
    weft_tensor *of_x, *of_minus_x; /* log(1 + exp(±x)) */
} wi_softplus;
typedef struct wi_sigmoids {
    weft_tensor *of_x, *of_minus_x; /* 1 / (1 + exp(∓x)) */
} wi_sigmoids;
wi_softplus wi_loss_softplus(weft_tensor *x);
wi_sigmoids wi_loss_sigmoids(weft_tensor *x);

#endif
