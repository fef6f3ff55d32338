/* The type of the numbers that count a kernel's items and elements: WEFT_INDEX of its template, and of its arguments.
 *
 * A division of 64 bits is a call of about a hundred instructions on GPUs. Where a device prefers 32 bits, and nothing that a launch
 * counts needs more, the type is int; else it is long. Only a batch whose elements, those of scratch memory included,
 * are 2^30 or more has the kernels of the other type. */
#ifndef WI_INDEX_TYPE_H
#define WI_INDEX_TYPE_H

#include "kernels/implementation.h"

/* most: the greatest number that the kernel's items and elements are counted to. */
void wi_kernel_index_type(wi_kernel_plan *plan, const wi_kernel_site *site, double most);
/* Arguments of this type, after it was chosen. */
void wi_kernel_indices(
    const wi_kernel_plan *plan, wi_kernel_launch *launch, const int64_t *numbers, size_t count);

#endif
