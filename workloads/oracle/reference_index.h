/* Picking by index, adding up and replacing by index, in float64.
 *
 * An index out of range picks 0 and adds nothing. Where an index is uncertain, the error of what it may change is as
 * large as the range of what it may be changed to. */
#ifndef REFERENCE_INDEX_H
#define REFERENCE_INDEX_H

#include "oracle/reference.h"

f64_array *f64_gather(const f64_array *x, int64_t axis, const f64_array *index);
f64_array *f64_index_select(const f64_array *x, int64_t axis, const f64_array *index);
/* x, and the elements of source added to it: at an index for each of them, or for each place along the axis. */
f64_array *f64_scatter_add(const f64_array *x, int64_t axis, const f64_array *index, const f64_array *source);
f64_array *f64_index_add(const f64_array *x, int64_t axis, const f64_array *index, const f64_array *source);
f64_array *f64_index_copy(const f64_array *x, int64_t axis, const f64_array *index, const f64_array *source);

#endif
