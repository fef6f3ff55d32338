/* Convolutions in float64, by their definition, with how far a float32 result may be away: see reference.h. */
#ifndef ORACLE_REFERENCE_CONVOLUTION_H
#define ORACLE_REFERENCE_CONVOLUTION_H

#include "oracle/reference.h"
#include <weft/convolution.h>

/* bias and options may be NULL. */
f64_array *f64_conv(
    const f64_array *x, const f64_array *weight, const f64_array *bias, const weft_conv_options *options);
f64_array *f64_conv_transpose(
    const f64_array *x, const f64_array *weight, const f64_array *bias, const weft_conv_options *options);

#endif
