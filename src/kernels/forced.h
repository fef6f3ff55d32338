/* Implementations that the environment forces: $WEFT_CONV by the beginning of their names, $WEFT_GEMM by the whole name,
 * $WEFT_RECURRENT and $WEFT_ATTENTION by the end, where "gpu/rows4" is a variant. */
#ifndef WI_FORCED_H
#define WI_FORCED_H

#include "kernels/implementation.h"

/* WEFT_ERROR_ARGUMENT for a variable whose name no implementation of its ops has, with the names that there are. */
weft_status wi_forced_check(void);
/* What is forced for the op; NULL: nothing. */
const char *wi_forced_name(const wi_op *op);
/* Is this what `name` forces for the op? */
bool wi_forced_fits(
    const char *name, const wi_op *op, const wi_implementation *implementation, const wi_variant *variant);

#endif
