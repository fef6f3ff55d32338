/* Operands and result of a contraction in the sizes of its site, on which the tuner runs kernels. */
#ifndef SITE_OPERANDS_H
#define SITE_OPERANDS_H

#include "cl/buffer.h"
#include "kernels/implementation.h"

enum { SITE_ARRAYS = 3, SITE_WINDOWS = 16, SITE_WINDOW = 1024 };

/* Results are compared in some ranges of elements, the windows. */
typedef struct site_operands {
    wi_buffer buffers[SITE_ARRAYS]; /* A, B and the result */
    size_t counts[SITE_ARRAYS];     /* elements */
    double allowed;                 /* how much two correct results may differ */
    float *expected;                /* windows of a correct result; NULL: not known yet */
} site_operands;

/* Fills A and B. WEFT_ERROR_UNSUPPORTED: strides or formats that are not tuned. Clear the operands after a failure, too. */
weft_status site_operands_make(site_operands *operands, wi_device *device, const wi_kernel_site *site);
/* Writes NaN into the windows of the result, so that elements which a kernel does not write are found. */
weft_status site_operands_spoil(const site_operands *operands, wi_device *device);
/* Keeps the windows of the result as the expected ones. */
weft_status site_operands_take(site_operands *operands, wi_device *device);
/* *right: do the windows hold no NaN and, if a result is expected, this result? */
weft_status site_operands_check(const site_operands *operands, wi_device *device, bool *right);
void site_operands_clear(site_operands *operands, wi_device *device);

#endif
