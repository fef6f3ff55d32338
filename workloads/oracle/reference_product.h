/* Products in float64, by their definitions: see reference.h for matrices. */
#ifndef ORACLE_REFERENCE_PRODUCT_H
#define ORACLE_REFERENCE_PRODUCT_H

#include "oracle/reference.h"

f64_array *f64_linear(
    const f64_array *x, const f64_array *weight, const f64_array *bias); /* bias may be NULL */
f64_array *f64_outer(const f64_array *a, const f64_array *b);
f64_array *f64_dot(const f64_array *a, const f64_array *b);
f64_array *f64_mv(const f64_array *a, const f64_array *x);
f64_array *f64_bilinear(
    const f64_array *x1, const f64_array *x2, const f64_array *weight, const f64_array *bias);

#endif
