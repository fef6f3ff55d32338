/* Operands and the result of a contraction's site on the device, at its own sizes: what the tuner runs kernels on. */
#ifndef WI_SITE_OPERANDS_H
#define WI_SITE_OPERANDS_H

#include "cl/buffer.h"
#include "kernels/implementation.h"

enum { WI_SITE_ARRAYS = 3, WI_SITE_WINDOWS = 16, WI_SITE_WINDOW = 1024 };

typedef struct wi_site_operands {
    wi_buffer buffers[WI_SITE_ARRAYS]; /* A, B and the result */
    size_t counts[WI_SITE_ARRAYS];     /* elements */
    double allowed;                    /* difference of two right results */
    float *expected;                   /* windows of a right result; NULL: not known yet */
} wi_site_operands;

/* Eighths up to 1. WEFT_ERROR_UNSUPPORTED: strides that are not tuned. Clear it also after a failure. */
weft_status wi_site_operands_make(wi_site_operands *operands, wi_device *device, const wi_kernel_site *site);
/* Makes the windows of the result no numbers, so that what is not written is seen. */
weft_status wi_site_operands_spoil(const wi_site_operands *operands, wi_device *device);
/* Takes what the result is for right. */
weft_status wi_site_operands_take(wi_site_operands *operands, wi_device *device);
/* *right: numbers, and those that were taken, if some were. */
weft_status wi_site_operands_check(const wi_site_operands *operands, wi_device *device, bool *right);
/* Gives the device's memory back; what was taken for right stays, and wi_site_operands_renew makes the rest again. */
void wi_site_operands_rest(wi_site_operands *operands, wi_device *device);
weft_status wi_site_operands_renew(wi_site_operands *operands, wi_device *device, const wi_kernel_site *site);
void wi_site_operands_clear(wi_site_operands *operands, wi_device *device);

#endif
