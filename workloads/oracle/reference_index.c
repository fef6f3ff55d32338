/* Picking, adding up and replacing by index in float64: see reference_index.h. */
#include "oracle/reference_index.h"
#include <math.h>

/* ---- in float64: everything as (outer, along, inner) ---- */

typedef struct around {
    size_t outer, along, inner;
} around;

static around around_axis(const f64_array *x, int axis) {
    around a = {1, (size_t)x->dims[axis], 1};
    for (int i = 0; i < x->rank; i++) {
        if (i < axis) a.outer *= (size_t)x->dims[i];
        if (i > axis) a.inner *= (size_t)x->dims[i];
    }
    return a;
}

static double reach_of(const f64_array *x) {
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < x->count; i++) {
        low = fmin(low, x->value[i] - x->error[i]);
        high = fmax(high, x->value[i] + x->error[i]);
    }
    return fmax(high, 0) - fmin(low, 0); /* out of range there are zeros */
}

static bool is_uncertain(const f64_array *index) {
    for (size_t i = 0; i < index->count; i++)
        if (!(index->error[i] < 0.5)) return true;
    return false;
}

static bool in_range(double index, size_t size) {
    return index >= 0 && index < (double)size;
}

/* y[to] = x[from], where the index tells `from`. */
static void pick(f64_array *y, size_t to, const f64_array *x, size_t from, bool exists) {
    if (!exists) return;
    y->value[to] = x->value[from];
    y->error[to] = x->error[from];
}

static void doubt_picked(f64_array *y, const f64_array *x, const f64_array *index, size_t each) {
    if (!is_uncertain(index)) return;
    const double reach = reach_of(x);
    for (size_t i = 0; i < y->count; i++)
        if (!(index->error[i / each % index->count] < 0.5)) y->error[i] = reach;
}

f64_array *f64_gather(const f64_array *x, int64_t axis, const f64_array *index) {
    const int along = f64_axis(axis, x->rank);
    f64_array *const y = f64_zeros(index->rank, index->dims);
    int64_t at[WEFT_MAX_RANK] = {0};
    for (size_t to = 0; to < y->count; to++, f64_next(at, y->rank, y->dims)) {
        size_t from = 0;
        for (int i = 0; i < x->rank; i++)
            from = from * (size_t)x->dims[i] + (size_t)(i == along ? (int64_t)index->value[to] : at[i]);
        pick(y, to, x, from, in_range(index->value[to], (size_t)x->dims[along]));
    }
    doubt_picked(y, x, index, 1);
    return y;
}

f64_array *f64_index_select(const f64_array *x, int64_t axis, const f64_array *index) {
    const int along = f64_axis(axis, x->rank);
    const around a = around_axis(x, along);
    int64_t dims[WEFT_MAX_RANK];
    int rank = 0;
    for (int i = 0; i < along; i++) dims[rank++] = x->dims[i];
    for (int i = 0; i < index->rank; i++) dims[rank++] = index->dims[i];
    for (int i = along + 1; i < x->rank; i++) dims[rank++] = x->dims[i];
    f64_array *const y = f64_zeros(rank, dims);
    size_t to = 0;
    for (size_t o = 0; o < a.outer; o++)
        for (size_t j = 0; j < index->count; j++) {
            const bool exists = in_range(index->value[j], a.along);
            const size_t from = exists ? (o * a.along + (size_t)index->value[j]) * a.inner : 0;
            for (size_t i = 0; i < a.inner; i++) pick(y, to++, x, from + i, exists);
        }
    doubt_picked(y, x, index, a.inner);
    return y;
}

/* Where element (o, j, i) of source belongs; false: nowhere. */
typedef struct targets {
    const f64_array *index;
    around from, to;
    bool each; /* there is an index for each element */
} targets;

static bool target_of(const targets *t, size_t o, size_t j, size_t i, size_t *at) {
    const double index = t->index->value[t->each ? (o * t->from.along + j) * t->from.inner + i : j];
    if (!in_range(index, t->to.along)) return false;
    *at = (o * t->to.along + (size_t)index) * t->to.inner + i;
    return true;
}

static void doubt_all(f64_array *y, const f64_array *index, double reach) {
    for (size_t i = 0; i < y->count && is_uncertain(index); i++) y->error[i] += reach;
}

/* sizes: the sums of absolute values; counts: how many terms. */
static f64_array *added(
    const f64_array *x, int64_t axis, const f64_array *index, const f64_array *source, bool each) {
    const int along = f64_axis(axis, x->rank);
    const targets t = {index, around_axis(source, along), around_axis(x, along), each};
    f64_array *const y = f64_copy(x), *const sums = f64_zeros(x->rank, x->dims);
    size_t at, from = 0;
    for (size_t o = 0; o < t.from.outer; o++)
        for (size_t j = 0; j < t.from.along; j++)
            for (size_t i = 0; i < t.from.inner; i++, from++) {
                if (!target_of(&t, o, j, i, &at)) continue;
                y->value[at] += source->value[from];
                y->error[at] += source->error[from];
                sums->value[at] += fabs(source->value[from]);
                sums->error[at]++;
            }
    for (size_t i = 0; i < y->count; i++) {
        const double size = sums->value[i] + fabs(x->value[i]);
        if (sums->error[i] > 0)
            y->error[i] += 1e-6 * log2(sums->error[i] + 1) * size + f64_ulp(y->value[i]) + f64_overflow(size);
    }
    doubt_all(y, index, reach_of(source) * (double)t.from.along);
    return y;
}

f64_array *f64_scatter_add(
    const f64_array *x, int64_t axis, const f64_array *index, const f64_array *source) {
    return added(x, axis, index, source, true);
}
f64_array *f64_index_add(const f64_array *x, int64_t axis, const f64_array *index, const f64_array *source) {
    return added(x, axis, index, source, false);
}

static f64_array *alike(const f64_array *x, double value) {
    f64_array *const y = f64_zeros(x->rank, x->dims);
    for (size_t i = 0; i < y->count; i++) y->value[i] = value;
    return y;
}

/* Where no index is, x. */
static f64_array *mean_of(f64_array *sums, const f64_array *counts, const f64_array *x) {
    for (size_t i = 0; i < sums->count; i++) {
        const double count = counts->value[i];
        sums->value[i] = count > 0 ? sums->value[i] / count : x->value[i];
        sums->error[i] = count > 0 ? sums->error[i] / count + 2 * f64_ulp(sums->value[i]) : x->error[i];
    }
    return sums;
}

/* The error of an extreme is at most the largest of what it is taken of. */
static f64_array *extreme_of(
    const f64_array *x, const targets *t, const f64_array *source, double sign, bool keep) {
    f64_array *const y = f64_copy(x), *const found = f64_zeros(x->rank, x->dims);
    size_t at, from = 0;
    for (size_t i = 0; i < found->count; i++) found->value[i] = keep;
    for (size_t o = 0; o < t->from.outer; o++)
        for (size_t j = 0; j < t->from.along; j++)
            for (size_t i = 0; i < t->from.inner; i++, from++) {
                if (!target_of(t, o, j, i, &at)) continue;
                const bool first = found->value[at] == 0;
                if (first || sign * source->value[from] > sign * y->value[at])
                    y->value[at] = source->value[from];
                y->error[at] = first ? source->error[from] : fmax(y->error[at], source->error[from]);
                found->value[at] = 1;
            }
    return y;
}

f64_array *f64_reduce_by_index(const f64_array *x, int64_t axis, const f64_array *index,
    const f64_array *source, weft_scatter_kind kind, bool keep) {
    const bool each = index->rank == source->rank && x->rank > 1;
    const int along = f64_axis(axis, x->rank);
    const targets t = {index, around_axis(source, along), around_axis(x, along), each};
    if (kind == WEFT_SCATTER_MAX || kind == WEFT_SCATTER_MIN) {
        f64_array *const y = extreme_of(x, &t, source, kind == WEFT_SCATTER_MAX ? 1 : -1, keep);
        doubt_all(y, index, reach_of(x) + reach_of(source));
        return y;
    }
    const f64_array *const begin = keep ? x : f64_zeros(x->rank, x->dims);
    f64_array *const counts = added(alike(x, keep), axis, index, alike(source, 1), each);
    f64_array *const sums = added(begin, axis, index, source, each);
    if (kind == WEFT_SCATTER_MEAN) return mean_of(sums, counts, x);
    for (size_t i = 0; i < sums->count; i++)
        if (counts->value[i] == 0) sums->value[i] = x->value[i], sums->error[i] = x->error[i];
    return sums;
}

f64_array *f64_sparse_matmul(const f64_array *rows, const f64_array *columns, const f64_array *values,
    int64_t size, const f64_array *dense) {
    int64_t dims[WEFT_MAX_RANK] = {size}, beside[WEFT_MAX_RANK] = {rows->dims[0]};
    for (int i = 1; i < dense->rank; i++) dims[i] = dense->dims[i], beside[i] = 1;
    f64_array *terms = f64_index_select(dense, 0, columns);
    if (values) {
        f64_array *const factors = f64_zeros(dense->rank, beside);
        for (size_t i = 0; i < values->count; i++)
            factors->value[i] = values->value[i], factors->error[i] = values->error[i];
        terms = f64_mul(terms, factors);
    }
    return f64_index_add(f64_zeros(dense->rank, dims), 0, rows, terms);
}

f64_array *f64_index_copy(const f64_array *x, int64_t axis, const f64_array *index, const f64_array *source) {
    const int along = f64_axis(axis, x->rank);
    const targets t = {index, around_axis(source, along), around_axis(x, along), false};
    f64_array *const y = f64_copy(x);
    size_t at = 0, from = 0;
    for (size_t o = 0; o < t.from.outer; o++)
        for (size_t j = 0; j < t.from.along; j++)
            for (size_t i = 0; i < t.from.inner; i++, from++) {
                const bool exists = target_of(&t, o, j, i, &at);
                pick(y, at, source, from, exists);
            }
    doubt_all(y, index, reach_of(x) + reach_of(source));
    return y;
}

f64_array *f64_sparse_rows(const f64_array *starts, const f64_array *columns) {
    f64_array *const rows = f64_zeros(1, columns->dims);
    for (size_t e = 0; e < rows->count; e++)
        for (size_t r = 1; r + 1 < starts->count; r++)
            if (starts->value[r] <= (double)e) rows->value[e] = (double)r;
    return rows;
}
