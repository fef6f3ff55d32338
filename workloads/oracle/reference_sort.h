/* Sorting in float64. */
#ifndef ORACLE_REFERENCE_SORT_H
#define ORACLE_REFERENCE_SORT_H

#include "oracle/reference.h"

typedef struct f64_order {
    int axis; /* may be negative */
    bool descending;
    int64_t k; /* the first k of the order; 0: all */
} f64_order;
/* The elements along the axis in their order, and the places where they stood. NaN is the greatest; equal elements keep their
 * order. */
f64_array *f64_sorted(const f64_array *x, f64_order order);
f64_array *f64_sorted_places(const f64_array *x, f64_order order);

#endif
