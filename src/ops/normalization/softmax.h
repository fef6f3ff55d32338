/* The nodes that softmax shares with losses. */
#ifndef WI_SOFTMAX_H
#define WI_SOFTMAX_H

#include "ops/op_table.h"

typedef struct wi_shifted {
    weft_tensor *x;   /* x - max(x) along the axis */
    weft_tensor *exp; /* exp(x - max(x)) */
    weft_tensor *sum; /* of the exponentials; the axis keeps size 1 */
} wi_shifted;

wi_shifted wi_shift(weft_tensor *x, int axis);

#endif
