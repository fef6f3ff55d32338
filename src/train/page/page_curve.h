/* A curve of bounded size. When a curve has more points than its limit, groups of neighbours are replaced by the smallest
 * and the largest of the group, so that no peak disappears. */
#ifndef WI_PAGE_CURVE_H
#define WI_PAGE_CURVE_H

#include "base/memory.h"

typedef struct wi_page_point {
    size_t step;
    double time, value; /* time: seconds since the run began */
} wi_page_point;

typedef struct wi_page_curve {
    char *tag;
    wi_page_point *points;
    size_t count, capacity;
    size_t every; /* points that a group has */
    /* The group that is not complete: its extremes, its latest point, and the number of its points. */
    wi_page_point low, high, last;
    size_t pending;
    size_t not_finite, first_not_finite; /* points without a value, and the step of the first */
} wi_page_curve;

/* Adds a point to a curve of at most `limit` points, which is a multiple of 4. WEFT_ERROR_MEMORY: the point is lost. */
weft_status wi_page_curve_add(
    wi_page_curve *curve, const weft_allocator *allocator, const wi_page_point *point, size_t limit);
/* The largest number of points that wi_page_curve_points writes. */
size_t wi_page_curve_size(const wi_page_curve *curve);
/* Writes the points, in the order of their steps, with the latest point at the end. Returns their number. */
size_t wi_page_curve_points(const wi_page_curve *curve, wi_page_point *points);

#endif
