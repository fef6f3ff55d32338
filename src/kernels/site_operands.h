/* Operands and result of a contraction in the sizes of its site, on which the tuner runs kernels. */
#ifndef WI_SITE_OPERANDS_H
#define WI_SITE_OPERANDS_H

#include "cl/buffer.h"
#include "kernels/implementation.h"

enum { WI_SITE_ARRAYS = 3, WI_SITE_WINDOWS = 16, WI_SITE_WINDOW = 1024 };

/* Results are compared in some ranges of elements, the windows. */
typedef struct wi_site_operands {
    wi_buffer buffers[WI_SITE_ARRAYS]; /* A, B and the result */
    size_t counts[WI_SITE_ARRAYS];     /* elements */
    double allowed;                    /* how much two correct results may differ */
    float *expected;                   /* windows of a correct result; NULL: not known yet */
} wi_site_operands;

/* Fills A and B. WEFT_ERROR_UNSUPPORTED: strides or formats that are not tuned. Clear the operands after a failure, too. */
weft_status wi_site_operands_make(wi_site_operands *operands, wi_device *device, const wi_kernel_site *site);
/* Writes NaN into the windows of the result, so that elements which a kernel does not write are found. */
weft_status wi_site_operands_spoil(const wi_site_operands *operands, wi_device *device);
/* Keeps the windows of the result as the expected ones. */
weft_status wi_site_operands_take(wi_site_operands *operands, wi_device *device);
/* *right: do the windows hold no NaN and, if a result is expected, this result? */
weft_status wi_site_operands_check(const wi_site_operands *operands, wi_device *device, bool *right);
void wi_site_operands_clear(wi_site_operands *operands, wi_device *device);

#endif
