/* WEFT_INDEX: the type in which a template counts its items and elements, and of the arguments with these numbers.
 *
 * On GPUs a division of 64-bit integers is a call of about a hundred instructions. The type is therefore int on devices that
 * prefer 32 bits, as long as no number that a launch counts needs more, and long otherwise. Batches with less than 2^30 elements,
 * scratch memory included, share the kernels of one type. */
#ifndef WI_INDEX_TYPE_H
#define WI_INDEX_TYPE_H

#include "kernels/implementation.h"

/* Chooses the type. most: the largest number of items or elements that the kernel counts. */
void wi_kernel_index_type(wi_kernel_plan *plan, const wi_kernel_site *site, double most);
/* Appends arguments of the chosen type. */
void wi_kernel_indices(
    const wi_kernel_plan *plan, wi_kernel_launch *launch, const int64_t *numbers, size_t count);

#endif
