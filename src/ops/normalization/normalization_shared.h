/* Functions for norms over channels (normalization.c) and over the last axes (normalization_rows.c). */
#ifndef WI_NORMALIZATION_SHARED_H
#define WI_NORMALIZATION_SHARED_H

#include "ops/op_table.h"
#include <weft/normalization.h>

/* attributes.norm.inputs */
enum {
    WI_NORM_WEIGHT = 1,
    WI_NORM_BIAS = 2,
    WI_NORM_RUNNING = 4,
    WI_NORM_COUNTS = 8 /* the number of batches, for a cumulative mean */
};

/* The inputs of a node in their order: x, those that the attributes name, and for a gradient node g. */
typedef struct wi_norm_inputs {
    weft_tensor *x, *weight, *bias, *mean, *var, *batches, *g; /* NULL: none */
} wi_norm_inputs;
wi_norm_inputs wi_norm_inputs_of(const weft_tensor *node);
enum { WI_NORM_INPUTS = 7 };
/* Lists the inputs that are not NULL, and x in any case; returns their number. */
int wi_norm_list_inputs(const wi_norm_inputs *from, weft_tensor *list[WI_NORM_INPUTS]);
/* False: the tensor has another shape, and the error is recorded. */
bool wi_norm_has_shape(const wi_op *op, const char *what, const weft_tensor *tensor, const wi_shape *shape);

/* Creates a node of the shape of x; records in the attributes which inputs are given. */
weft_tensor *wi_norm_node(const wi_op *op, const wi_norm_inputs *inputs, wi_norm_attributes attributes);
/* Returns the graph of the inputs, and casts 16-bit floats to f32. NULL: an input is not a float, weight or bias do not have the shape, or
 * epsilon is out of range; the error is recorded. */
weft_graph *wi_norm_check(const wi_op *op, wi_norm_inputs *inputs, const wi_shape *shape, float epsilon);

/* 1 / sqrt(max(variance, 0) + epsilon) */
weft_tensor *wi_norm_scale(weft_tensor *variance, double epsilon);

/* `training` in plans for training; `running` in plans for inference, and if the running mean is frozen (normalization_choice.c). */
weft_tensor *wi_norm_choice(weft_tensor *training, weft_tensor *running, weft_tensor *mean);

/* If x (N, groups, ...) is a reshape that joins the channels of an image z (N, C, spatial...) to groups, returns z; otherwise NULL. */
weft_tensor *wi_norm_grouped_image(const weft_tensor *x);
/* v (groups) as a number for each channel. NULL if v is NULL. */
weft_tensor *wi_norm_for_channels(weft_tensor *v, int64_t channels);

#endif
