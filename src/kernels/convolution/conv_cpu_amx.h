/* What the implementations of convolutions on the matrix engine AMX have in common. */
#ifndef WI_CONV_CPU_AMX_H
#define WI_CONV_CPU_AMX_H

#include "kernels/convolution/conv_product.h"

/* A data gradient of stride 1 is a convolution with the taps from the last to the first, `first` elements into the
 * weight. */
wi_conv_geometry wi_conv_straightened(const wi_conv_geometry *from, int64_t *first);

#endif
