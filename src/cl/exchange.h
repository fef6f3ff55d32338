/* How the items of a sub-group exchange values in kernels of class gpu, for reductions of a work-group
 * (cl_kernels/group.clh). The driver's report suggests an *exchange*; a test kernel decides whether the device computes
 * right with it. Otherwise reductions use local memory. */
#ifndef WI_EXCHANGE_H
#define WI_EXCHANGE_H

#include "cl/gpu_engines.h"

/* The exchange that the traits suggest, a macro of programs such as "WEFT_EXCHANGE_AMD"; NULL: none. */
const char *wi_exchange_of(const wi_gpu_traits *traits);

/* Sets caps.exchange to `way` if the test kernel computes right with it, otherwise to NULL; the log then says why. The
 * result is kept among the values of the device. All else of the device must be open. Errors: lack of memory. */
weft_status wi_exchange_try(wi_device *device, const char *way);

/* Sets caps.exchange for kernels of class gpu: NULL for WEFT_SUB_GROUPS=0, a model for "model-8" to "model-64",
 * otherwise what the driver suggests, if it computes right. If the variable is not set, only GPUs have an exchange; "1"
 * means all devices. Errors as above. */
weft_status wi_exchange_find(wi_device *device);

#endif
