/* See reference_reduce.h. */
#include "oracle/reference_reduce.h"

#include <math.h>
#include <string.h>

#define MAP(name, formula)                                                                                   \
    static double function_##name(double a, double b, double c) {                                            \
        (void)b, (void)c;                                                                                    \
        return formula;                                                                                      \
    }                                                                                                        \
    static f64_array *name(const f64_array *a) {                                                             \
        f64_array *const y = f64_map(function_##name, a, NULL, NULL);                                        \
        memcpy(y->error, a->error, y->count * sizeof *y->error); /* these round nothing */                   \
        return y;                                                                                            \
    }
MAP(negative, -a)
MAP(magnitude, fabs(a))
MAP(truth, isnan(a) || a != 0)
MAP(shift_of, isinf(a) ? 0 : a)

/* ---- extremes, truth ---- */

f64_array *f64_min(const f64_array *a, const int64_t *axes, bool keep) {
    return negative(f64_max(negative(a), axes, keep));
}
f64_array *f64_argmin(const f64_array *a, const int64_t *axes, bool keep) {
    return f64_argmax(negative(a), axes, keep);
}
f64_array *f64_any(const f64_array *a, const int64_t *axes, bool keep) {
    return f64_max(truth(a), axes, keep);
}
f64_array *f64_all(const f64_array *a, const int64_t *axes, bool keep) {
    return f64_min(truth(a), axes, keep);
}
f64_array *f64_count_nonzero(const f64_array *a, const int64_t *axes, bool keep) {
    return f64_sum(truth(a), axes, keep);
}

/* ---- products and moments: over exact inputs ---- */

/* Where in `kept`, whose reduced axes have size 1, the element at `index` of a belongs. */
static size_t place_in(const f64_array *kept, const int64_t *index) {
    size_t at = 0;
    for (int i = 0; i < kept->rank; i++)
        at = at * (size_t)kept->dims[i] + (size_t)(kept->dims[i] == 1 ? 0 : index[i]);
    return at;
}

static double row_length(const f64_array *a, const f64_array *kept) {
    return (double)a->count / (double)kept->count;
}

/* Takes every element into its row, which begins as `first`; mean may be NULL. */
static f64_array *fold(const f64_array *a, const int64_t *axes, double first, const f64_array *mean,
    double (*step)(double row, double element, double mean)) {
    f64_array *const kept = f64_sum(a, axes, true);
    int64_t index[WEFT_MAX_RANK] = {0};
    for (size_t i = 0; i < kept->count; i++) kept->value[i] = first;
    for (size_t i = 0; i < a->count; i++, f64_next(index, a->rank, a->dims)) {
        const size_t at = place_in(kept, index);
        kept->value[at] = step(kept->value[at], a->value[i], mean ? mean->value[at] : 0);
    }
    for (size_t i = 0; i < kept->count; i++)
        kept->error[i] = 1e-6 * log2(row_length(a, kept)) * fabs(kept->value[i]) + f64_ulp(kept->value[i]);
    return kept;
}

static f64_array *dropped(const f64_array *kept, const f64_array *a, const int64_t *axes, bool keep) {
    const f64_array *const like = f64_max(a, axes, keep);
    return f64_reshape(kept, like->rank, like->dims);
}

static double times(double row, double element, double mean) {
    (void)mean;
    return row * element;
}
static double add_square(double row, double element, double mean) {
    return row + (element - mean) * (element - mean);
}

f64_array *f64_prod(const f64_array *a, const int64_t *axes, bool keep) {
    return dropped(fold(a, axes, 1, NULL, times), a, axes, keep);
}

f64_array *f64_var(const f64_array *a, double correction, const int64_t *axes, bool keep) {
    f64_array *const mean = f64_sum(a, axes, true);
    for (size_t i = 0; i < mean->count; i++) mean->value[i] /= row_length(a, mean);
    f64_array *const kept = fold(a, axes, 0, mean, add_square);
    const double divisor = fmax(row_length(a, kept) - correction, 0);
    for (size_t i = 0; i < kept->count; i++) {
        kept->value[i] /= divisor;
        kept->error[i] = kept->error[i] / divisor + f64_ulp(kept->value[i]);
    }
    return dropped(kept, a, axes, keep);
}

f64_array *f64_std(const f64_array *a, double correction, const int64_t *axes, bool keep) {
    return f64_sqrt(f64_var(a, correction, axes, keep));
}

/* ---- norms ---- */

f64_array *f64_norm(const f64_array *a, double order, const int64_t *axes, bool keep) {
    if (order == 1) return f64_sum(magnitude(a), axes, keep);
    if (order == 2) return f64_sqrt(f64_sum(f64_square(a), axes, keep));
    return f64_max(magnitude(a), axes, keep);
}

f64_array *f64_logsumexp(const f64_array *a, const int64_t *axes, bool keep) {
    const f64_array *const top = shift_of(f64_max(a, axes, true));
    const f64_array *const sum = f64_sum(f64_exp(f64_sub(a, top)), axes, true);
    return dropped(f64_add(f64_log(sum), top), a, axes, keep);
}
