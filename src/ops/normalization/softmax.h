/* What softmax shares with the losses that are made of it. */
#ifndef WI_SOFTMAX_H
#define WI_SOFTMAX_H

#include "ops/op_table.h"

/* Forward and backward write down the same; equal nodes are made once. */
typedef struct wi_shifted {
    weft_tensor *x;   /* x - max(x) along the axis: no exponential of it overflows */
    weft_tensor *exp; /* its exponential */
    weft_tensor *sum; /* of the exponentials, axis kept with size 1 */
} wi_shifted;

wi_shifted wi_shift(weft_tensor *x, int axis);

#endif
