/* Parts of axes in float64. */
#ifndef REFERENCE_SLICE_H
#define REFERENCE_SLICE_H

#include "oracle/reference.h"

/* x[start:end:step] of an axis; negative numbers count from the end, and WEFT_END is the end. */
f64_array *f64_slice_step(const f64_array *x, int64_t axis, int64_t start, int64_t end, int64_t step);
f64_array *f64_flip(const f64_array *x, const int64_t *axes); /* ended by WEFT_END; none: all */
/* The windows of an axis, as a new last axis. */
f64_array *f64_unfold(const f64_array *x, int64_t axis, int64_t size, int64_t step);
f64_array *f64_diagonal(const f64_array *x, int64_t offset, int64_t axis1, int64_t axis2);

#endif
