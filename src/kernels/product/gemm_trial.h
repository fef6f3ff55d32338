/* A library's matrix product against a kernel of ours, on the device and on the same numbers: the library must
 * give the same result, and the ratio of the times is kept in the tuning database for the class of sizes (powers
 * of two) and transposition. */
#ifndef WI_GEMM_TRIAL_H
#define WI_GEMM_TRIAL_H

#include "kernels/product/gemm.h"

/* The library's time over that of our kernel. A measurement that cannot be made (no memory for it) speaks for the
 * kernel, which needs no more than the product itself. */
double wi_gemm_ratio(wi_device *device, const wi_gemm_shape *shape, const wi_implementation *kernel,
    const wi_variant *variant, const wi_implementation *library);

#endif
