/* Functions of float64 arrays with error bounds: see reference.h. */
#include "oracle/reference.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Where in `a` the element lies that broadcasting puts at `index` of a shape of this rank. */
static size_t broadcast_offset(const f64_array *a, int rank, const int64_t *index) {
    size_t offset = 0;
    for (int i = 0; i < a->rank; i++) {
        const int64_t position = a->dims[i] == 1 ? 0 : index[rank - a->rank + i];
        offset = offset * (size_t)a->dims[i] + (size_t)position;
    }
    return offset;
}

static void broadcast_into(const f64_array *a, int *rank, int64_t *dims) {
    if (!a) return;
    while (*rank < a->rank) {
        memmove(dims + 1, dims, (size_t)*rank * sizeof *dims);
        dims[0] = 1;
        ++*rank;
    }
    for (int i = 0; i < a->rank; i++) {
        int64_t *const dim = &dims[*rank - a->rank + i];
        assert(*dim == 1 || a->dims[i] == 1 || *dim == a->dims[i]);
        if (a->dims[i] != 1) *dim = a->dims[i];
    }
}

/* ---- elementwise ---- */

static double rounding(double value) {
    if (!isfinite(value)) return 0;
    return fmax(4 * f64_ulp(value), 1e-6 * fabs(value)) + f64_stored_rounding(value) + f64_overflow(value);
}

/* From y to another value. Where one of them alone is NaN nothing is known: an argument lies within its error of the edge of the domain. */
static double distance(double value, double y) {
    if (isnan(value) != isnan(y)) return INFINITY;
    return isnan(value) || value == y ? 0 : fabs(value - y);
}

/* How far f moves when one of its arguments moves by `error` either way. An argument of which nothing is known may be NaN, too. */
static double carried(f64_function *f, const double *x, int which, double error, double y) {
    if (error <= 0) return 0;
    const double moves[] = {isnan(error) ? INFINITY : error, isnan(error) ? -INFINITY : -error, NAN};
    double most = 0;
    for (int i = 0; i < (isfinite(error) ? 2 : 3); i++) {
        double moved[3] = {x[0], x[1], x[2]};
        moved[which] += moves[i];
        most = fmax(most, distance(f(moved[0], moved[1], moved[2]), y));
    }
    return most;
}

/* Of two arguments that are equal within their errors: a comparison for equality jumps there alone. */
static double carried_if_equal(f64_function *f, const double *x, const double *errors, double y) {
    if (x[0] == x[1] || !(fabs(x[0] - x[1]) <= errors[0] + errors[1])) return 0;
    return fmax(distance(f(x[0], x[0], 0), y), distance(f(x[1], x[1], 0), y));
}

f64_array *f64_map_sum(
    f64_function *function, f64_function *size, const f64_array *a, const f64_array *b, const f64_array *c) {
    const f64_array *const inputs[3] = {a, b, c};
    int rank = 0;
    int64_t dims[WEFT_MAX_RANK] = {0}, index[WEFT_MAX_RANK] = {0};
    for (int i = 0; i < 3; i++) broadcast_into(inputs[i], &rank, dims);
    f64_array *const y = f64_zeros(rank, dims);
    for (size_t at = 0; at < y->count; at++) {
        double x[3] = {0}, errors[3] = {0};
        for (int i = 0; i < 3 && inputs[i]; i++) {
            const size_t offset = broadcast_offset(inputs[i], rank, index);
            x[i] = inputs[i]->value[offset];
            errors[i] = inputs[i]->error[offset];
        }
        y->value[at] = function(x[0], x[1], x[2]);
        if (f64_tracks_errors()) {
            y->error[at] = rounding(size(x[0], x[1], x[2]));
            for (int i = 0; i < 3; i++) y->error[at] += carried(function, x, i, errors[i], y->value[at]);
            if (b && !c) y->error[at] += carried_if_equal(function, x, errors, y->value[at]);
        }
        f64_next(index, rank, dims);
    }
    return y;
}

f64_array *f64_map(f64_function *function, const f64_array *a, const f64_array *b, const f64_array *c) {
    return f64_map_sum(function, function, a, b, c);
}

#define ELEMENTWISE(name, formula)                                                                           \
    static double function_##name(double a, double b, double c) {                                            \
        (void)a, (void)b, (void)c;                                                                           \
        return formula;                                                                                      \
    }
#define UNARY(name, formula)                                                                                 \
    ELEMENTWISE(name, formula)                                                                               \
    f64_array *f64_##name(const f64_array *a) {                                                              \
        return f64_map(function_##name, a, NULL, NULL);                                                      \
    }
#define BINARY(name, formula)                                                                                \
    ELEMENTWISE(name, formula)                                                                               \
    f64_array *f64_##name(const f64_array *a, const f64_array *b) {                                          \
        return f64_map(function_##name, a, b, NULL);                                                         \
    }

BINARY(add, a + b)
BINARY(sub, a - b)
BINARY(mul, a *b)
BINARY(div, a / b)
BINARY(maximum, isnan(a) || a > b ? a : b)
UNARY(exp, exp(a))
UNARY(log, log(a))
UNARY(sqrt, sqrt(a))
UNARY(tanh, tanh(a))
UNARY(sigmoid, 1 / (1 + exp(-a)))
UNARY(relu, isnan(a) || a > 0 ? a : 0)
UNARY(square, a *a)

/* ---- reductions ---- */

typedef struct reduction {
    f64_array *result; /* with the reduced axes kept */
    bool reduced[WEFT_MAX_RANK];
    double length; /* elements that go into one */
} reduction;

static reduction reduction_begin(const f64_array *a, const int64_t *axes) {
    reduction r = {.length = 1};
    const bool all = !axes || axes[0] == WEFT_END;
    for (int i = 0; i < a->rank; i++) r.reduced[i] = all;
    for (int i = 0; !all && i < WEFT_MAX_RANK && axes[i] != WEFT_END; i++)
        r.reduced[axes[i] < 0 ? axes[i] + a->rank : axes[i]] = true;
    int64_t dims[WEFT_MAX_RANK];
    for (int i = 0; i < a->rank; i++) {
        dims[i] = r.reduced[i] ? 1 : a->dims[i];
        if (r.reduced[i]) r.length *= (double)a->dims[i];
    }
    r.result = f64_zeros(a->rank, dims);
    return r;
}

static f64_array *reduction_end(const reduction *r, bool keep) {
    if (keep) return r->result;
    int64_t dims[WEFT_MAX_RANK];
    int rank = 0;
    for (int i = 0; i < r->result->rank; i++)
        if (!r->reduced[i]) dims[rank++] = r->result->dims[i];
    return f64_reshape(r->result, rank, dims);
}

/* Dividing by `divisor` makes a mean of a sum. */
static f64_array *sum_over(const f64_array *a, const int64_t *axes, bool keep, bool mean) {
    const reduction r = reduction_begin(a, axes);
    const double divisor = mean ? r.length : 1, allowed = 1e-6 * log2(r.length);
    f64_array *const sizes = f64_copy(r.result);
    int64_t index[WEFT_MAX_RANK] = {0};
    for (size_t i = 0; i < a->count; i++, f64_next(index, a->rank, a->dims)) {
        const size_t at = broadcast_offset(r.result, a->rank, index);
        r.result->value[at] += a->value[i] / divisor;
        r.result->error[at] += (a->error[i] + allowed * fabs(a->value[i])) / divisor;
        sizes->value[at] += fabs(a->value[i]);
    }
    for (size_t i = 0; i < r.result->count; i++)
        r.result->error[i] += f64_ulp(r.result->value[i]) + f64_stored_rounding(r.result->value[i]) +
                              f64_overflow(sizes->value[i]);
    return reduction_end(&r, keep);
}

f64_array *f64_sum(const f64_array *a, const int64_t *axes, bool keep) {
    return sum_over(a, axes, keep, false);
}
f64_array *f64_mean(const f64_array *a, const int64_t *axes, bool keep) {
    return sum_over(a, axes, keep, true);
}

/* A row's place is uncertain where an element other than its maximum may be as large. In `seen`, the errors are the
 * maxima's offsets in `a`. */
static void mark_uncertain(const f64_array *a, const f64_array *best, const f64_array *seen, reduction *r) {
    int64_t index[WEFT_MAX_RANK] = {0};
    for (size_t i = 0; i < a->count; i++, f64_next(index, a->rank, a->dims)) {
        const size_t at = broadcast_offset(r->result, a->rank, index), top = (size_t)seen->error[at];
        if (i != top && f64_may_meet(best->value[at] - a->value[i], a->error[top] + a->error[i]))
            r->result->error[at] = r->length;
    }
}

/* The first maximum (NaN counts as the greatest): its value, or its place among the reduced elements. */
static f64_array *maximum_over(const f64_array *a, const int64_t *axes, bool keep, bool want_place) {
    reduction r = reduction_begin(a, axes);
    f64_array *const best = f64_copy(r.result), *const seen = f64_copy(r.result);
    int64_t index[WEFT_MAX_RANK] = {0};
    for (size_t i = 0; i < a->count; i++, f64_next(index, a->rank, a->dims)) {
        const size_t at = broadcast_offset(r.result, a->rank, index);
        const double x = a->value[i];
        if (seen->value[at] == 0 || x > best->value[at] || (isnan(x) && !isnan(best->value[at]))) {
            best->value[at] = x;
            seen->error[at] = (double)i;
            r.result->value[at] = want_place ? seen->value[at] : x;
        }
        if (!want_place) r.result->error[at] = fmax(r.result->error[at], a->error[i]);
        seen->value[at]++;
    }
    if (want_place && f64_tracks_errors()) mark_uncertain(a, best, seen, &r);
    return reduction_end(&r, keep);
}

f64_array *f64_max(const f64_array *a, const int64_t *axes, bool keep) {
    return maximum_over(a, axes, keep, false);
}
f64_array *f64_argmax(const f64_array *a, const int64_t *axes, bool keep) {
    return maximum_over(a, axes, keep, true);
}

/* ---- products ---- */

/* One element of the product of two matrices at these offsets. */
static void dot(f64_array *y, size_t at, const f64_array *a, size_t row, const f64_array *b, size_t column) {
    const size_t k = (size_t)a->dims[a->rank - 1], n = (size_t)b->dims[b->rank - 1];
    const double allowed = 1e-6 * log2((double)k);
    const double *const x = a->value + row * k, *const y_column = b->value + column;
    double sum = 0, terms = 0, error = 0;
    for (size_t i = 0; i < k; i++) sum += x[i] * y_column[i * n];
    y->value[at] = sum;
    for (size_t i = 0; i < k && f64_tracks_errors(); i++) {
        const double of_a = a->error[row * k + i], of_b = b->error[column + i * n];
        const double size = fabs(y_column[i * n]);
        error += allowed * fabs(x[i]) * size + of_a * (size + of_b) + of_b * fabs(x[i]);
        terms += fabs(x[i]) * size;
    }
    y->error[at] = error + f64_ulp(sum) + f64_stored_rounding(sum) + f64_overflow(terms);
}

f64_array *f64_matmul(const f64_array *a, const f64_array *b) {
    const int64_t m = a->dims[a->rank - 2], n = b->dims[b->rank - 1], k = a->dims[a->rank - 1];
    assert(k == b->dims[b->rank - 2]);
    f64_array left = *a, right = *b; /* the leading dimensions alone */
    left.rank -= 2;
    right.rank -= 2;
    int rank = 0;
    int64_t dims[WEFT_MAX_RANK] = {0}, index[WEFT_MAX_RANK] = {0};
    broadcast_into(&left, &rank, dims);
    broadcast_into(&right, &rank, dims);
    dims[rank] = m;
    dims[rank + 1] = n;
    f64_array *const y = f64_zeros(rank + 2, dims);
    size_t at = 0;
    do {
        const size_t l = broadcast_offset(&left, rank, index), r = broadcast_offset(&right, rank, index);
        for (size_t i = 0; i < (size_t)m; i++)
            for (size_t j = 0; j < (size_t)n; j++)
                dot(y, at++, a, l * (size_t)m + i, b, r * (size_t)(k * n) + j);
    } while (f64_next(index, rank, dims));
    return y;
}

/* ---- softmax ---- */

/* x - max(x): the formulas below subtract it, so that exp cannot overflow. Their results do not depend on what is
 * subtracted, nor on how exact it is. */
static f64_array *centred(const f64_array *a, int axis) {
    f64_array *const top = f64_max(a, (int64_t[]){axis, WEFT_END}, true);
    memset(top->error, 0, top->count * sizeof *top->error);
    return f64_sub(a, top);
}

f64_array *f64_softmax(const f64_array *a, int axis) {
    const f64_array *const powers = f64_exp(centred(a, axis));
    return f64_div(powers, f64_sum(powers, (int64_t[]){axis, WEFT_END}, true));
}

f64_array *f64_log_softmax(const f64_array *a, int axis) {
    const f64_array *const x = centred(a, axis);
    return f64_sub(x, f64_log(f64_sum(f64_exp(x), (int64_t[]){axis, WEFT_END}, true)));
}

/* ---- movement ---- */

f64_array *f64_reshape(const f64_array *a, int rank, const int64_t *dims) {
    f64_array *const y = f64_zeros(rank, dims);
    assert(y->count == a->count);
    memcpy(y->value, a->value, a->count * sizeof *y->value);
    memcpy(y->error, a->error, a->count * sizeof *y->error);
    return y;
}

f64_array *f64_permute(const f64_array *a, const int *axes) {
    int64_t dims[WEFT_MAX_RANK], index[WEFT_MAX_RANK] = {0}, from[WEFT_MAX_RANK];
    for (int i = 0; i < a->rank; i++) dims[i] = a->dims[axes[i]];
    f64_array *const y = f64_zeros(a->rank, dims);
    for (size_t at = 0; at < y->count; at++, f64_next(index, a->rank, dims)) {
        for (int i = 0; i < a->rank; i++) from[axes[i]] = index[i];
        const size_t offset = broadcast_offset(a, a->rank, from);
        y->value[at] = a->value[offset];
        y->error[at] = a->error[offset];
    }
    return y;
}

f64_array *f64_transpose(const f64_array *a) {
    int axes[WEFT_MAX_RANK];
    for (int i = 0; i < a->rank; i++) axes[i] = i;
    axes[a->rank - 2] = a->rank - 1;
    axes[a->rank - 1] = a->rank - 2;
    return f64_permute(a, axes);
}

f64_array *f64_expand(const f64_array *a, int rank, const int64_t *dims) {
    f64_array *const y = f64_zeros(rank, dims);
    int64_t index[WEFT_MAX_RANK] = {0};
    for (size_t at = 0; at < y->count; at++, f64_next(index, rank, dims)) {
        const size_t offset = broadcast_offset(a, rank, index);
        y->value[at] = a->value[offset];
        y->error[at] = a->error[offset];
    }
    return y;
}

/* Copies `part` into `whole` from position `start` of the axis on, or back. */
static void move_part(f64_array *whole, f64_array *part, int axis, int64_t start, bool back) {
    int64_t index[WEFT_MAX_RANK] = {0}, shifted[WEFT_MAX_RANK];
    for (size_t i = 0; i < part->count; i++, f64_next(index, part->rank, part->dims)) {
        memcpy(shifted, index, sizeof shifted);
        shifted[axis] += start;
        const size_t at = broadcast_offset(whole, whole->rank, shifted);
        double *const to[2] = {
            back ? part->value + i : whole->value + at, back ? part->error + i : whole->error + at};
        *to[0] = back ? whole->value[at] : part->value[i];
        *to[1] = back ? whole->error[at] : part->error[i];
    }
}

f64_array *f64_slice(const f64_array *a, int axis, int64_t start, int64_t end) {
    if (axis < 0) axis += a->rank;
    const int64_t length = a->dims[axis];
    if (start < 0) start += length;
    if (end < 0) end += length;
    int64_t dims[WEFT_MAX_RANK];
    memcpy(dims, a->dims, sizeof dims);
    dims[axis] = end - start;
    f64_array *const y = f64_zeros(a->rank, dims);
    move_part(f64_copy(a), y, axis, start, true);
    return y;
}

f64_array *f64_concat(const f64_array *const *arrays, size_t count, int axis) {
    if (axis < 0) axis += arrays[0]->rank;
    int64_t dims[WEFT_MAX_RANK];
    memcpy(dims, arrays[0]->dims, sizeof dims);
    for (size_t i = 1; i < count; i++) dims[axis] += arrays[i]->dims[axis];
    f64_array *const y = f64_zeros(arrays[0]->rank, dims);
    int64_t start = 0;
    for (size_t i = 0; i < count; i++) {
        move_part(y, f64_copy(arrays[i]), axis, start, false);
        start += arrays[i]->dims[axis];
    }
    return y;
}
