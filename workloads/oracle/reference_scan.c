/* Scans in float64: see reference_scan.h. */
#include "oracle/reference_scan.h"
#include <math.h>

size_t f64_line_count(const f64_array *x, int axis) {
    return x->count / (size_t)x->dims[axis];
}

f64_line f64_line_of(const f64_array *x, int axis, size_t number, bool reverse) {
    size_t inner = 1;
    for (int i = axis + 1; i < x->rank; i++) inner *= (size_t)x->dims[i];
    const size_t n = (size_t)x->dims[axis];
    f64_line l = {n, number / inner * n * inner + number % inner, inner};
    if (reverse) {
        l.start += (n - 1) * inner;
        l.step = (size_t)0 - inner;
    }
    return l;
}

double f64_scan_rounding(size_t n) {
    return 1e-6 * fmax(1, log2((double)n));
}

/* A partial result, and how far it may be off. */
typedef struct partial {
    double value, size; /* what a rounding error is relative to */
    double error;       /* that of the inputs */
} partial;

static partial add_element(partial p, double x, double error) {
    return (partial){p.value + x, p.size + fabs(x), p.error + error};
}

/* In `size` is the largest that the product can be. */
static partial multiply_element(partial p, double x, double error) {
    const double value = p.value * x, most = (fabs(p.value) + p.error) * (fabs(x) + error);
    return (partial){value, fabs(value), most < 1e37 ? most - fabs(value) : INFINITY};
}

static f64_array *cumulate(
    const f64_array *x, f64_scan scan, partial first, partial (*step)(partial p, double x, double error)) {
    f64_array *const y = f64_zeros(x->rank, x->dims);
    const int axis = scan.axis < 0 ? scan.axis + x->rank : scan.axis;
    for (size_t i = 0; i < f64_line_count(x, axis); i++) {
        const f64_line l = f64_line_of(x, axis, i, scan.reverse);
        partial total = first;
        for (size_t j = 0; j < l.n; j++) {
            const size_t at = l.start + j * l.step;
            const partial before = total;
            total = step(total, x->value[at], x->error[at]);
            const partial here = scan.exclusive ? before : total;
            y->value[at] = here.value;
            y->error[at] = f64_scan_rounding(l.n) * here.size + here.error + f64_overflow(here.size);
        }
    }
    return y;
}

f64_array *f64_cumsum(const f64_array *x, f64_scan scan) {
    return cumulate(x, scan, (partial){0, 0, 0}, add_element);
}

f64_array *f64_cumprod(const f64_array *x, f64_scan scan) {
    return cumulate(x, scan, (partial){1, 1, 0}, multiply_element);
}

static void recur(f64_array *y, const f64_array *a, const f64_array *b, f64_line l) {
    double state = 0, size = 0, error = 0;
    for (size_t j = 0; j < l.n; j++) {
        const size_t at = l.start + j * l.step;
        error = (fabs(a->value[at]) + a->error[at]) * error + a->error[at] * fabs(state) + b->error[at];
        state = a->value[at] * state + b->value[at];
        size = fabs(a->value[at]) * size + fabs(b->value[at]);
        y->value[at] = state;
        y->error[at] = f64_scan_rounding(l.n) * size + error + f64_overflow(size);
    }
}

f64_array *f64_linear_scan(const f64_array *a, const f64_array *b, int axis, bool reverse) {
    f64_array *const y = f64_add(a, b); /* of their common shape */
    a = f64_expand(a, y->rank, y->dims);
    b = f64_expand(b, y->rank, y->dims);
    if (axis < 0) axis += y->rank;
    for (size_t i = 0; i < f64_line_count(y, axis); i++) recur(y, a, b, f64_line_of(y, axis, i, reverse));
    return y;
}
