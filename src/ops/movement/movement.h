/* Functions of the constructors of movement ops that the rules of these ops also need. */
#ifndef WI_MOVEMENT_H
#define WI_MOVEMENT_H

#include "ops/movement/memory_order.h"

/* Input axes [i, i_end) and output axes [j, j_end) of a reshape that have the same number of elements. */
typedef struct wi_reshape_run {
    int i, i_end, j, j_end;
} wi_reshape_run;

/* Replaces *run by the shortest run that follows it. Begin with {0} to get the first run. False: *run was the last
 * one. */
bool wi_reshape_next_run(wi_reshape_run *run, const wi_extent *x, const wi_extent *out);

/* Is the size along the concatenated axis a multiple of the batch for some inputs, and a number for others? Then the size of the result
 * is the sum of wi_counted of the inputs' sizes. */
bool wi_concat_mixes_batch(weft_tensor *const *xs, size_t count, int axis);

weft_tensor *wi_flip(weft_tensor *x, uint32_t axes); /* a bit for each axis */
/* x moved along each axis by `before` elements. */
weft_tensor *wi_roll(weft_tensor *x, const int64_t *before);

#endif
