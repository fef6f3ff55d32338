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
MAP(inverted, 1 - a)
MAP(shift_of, isinf(a) ? 0 : a)

/* Is it other than 0? What may be 0 as well is wrong by 1. */
static f64_array *truth(const f64_array *a) {
    f64_array *const y = f64_zeros(a->rank, a->dims);
    for (size_t i = 0; i < a->count; i++) {
        y->value[i] = isnan(a->value[i]) || a->value[i] != 0;
        y->error[i] = f64_may_meet(fabs(a->value[i]), a->error[i]);
    }
    return y;
}

/* The same, with 0 in place of what is uncertain. */
static f64_array *certain(const f64_array *truths) {
    f64_array *const y = f64_zeros(truths->rank, truths->dims);
    for (size_t i = 0; i < y->count; i++) y->value[i] = truths->error[i] > 0 ? 0 : truths->value[i];
    return y;
}

/* ---- extremes, truth ---- */

f64_array *f64_min(const f64_array *a, const int64_t *axes, bool keep) {
    return negative(f64_max(negative(a), axes, keep));
}
f64_array *f64_argmin(const f64_array *a, const int64_t *axes, bool keep) {
    return f64_argmax(negative(a), axes, keep);
}
/* One element that is certain decides. */
static f64_array *any_of(const f64_array *truths, const int64_t *axes, bool keep) {
    f64_array *const y = f64_max(truths, axes, keep);
    const f64_array *const decided = f64_max(certain(truths), axes, keep);
    for (size_t i = 0; i < y->count; i++)
        if (decided->value[i] != 0) y->error[i] = 0;
    return y;
}
f64_array *f64_any(const f64_array *a, const int64_t *axes, bool keep) {
    return any_of(truth(a), axes, keep);
}
f64_array *f64_all(const f64_array *a, const int64_t *axes, bool keep) {
    return inverted(any_of(inverted(truth(a)), axes, keep));
}
f64_array *f64_count_nonzero(const f64_array *a, const int64_t *axes, bool keep) {
    return f64_sum(truth(a), axes, keep);
}

/* ---- products and moments ---- */

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

static f64_array *filled(const f64_array *like, double value) {
    f64_array *const y = f64_zeros(like->rank, like->dims);
    for (size_t i = 0; i < y->count; i++) y->value[i] = value;
    return y;
}

static f64_array *dropped(const f64_array *kept, const f64_array *a, const int64_t *axes, bool keep) {
    const f64_array *const like = f64_max(a, axes, keep);
    return f64_reshape(kept, like->rank, like->dims);
}

/* Rounding is relative to the product; `upper` is the largest that it can be with the elements' errors, `most` the largest
 * partial product, by which a factor that was lost in underflow may be multiplied. */
static double product_error(double product, double upper, double most, double n) {
    if (!(most < 1e37)) return INFINITY;
    return upper - fabs(product) + 1e-6 * log2(n) * upper + f64_ulp(product) + n * most * 0x1p-126;
}

f64_array *f64_prod(const f64_array *a, const int64_t *axes, bool keep) {
    f64_array *const kept = filled(f64_sum(a, axes, true), 1), *const upper = filled(kept, 1),
                     *const most = filled(kept, 1);
    const double n = row_length(a, kept);
    int64_t index[WEFT_MAX_RANK] = {0};
    for (size_t i = 0; i < a->count; i++, f64_next(index, a->rank, a->dims)) {
        const size_t at = place_in(kept, index);
        const double size = fabs(a->value[i]) + a->error[i];
        kept->value[at] *= a->value[i];
        upper->value[at] *= size;
        most->value[at] *= fmax(size, 1);
    }
    for (size_t i = 0; i < kept->count; i++)
        kept->error[i] = product_error(kept->value[i], upper->value[i], n > 1 ? most->value[i] : 0, n);
    return dropped(kept, a, axes, keep);
}

/* As the deviations of a row have the sum 0, an error of its mean enters by its square alone. */
f64_array *f64_var(const f64_array *a, double correction, const int64_t *axes, bool keep) {
    f64_array *const mean = f64_sum(a, axes, true), *const kept = filled(mean, 0);
    const double n = row_length(a, kept), divisor = fmax(n - correction, 0), allowed = 1e-6 * log2(n);
    for (size_t i = 0; i < mean->count; i++) mean->value[i] /= n, mean->error[i] /= n;
    int64_t index[WEFT_MAX_RANK] = {0};
    for (size_t i = 0; i < a->count; i++, f64_next(index, a->rank, a->dims)) {
        const size_t at = place_in(kept, index);
        const double d = a->value[i] - mean->value[at];
        const double of_d = n > 1 ? a->error[i] + 0x1p-24 * fabs(d) : 0;
        kept->value[at] += d * d;
        kept->error[at] += allowed * d * d + of_d * (2 * fabs(d) + of_d);
    }
    for (size_t i = 0; i < kept->count; i++) {
        const double shift = n > 1 ? n * mean->error[i] * mean->error[i] : 0;
        const double overflow = f64_overflow(kept->value[i]);
        kept->value[i] /= divisor;
        kept->error[i] = (kept->error[i] + shift) / divisor + f64_ulp(kept->value[i]) + overflow;
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

f64_array *f64_normalize(const f64_array *a, double order, int64_t axis, double epsilon) {
    const f64_array *const norm = f64_norm(a, order, (const int64_t[]){axis, WEFT_END}, true);
    return f64_div(a, f64_maximum(norm, f64_number(epsilon)));
}

f64_array *f64_logsumexp(const f64_array *a, const int64_t *axes, bool keep) {
    f64_array *const top = shift_of(f64_max(a, axes, true));
    memset(top->error, 0, top->count * sizeof *top->error); /* whatever is subtracted is added again */
    const f64_array *const sum = f64_sum(f64_exp(f64_sub(a, top)), axes, true);
    return dropped(f64_add(f64_log(sum), top), a, axes, keep);
}

static double chosen(double mask, double a, double other) {
    return mask != 0 ? a : other;
}

f64_array *f64_masked_mean(const f64_array *a, const f64_array *mask, const int64_t *axes, bool keep) {
    f64_array *const zero = f64_number(0), *const ones = f64_zeros(a->rank, a->dims);
    for (size_t i = 0; i < ones->count; i++) ones->value[i] = 1;
    const f64_array *const sum = f64_sum(f64_map(chosen, mask, a, zero), axes, keep);
    f64_array *const number = f64_sum(f64_map(chosen, mask, ones, zero), axes, keep);
    for (size_t i = 0; i < number->count; i++) number->error[i] = 0; /* whole */
    return f64_div(sum, f64_maximum(number, f64_number(1)));
}
