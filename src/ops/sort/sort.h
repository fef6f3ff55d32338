/* Sorting, for its kernels. */
#ifndef WI_SORT_H
#define WI_SORT_H

#include "ops/op_table.h"

/* The elements of input 0 at the indices of input 1 along an axis, and zeros elsewhere. */
extern const wi_op wi_op_put;

#endif
