/* Further reductions in float64, with how far a float32 result may be away: see reference.h. Axes end with
 * WEFT_END; NULL or an empty list is all of them. */
#ifndef TEST_REFERENCE_REDUCE_H
#define TEST_REFERENCE_REDUCE_H

#include "oracle/reference.h"

f64_array *f64_min(const f64_array *a, const int64_t *axes, bool keep);
f64_array *f64_argmin(const f64_array *a, const int64_t *axes, bool keep);
f64_array *f64_prod(const f64_array *a, const int64_t *axes, bool keep);
f64_array *f64_var(const f64_array *a, double correction, const int64_t *axes, bool keep);
f64_array *f64_std(const f64_array *a, double correction, const int64_t *axes, bool keep);
f64_array *f64_norm(const f64_array *a, double order, const int64_t *axes, bool keep);
f64_array *f64_normalize(const f64_array *a, double order, int64_t axis, double epsilon);
f64_array *f64_logsumexp(const f64_array *a, const int64_t *axes, bool keep);
/* Of the elements where the mask is not 0, which broadcasts to a; 0 where there are none. */
f64_array *f64_masked_mean(const f64_array *a, const f64_array *mask, const int64_t *axes, bool keep);
f64_array *f64_any(const f64_array *a, const int64_t *axes, bool keep);
f64_array *f64_all(const f64_array *a, const int64_t *axes, bool keep);
f64_array *f64_count_nonzero(const f64_array *a, const int64_t *axes, bool keep);

#endif
