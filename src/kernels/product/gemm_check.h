/* Whether an implementation that needs a matrix engine is right on a device: a compiler may not know the engine's
 * instructions, and a driver may take them and compute something else. A small product is compared with its exact result
 * once for a device and driver; the cache folder keeps the answer. Of what takes f32 matrices in `highest` rounding
 * errors must be at most those of the multiply-adds that would serve in its place, too: what engines do with the last bits
 * of sums is no part of their documents. */
#ifndef WI_GEMM_CHECK_H
#define WI_GEMM_CHECK_H

#include "kernels/product/gemm.h"

/* Of operands in each format that it multiplies. Logs why not. The thread's error stays what it was. */
bool wi_gemm_is_right(wi_device *device, const wi_implementation *implementation, const wi_variant *variant);

enum { WI_GEMM_CHECK_NAME = 128 };

/* The question that is asked (cl/probe.h), "right" of the numbers. */
void wi_gemm_check_name(char name[WI_GEMM_CHECK_NAME], const wi_device *device, const char *question,
    const wi_implementation *implementation, const wi_variant *variant);

#endif
