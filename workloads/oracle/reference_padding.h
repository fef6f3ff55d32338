/* Longer axes in float64. */
#ifndef REFERENCE_PADDING_H
#define REFERENCE_PADDING_H

#include "oracle/reference.h"
#include <weft/ops.h>

/* One entry of before and after for each axis. */
f64_array *f64_pad(
    const f64_array *x, const int64_t *before, const int64_t *after, weft_pad_mode mode, double value);
f64_array *f64_roll(const f64_array *x, int64_t axis, int64_t shift);
f64_array *f64_tile(const f64_array *x, int count, const int64_t *repeats); /* aligned at the right */

#endif
