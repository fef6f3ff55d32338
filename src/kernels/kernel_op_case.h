/* Small cases of kernel ops, whose results the host computes in double.
 *
 * A case is made from a site: everything on which the code of the kernels depends is the same. Sizes do not depend on the site,
 * so that one case speaks for all sites of the same code. All tensors are contiguous and in f32. Families that have several
 * kernels for a device make the cases, and the self-test (self_test.h) runs them.
 *
 * Elements of operands are eighths from -1 to 1, or these times a power of two. They are exact in every format, so kernels round
 * only what they compute. */
#ifndef WI_KERNEL_OP_CASE_H
#define WI_KERNEL_OP_CASE_H

#include "kernels/implementation.h"

typedef struct wi_kernel_op_case {
    wi_kernel_site site;
    wi_device_profile
        profile; /* the site's; a maker may change it, so that launches are divided differently */
    wi_arena *arena;
    weft_tensor *node;
    wi_attributes attributes;
    double *inputs[WI_KERNEL_INPUTS];
    int64_t counts[WI_KERNEL_INPUTS];
    double *expected;  /* the result; NaN: an element that may be anything */
    double *magnitude; /* for each element the number to which its relative error refers */
    int64_t count;     /* elements of the result */
    uint64_t seed;
} wi_kernel_op_case;

/* Fills in a case that has been begun. way: 0, 1, ... choose different sizes or launches; *more: is there another way? */
typedef weft_status wi_kernel_op_case_maker(
    wi_kernel_op_case *small, const wi_kernel_site *site, int way, bool *more);

/* Appends an input, filled with eighths times `unit`. NULL: out of memory. */
double *wi_kernel_op_case_input(wi_kernel_op_case *small, wi_shape shape, double unit);
/* Allocates a result of rank 1, in which all elements may be anything and have magnitude 1. */
weft_status wi_kernel_op_case_result(wi_kernel_op_case *small, int64_t count);

/* Runs the case in each way that the variant accepts. `fault` becomes the text of the first wrong result, or "". The status is
 * that of the device, the compiler, or memory. */
weft_status wi_kernel_op_case_try(wi_kernel_op_case_maker *make, wi_device *device,
    const wi_implementation *implementation, const wi_variant *variant, const wi_kernel_site *site,
    char *fault, size_t fault_bytes);

/* The functions that create cases; they are in kernels/attention/ and kernels/recurrent/. */
wi_kernel_op_case_maker wi_attention_case, wi_attention_gradient_case, wi_recurrent_case,
    wi_recurrent_gradient_case;

#endif
