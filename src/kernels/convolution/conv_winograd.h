/* What the kernels of Winograd's convolutions share: the header of their templates, and its parameters. */
#ifndef WI_CONV_WINOGRAD_H
#define WI_CONV_WINOGRAD_H

#include "kernels/implementation.h"

/* Products between the transforms have tiles of ROWS x COLUMNS, why is said in gemm_cpu.c; STEP: results along an axis
 * of a tile of the image. */
enum { WI_WINOGRAD_ROWS, WI_WINOGRAD_COLUMNS, WI_WINOGRAD_STEP };

extern const char *const wi_conv_winograd_headers[], *const wi_conv_winograd_parameters[];
extern const wi_variant wi_conv_winograd_variants[];

#endif
