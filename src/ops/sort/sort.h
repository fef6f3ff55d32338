/* Sorting for its kernels. */
#ifndef WI_SORT_H
#define WI_SORT_H

#include "ops/op_table.h"

/* Elements of input 0 put at the indices that input 1 names along an axis, zeros elsewhere. */
extern const wi_op wi_op_put;

#endif
