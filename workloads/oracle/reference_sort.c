/* Sorting in float64: see reference_sort.h. */
#include "oracle/reference_sort.h"
#include "oracle/reference_scan.h"
#include <math.h>
#include <stdlib.h>

typedef struct element {
    double value, error;
    double rest; /* in an order of places: no element from this one on can be before this number */
    size_t index;
    bool descending;
} element;

/* NaN is greater than all; ties in the order of the index. */
static int compare(const void *pa, const void *pb) {
    const element *const a = pa, *const b = pb;
    const bool nan_a = isnan(a->value), nan_b = isnan(b->value);
    int order = 0;
    if (nan_a || nan_b)
        order = nan_a - nan_b;
    else if (a->value != b->value)
        order = a->value < b->value ? -1 : 1;
    if (a->descending) order = -order;
    return order ? order : a->index < b->index ? -1 : 1;
}

/* One line in its order, with each value moved by `shift` times its error. */
static void order_line(element *line, const f64_array *x, f64_line l, bool descending, double shift) {
    for (size_t j = 0; j < l.n; j++) {
        const size_t at = l.start + j * l.step;
        const double error = x->error[at] > 1e-37 ? x->error[at] : 0; /* as in f64_may_meet */
        line[j] = (element){x->value[at] + shift * error, error, 0, j, descending};
    }
    qsort(line, l.n, sizeof *line, compare);
}

/* An element of which nothing is known may be anywhere, and moves all others. */
static bool has_unknown(const f64_array *x, f64_line l) {
    for (size_t j = 0; j < l.n; j++)
        if (!isfinite(x->error[l.start + j * l.step])) return true;
    return false;
}

static void forget_line(f64_array *y, f64_line l) {
    for (size_t j = 0; j < l.n; j++) y->error[l.start + j * l.step] = INFINITY;
}

/* The rank-th largest element lies between the rank-th largest lower and the rank-th largest upper bound. */
static void put_values(
    f64_array *y, f64_line to, const f64_array *x, f64_line from, element *line, bool descending) {
    order_line(line, x, from, descending, 0);
    for (size_t r = 0; r < to.n; r++) y->value[to.start + r * to.step] = line[r].value;
    for (int shift = -1; f64_tracks_errors() && shift <= 1; shift += 2) {
        order_line(line, x, from, descending, shift);
        for (size_t r = 0; r < to.n; r++) {
            const size_t at = to.start + r * to.step;
            const double off = fabs(line[r].value - y->value[at]);
            y->error[at] = fmax(y->error[at], isnan(off) ? 0 : off);
        }
    }
    if (has_unknown(x, from)) forget_line(y, to);
}

static double turned(const element *e) {
    return e->descending ? -e->value : e->value;
}

static void bound_rests(element *line, size_t n) {
    double least = INFINITY;
    for (size_t r = n; r-- > 0;) line[r].rest = least = fmin(least, turned(&line[r]) - line[r].error);
}

/* A place is certain where every element before it is certainly before it, and every later one after it. */
static void put_places(
    f64_array *y, f64_line to, const f64_array *x, f64_line from, element *line, bool descending) {
    double reach = -INFINITY; /* of the elements before */
    order_line(line, x, from, descending, 0);
    bound_rests(line, from.n);
    for (size_t r = 0; r < to.n; r++) {
        const size_t at = to.start + r * to.step;
        const double here = turned(&line[r]), error = line[r].error;
        const double rest = r + 1 < from.n ? line[r + 1].rest : INFINITY;
        y->value[at] = (double)line[r].index;
        if (f64_may_meet(here - reach, error) || f64_may_meet(rest - here, error))
            y->error[at] = (double)from.n;
        reach = fmax(reach, here + error);
    }
    if (has_unknown(x, from)) forget_line(y, to);
}

static f64_array *ordered(const f64_array *x, f64_order order, bool places) {
    const int axis = order.axis < 0 ? order.axis + x->rank : order.axis;
    int64_t dims[WEFT_MAX_RANK];
    for (int i = 0; i < x->rank; i++) dims[i] = i == axis && order.k ? order.k : x->dims[i];
    f64_array *const y = f64_zeros(x->rank, dims);
    element *const line = calloc((size_t)x->dims[axis], sizeof *line);
    if (!line) abort();
    for (size_t i = 0; i < f64_line_count(x, axis); i++)
        (places ? put_places : put_values)(
            y, f64_line_of(y, axis, i, false), x, f64_line_of(x, axis, i, false), line, order.descending);
    free(line);
    return y;
}

f64_array *f64_sorted(const f64_array *x, f64_order order) {
    return ordered(x, order, false);
}

f64_array *f64_sorted_places(const f64_array *x, f64_order order) {
    return ordered(x, order, true);
}
