/* A kernel op on its own, outside of a plan: compiled, run once and waited for. The kernel is a piece of a program as plans
 * make them (cl/program.h), so that a plan that chooses it finds it compiled. */
#ifndef WI_KERNEL_RUN_H
#define WI_KERNEL_RUN_H

#include "cl/buffer.h"
#include "kernels/implementation.h"

typedef struct wi_kernel_operands {
    wi_buffer inputs[WI_KERNEL_INPUTS], result;
    uint64_t seed; /* of random numbers; the number of the run is 0 */
} wi_kernel_operands;

/* The site's layouts have no offsets, and no input is in f64. */
weft_status wi_kernel_run(wi_device *device, const wi_implementation *implementation,
    const wi_variant *variant, const wi_kernel_site *site, const wi_kernel_operands *operands);

#endif
