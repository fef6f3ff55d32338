/* Buffers with the operands and the result of a contraction, in the sizes of its site. The tuner runs kernels on them. */
#ifndef SITE_OPERANDS_H
#define SITE_OPERANDS_H

#include "cl/buffer.h"
#include "kernels/implementation.h"

enum { SITE_ARRAYS = 3, SITE_WINDOWS = 16, SITE_WINDOW = 1024 };

/* Results are compared only in SITE_WINDOWS ranges of up to SITE_WINDOW elements, the windows. */
typedef struct site_operands {
    wi_buffer buffers[SITE_ARRAYS]; /* A, B and the result */
    size_t counts[SITE_ARRAYS];     /* elements of each buffer */
    double allowed;                 /* the largest difference between an element of two correct results */
    float *expected; /* (SITE_WINDOWS, SITE_WINDOW), of a correct result; NULL: not known yet */
} site_operands;

/* Creates the buffers, and fills A and B. WEFT_ERROR_UNSUPPORTED: strides or formats that are not tuned. The caller clears the operands,
 * also after an error. */
weft_status site_operands_make(site_operands *operands, wi_device *device, const wi_kernel_site *site);
/* Writes NaN into the windows of the result, so that elements which a kernel does not write are found. */
weft_status site_operands_spoil(const site_operands *operands, wi_device *device);
/* Keeps the windows of the result as `expected`. */
weft_status site_operands_take(site_operands *operands, wi_device *device);
/* *right: do the windows have no NaN, and do they agree with `expected` if it is known? */
weft_status site_operands_check(const site_operands *operands, wi_device *device, bool *right);
void site_operands_clear(site_operands *operands, wi_device *device);

#endif
