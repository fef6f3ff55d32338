/* What the norms share: over channels (normalization.c) and over last axes (normalization_rows.c). */
#ifndef WI_NORMALIZATION_PARTS_H
#define WI_NORMALIZATION_PARTS_H

#include "ops/op_table.h"
#include <weft/normalization.h>

enum {
    WI_NORM_WEIGHT = 1,
    WI_NORM_BIAS = 2,
    WI_NORM_RUNNING = 4,
    WI_NORM_COUNTS = 8, /* a cumulative mean */
    WI_NORM_FIXED = 16
};

/* A node's inputs: x, then those that its flags tell, in this order; a gradient node has g besides. */
typedef struct wi_norm_inputs {
    weft_tensor *x, *weight, *bias, *mean, *var, *batches, *g; /* NULL: none */
} wi_norm_inputs;
wi_norm_inputs wi_norm_inputs_of(const weft_tensor *node);
/* Writes those that there are, in this order; returns how many. */
enum { WI_NORM_INPUTS = 7 };
int wi_norm_list_inputs(const wi_norm_inputs *from, weft_tensor *list[WI_NORM_INPUTS]);

/* Makes the node of an op over x, of x's shape. */
weft_tensor *wi_norm_node(const wi_op *op, const wi_norm_inputs *inputs, wi_attributes attributes);
/* The graph of the inputs when all are f32, weight and bias have the shape, and epsilon is in its range. */
weft_graph *wi_norm_check(
    const wi_op *op, const wi_norm_inputs *inputs, const wi_shape *shape, float epsilon);
/* No tensor, or one of this shape; else the graph's error says what should have it. */
bool wi_norm_has_shape(const wi_op *op, const char *what, const weft_tensor *tensor, const wi_shape *shape);

/* x once more: equal expressions of it with different keys are different nodes. A value that two launches
 * need is written down by the first; what costs no more to compute than to read is written as of another key
 * instead. */
weft_tensor *wi_again(weft_tensor *x, uint32_t key);
/* max(variance, 0) + epsilon, and one over its root. */
weft_tensor *wi_norm_scale(weft_tensor *variance, double epsilon);

#endif
