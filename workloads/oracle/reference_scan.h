/* Scans in float64, and the lines of an array along an axis. */
#ifndef ORACLE_REFERENCE_SCAN_H
#define ORACLE_REFERENCE_SCAN_H

#include "oracle/reference.h"

/* n elements from `start` on, `step` apart (modulo the range of size_t where the line is walked backward). */
typedef struct f64_line {
    size_t n, start, step;
} f64_line;
size_t f64_line_count(const f64_array *x, int axis);
f64_line f64_line_of(const f64_array *x, int axis, size_t number, bool reverse);
/* Of the rounding errors of n steps, relative to the sum of the terms' sizes. */
double f64_scan_rounding(size_t n);

typedef struct f64_scan {
    int axis; /* may be negative */
    bool exclusive, reverse;
} f64_scan;
f64_array *f64_cumsum(const f64_array *x, f64_scan scan);
f64_array *f64_cumprod(const f64_array *x, f64_scan scan);
/* y[j] = a[j]·y[j-1] + b[j]; a and b broadcast. */
f64_array *f64_linear_scan(const f64_array *a, const f64_array *b, int axis, bool reverse);

#endif
