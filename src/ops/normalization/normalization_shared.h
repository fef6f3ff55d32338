/* What the norms share: over channels (normalization.c) and over last axes (normalization_rows.c). */
#ifndef WI_NORMALIZATION_SHARED_H
#define WI_NORMALIZATION_SHARED_H

#include "ops/op_table.h"
#include <weft/normalization.h>

/* attributes.norm.inputs */
enum {
    WI_NORM_WEIGHT = 1,
    WI_NORM_BIAS = 2,
    WI_NORM_RUNNING = 4,
    WI_NORM_COUNTS = 8 /* a cumulative mean */
};

/* A node's inputs: x, then those that its attributes name, in this order; a gradient node has g besides. */
typedef struct wi_norm_inputs {
    weft_tensor *x, *weight, *bias, *mean, *var, *batches, *g; /* NULL: none */
} wi_norm_inputs;
wi_norm_inputs wi_norm_inputs_of(const weft_tensor *node);
enum { WI_NORM_INPUTS = 7 };
/* Those that are there, in that order, x even where it is NULL; their number. */
int wi_norm_list_inputs(const wi_norm_inputs *from, weft_tensor *list[WI_NORM_INPUTS]);
/* False, with the error recorded: the tensor is not of that shape. */
bool wi_norm_has_shape(const wi_op *op, const char *what, const weft_tensor *tensor, const wi_shape *shape);

/* Makes the node of an op over x, of x's shape; the attributes need not name the inputs. */
weft_tensor *wi_norm_node(const wi_op *op, const wi_norm_inputs *inputs, wi_norm_attributes attributes);
/* The graph of the inputs when all are floats, weight and bias have the shape, and epsilon is in its range.
 * Replaces what is of 16 bits: the node is computed in f32, or in f64. */
weft_graph *wi_norm_check(const wi_op *op, wi_norm_inputs *inputs, const wi_shape *shape, float epsilon);

/* max(variance, 0) + epsilon, and one over its root. */
weft_tensor *wi_norm_scale(weft_tensor *variance, double epsilon);

/* `training` in plans for training, `running` in plans for inference and where the running mean is frozen; both have the
 * same shape (normalization_choice.c). */
weft_tensor *wi_norm_choice(weft_tensor *training, weft_tensor *running, weft_tensor *mean);

#endif
