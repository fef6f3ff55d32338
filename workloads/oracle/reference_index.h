/* Picking by index, adding up and replacing by index, in float64.
 *
 * An index out of range picks 0 and adds nothing. Where an index is uncertain, the error of what it may change is as
 * large as the range of what it may be changed to. */
#ifndef REFERENCE_INDEX_H
#define REFERENCE_INDEX_H

#include "oracle/reference.h"
#include <weft/ops.h>

f64_array *f64_gather(const f64_array *x, int64_t axis, const f64_array *index);
f64_array *f64_index_select(const f64_array *x, int64_t axis, const f64_array *index);
/* x, and the elements of source added to it: at an index for each of them, or for each place along the axis. */
f64_array *f64_scatter_add(const f64_array *x, int64_t axis, const f64_array *index, const f64_array *source);
f64_array *f64_index_add(const f64_array *x, int64_t axis, const f64_array *index, const f64_array *source);
/* Of x and the elements of source at their indices, one for each element (an index of the rank of source) or for each place
 * along the axis, the sum, mean, largest or smallest; keep: x's are among them. */
f64_array *f64_reduce_by_index(const f64_array *x, int64_t axis, const f64_array *index,
    const f64_array *source, weft_scatter_kind kind, bool keep);
/* The sum of values[e]·dense[columns[e]] over e with rows[e] = r, r below size; values NULL: ones. */
f64_array *f64_sparse_matmul(const f64_array *rows, const f64_array *columns, const f64_array *values,
    int64_t size, const f64_array *dense);
/* The row of each entry: the last one that begins there or before. */
f64_array *f64_sparse_rows(const f64_array *starts, const f64_array *columns);
f64_array *f64_index_copy(const f64_array *x, int64_t axis, const f64_array *index, const f64_array *source);

#endif
