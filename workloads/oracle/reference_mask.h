/* Masks, and arrays that are functions of their indices, in float64. */
#ifndef REFERENCE_MASK_H
#define REFERENCE_MASK_H

#include "oracle/reference.h"

f64_array *f64_tril(const f64_array *x, int64_t diagonal);
f64_array *f64_triu(const f64_array *x, int64_t diagonal);
f64_array *f64_masked_fill(const f64_array *x, const f64_array *mask, double value);
f64_array *f64_one_hot(const f64_array *labels, int64_t classes);
f64_array *f64_arange(double start, double end, double step);
f64_array *f64_full(double value, int rank, const int64_t *dims);
f64_array *f64_eye(int64_t rows, int64_t columns);

#endif
