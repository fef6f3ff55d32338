/* The names of contractions' sites and of kernels in tuning files (cl/choices.h). */
#ifndef WI_SITE_NAME_H
#define WI_SITE_NAME_H

#include "kernels/implementation.h"

enum { WI_SITE_NAME = 512, WI_KERNEL_NAME = 64 };

/* Op, sizes, the axis of adjacent elements, formats, and everything else that decides which kernels accept the site. */
void wi_site_name(char name[WI_SITE_NAME], const wi_op *op, const wi_kernel_site *site);
/* "gpu_tiled/large". */
void wi_kernel_name(
    char name[WI_KERNEL_NAME], const wi_implementation *implementation, const wi_variant *variant);

#endif
