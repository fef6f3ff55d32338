/* How items of a sub-group exchange numbers in kernels of class gpu, which reductions of a group do where they can
 * (cl_kernels/group.clh). What the driver reports names a way; a kernel that is compiled, run and compared decides whether the
 * device's reductions go it. Else they meet in local memory. */
#ifndef WI_EXCHANGE_H
#define WI_EXCHANGE_H

#include "cl/gpu_engines.h"

/* The way, as a macro that programs define, "WEFT_EXCHANGE_AMD"; NULL: none is known. */
const char *wi_exchange_of(const wi_gpu_traits *traits);

/* Sets caps.exchange to the way if the device computes right numbers by it, else to NULL, with a line in the log the first time: what
 * was found is kept among the values of the device. Needs everything else of the device. Errors: running out of memory. */
weft_status wi_exchange_try(wi_device *device, const char *way);

/* Sets caps.exchange of a device whose kernels are of class gpu. $WEFT_SUB_GROUPS unset: to what a GPU reports, if it is right; "1": to
 * what any device reports; "0": to NULL; "model-8", -16, -32 and -64: to a model.
 * Errors as above. */
weft_status wi_exchange_find(wi_device *device);

#endif
