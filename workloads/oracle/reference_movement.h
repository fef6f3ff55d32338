/* Movement in float64: other shapes and orders of axes. Axes may be negative, as those of the ops. */
#ifndef REFERENCE_MOVEMENT_H
#define REFERENCE_MOVEMENT_H

#include "oracle/reference.h"

f64_array *f64_permute_axes(const f64_array *x, const int64_t *axes); /* all of them, by position */
f64_array *f64_flatten(const f64_array *x);
f64_array *f64_flatten_axes(const f64_array *x, int64_t start, int64_t end);
f64_array *f64_squeeze(const f64_array *x, const int64_t *axes); /* ended by WEFT_END; none: all of size 1 */
f64_array *f64_unsqueeze(const f64_array *x, int64_t axis);
f64_array *f64_swap_axes(const f64_array *x, int64_t axis1, int64_t axis2);
f64_array *f64_move_axis(const f64_array *x, int64_t from, int64_t to);
f64_array *f64_stack(const f64_array *const *arrays, size_t count, int64_t axis); /* at most 9 */

#endif
