/* What the families of reductions share. axes: a bit an axis. */
#ifndef WI_REDUCE_H
#define WI_REDUCE_H

#include "ops/op_table.h"

/* Checks a reduction's input and the caller's list of axes; none at all means all of them. False with the
 * error recorded. */
bool wi_reduce_axes(const char *op, weft_tensor *x, const int64_t *axes, uint32_t *mask);
/* The same for ops that take f32 only. */
bool wi_reduce_float_axes(const char *op, weft_tensor *x, const int64_t *axes, uint32_t *mask);
/* The shape with reduced axes of size 1, as reductions stand in the graph; and a view without those axes. */
wi_shape wi_kept_shape(const wi_shape *shape, uint32_t axes);
weft_tensor *wi_drop_axes(weft_tensor *y, uint32_t axes);
/* A composite over axes, which its attributes name, too, that stay with size 1, or a view without them. */
weft_tensor *wi_reduce_composite(
    const wi_op *op, weft_tensor *x, uint32_t axes, const wi_attributes *attributes, bool keep);
/* Products in the form that stays in the graph; reduced axes keep size 1. */
weft_tensor *wi_prod_keep(weft_tensor *x, uint32_t axes);
/* The rule of prod (product_others.c). */
void wi_prod_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients);

#endif
