/* A small case of a kernel op, with the result that the host computes in double: what decides the code of its kernels is that of a
 * site, sizes are always the same, as a finding holds for all, and everything lies in memory without gaps, in f32. The families that have several kernels for a device
 * fill it in, and the self-test (self_test.h) compares.
 *
 * Numbers of operands are eighths up to 1, or these times a power of two: exact in every format, so that kernels round
 * only what they compute. */
#ifndef WI_KERNEL_OP_CASE_H
#define WI_KERNEL_OP_CASE_H

#include "kernels/implementation.h"

typedef struct wi_kernel_op_case {
    wi_kernel_site site;
    wi_device_profile profile; /* the site's, for a maker that changes what decides how launches are cut */
    wi_arena *arena;
    weft_tensor *node;
    wi_attributes attributes;
    double *inputs[WI_KERNEL_INPUTS];
    int64_t counts[WI_KERNEL_INPUTS];
    /* Of each element of the result: the number; NAN: it may be anything. And what its error is relative to. */
    double *expected, *magnitude;
    int64_t count;
    uint64_t seed;
} wi_kernel_op_case;

/* Fills in a case that has been begun. way: 0, 1, ..., of other sizes or launches; *more: another follows. */
typedef weft_status wi_kernel_op_case_maker(
    wi_kernel_op_case *small, const wi_kernel_site *site, int way, bool *more);

/* One more input, filled with eighths times `unit`; NULL: no memory. */
double *wi_kernel_op_case_input(wi_kernel_op_case *small, wi_shape shape, double unit);
/* A result of one dimension; everything may be anything yet, and errors are relative to 1. */
weft_status wi_kernel_op_case_result(wi_kernel_op_case *small, int64_t count);

/* Computes the case in all its ways that the implementation accepts, and writes into the fault what is wrong: "" if nothing is. An error is one of the device, of its
 * compiler, or of memory. */
weft_status wi_kernel_op_case_try(wi_kernel_op_case_maker *make, wi_device *device,
    const wi_implementation *implementation, const wi_variant *variant, const wi_kernel_site *site,
    char *fault, size_t fault_bytes);

/* What a kernel of a scan (kernels/recurrent/) and of attention (kernels/attention/) computes. */
wi_kernel_op_case_maker wi_attention_case, wi_attention_gradient_case, wi_recurrent_case,
    wi_recurrent_gradient_case;

#endif
