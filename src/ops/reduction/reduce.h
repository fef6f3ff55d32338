/* What the families of reductions share. axes: a bit an axis. */
#ifndef WI_REDUCE_H
#define WI_REDUCE_H

#include "ops/op_table.h"

/* Checks the input of a reduction of floats and the caller's list of axes; none at all means all of them. False with the
 * error recorded. */
bool wi_reduce_float_axes(const char *op, weft_tensor *x, const int64_t *axes, uint32_t *mask);
/* A composite over axes, which its attributes name, too, that stay with size 1, or a view without them. */
weft_tensor *wi_reduce_composite(
    const wi_op *op, weft_tensor *x, uint32_t axes, const wi_attributes *attributes, bool keep);
/* Products in the form that stays in the graph; reduced axes keep size 1. */
weft_tensor *wi_prod_keep(weft_tensor *x, uint32_t axes);
extern const wi_rule wi_reduce_rewrites[];

#endif
