/* Implementations that the environment forces. $WEFT_GEMM is the full name of an implementation of matrix products, $WEFT_CONV is
 * the beginning of the name of one of convolutions, and $WEFT_RECURRENT and $WEFT_ATTENTION are the end of the name of one of
 * recurrent scans and of attention. These two may also name a variant, as in "gpu/rows4". */
#ifndef WI_FORCED_H
#define WI_FORCED_H

#include "kernels/implementation.h"

/* WEFT_ERROR_ARGUMENT, with the existing names, if no implementation has the name of a variable. */
weft_status wi_forced_check(void);
/* The name that is forced for the op; NULL: none. */
const char *wi_forced_name(const wi_op *op);
/* Does `name`, which is forced for the op, mean this variant? */
bool wi_forced_fits(
    const char *name, const wi_op *op, const wi_implementation *implementation, const wi_variant *variant);

#endif
