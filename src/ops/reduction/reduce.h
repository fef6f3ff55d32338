/* Functions that the files of reductions share. `axes` has a bit for each axis. */
#ifndef WI_REDUCE_H
#define WI_REDUCE_H

#include "ops/op_table.h"

/* Checks the input of a reduction of floats, and writes the axes: all if the caller gives none. False: an error is recorded. */
bool wi_reduce_float_axes(const char *op, weft_tensor *x, const int64_t *axes, uint32_t *mask);
/* Creates a composite that reduces the axes. The attributes name the same axes. With `keep` the axes have size 1,
 * otherwise a view removes them. */
weft_tensor *wi_reduce_composite(
    const wi_op *op, weft_tensor *x, uint32_t axes, const wi_attributes *attributes, bool keep);
/* A view without these axes of size 1. */
weft_tensor *wi_drop_axes(weft_tensor *y, uint32_t axes);
/* The product over the axes, which keep size 1. */
weft_tensor *wi_prod_keep(weft_tensor *x, uint32_t axes);
extern const wi_rule wi_reduce_rewrites[];

#endif
