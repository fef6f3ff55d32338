/* The check of implementations that use a matrix engine: a compiler may not know the engine's instructions, and a driver may
 * accept them and compute something else. A small product is compared with its exact result, once for a device and driver; the
 * cache folder keeps the answer. If the implementation multiplies f32 matrices in `highest`, its rounding errors must also be at
 * most those of the multiply-adds that would serve otherwise, because vendors do not document how engines round sums. */
#ifndef WI_GEMM_CHECK_H
#define WI_GEMM_CHECK_H

#include "kernels/implementation.h"
#include "kernels/product/gemm.h"

/* Checks each format that the implementation multiplies. A failure is logged. The thread's last error is unchanged. */
bool wi_gemm_is_right(wi_device *device, const wi_implementation *implementation, const wi_variant *variant);

enum { WI_GEMM_CHECK_NAME = 128 };

/* The name of a question (cl/probe.h). question: "right" for exact products. */
void wi_gemm_check_name(char name[WI_GEMM_CHECK_NAME], const wi_device *device, const char *question,
    const wi_implementation *implementation, const wi_variant *variant);

#endif
