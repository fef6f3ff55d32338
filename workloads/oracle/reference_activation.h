/* Activations with parameters, in float64. */
#ifndef REFERENCE_ACTIVATION_H
#define REFERENCE_ACTIVATION_H

#include "oracle/reference.h"

f64_array *f64_clamp(const f64_array *x, double low, double high);
f64_array *f64_hardtanh(const f64_array *x, double low, double high);
f64_array *f64_leaky_relu(const f64_array *x, double slope);
f64_array *f64_elu(const f64_array *x, double alpha);
f64_array *f64_glu(const f64_array *x, int64_t axis);
f64_array *f64_prelu(const f64_array *x, const f64_array *weight); /* (1), or (C) along axis 1 of x */

#endif
