/* Whether an implementation that needs a matrix engine is right on a device: a compiler may not know the engine's
 * instructions, and a driver may take them and compute something else. A small product is compared with its exact result
 * once for a device and driver; the tuning database keeps the answer. */
#ifndef WI_GEMM_CHECK_H
#define WI_GEMM_CHECK_H

#include "kernels/product/gemm.h"

/* Of operands in each format that it multiplies. Logs why not. The thread's error stays what it was. */
bool wi_gemm_is_right(wi_device *device, const wi_implementation *implementation, const wi_variant *variant);

#endif
