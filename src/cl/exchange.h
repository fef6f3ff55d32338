/* How items of a sub-group exchange numbers in kernels of class gpu, which reductions of a group do where they can
 * (cl_kernels/group.clh). What the driver reports names a way; a kernel that is compiled, run and compared decides whether the
 * device's reductions go it. Else they meet in local memory. */
#ifndef WI_EXCHANGE_H
#define WI_EXCHANGE_H

#include "cl/gpu_engines.h"

/* The way, as a macro that programs define, "WEFT_EXCHANGE_AMD"; NULL: none is known. */
const char *wi_exchange_of(const wi_gpu_traits *traits);

/* Sets caps.exchange: for class gpu, where the device is a GPU, or $WEFT_SUB_GROUPS is "1", to the way that it reports and that
 * computes right numbers; NULL if there is none, or $WEFT_SUB_GROUPS is "0"; to a model for "model-8", -16, -32 and -64. What the
 * kernel found is kept in the tuning database. Needs everything else of the device. Errors: those of running out of memory, and
 * WEFT_ERROR_ARGUMENT for another value of the variable. */
weft_status wi_exchange_find(wi_device *device);

#endif
