/* A search along a line for a point that meets the strong Wolfe conditions (Nocedal and Wright 2006, section 3.5):
 * the loss is lower by a fraction of what the slope at the start predicts, and the magnitude of the slope is smaller.
 * Trial points, bounds and stopping conditions are those of torch.optim.LBFGS, so that both find the same points. */
#ifndef WI_LINE_SEARCH_H
#define WI_LINE_SEARCH_H

#include <weft/base.h>

typedef struct wi_line_point {
    double at, loss, slope; /* at: the point is start + at·direction; slope: gradient · direction */
    double *gradient;
} wi_line_point;

enum { WI_LINE_POINTS = 4 }; /* points that a search holds besides its start */

typedef struct wi_line_search {
    /* Sets loss, slope and gradient of the point from its `at`. */
    weft_status (*evaluate)(void *user, wi_line_point *point);
    void *user;
    size_t size;             /* elements of a gradient */
    double longest;          /* the largest magnitude in the direction */
    double tolerance_change; /* the search ends when the bracket is shorter, in every parameter */
    double *memory;          /* WI_LINE_POINTS · size, for gradients */
    int evaluations;         /* so far */
} wi_line_search;

/* start: the point with at = 0. first: `at` of the first trial. *found: a point whose gradient lies in
 * search->memory. Errors: those of evaluate. */
weft_status wi_line_search_run(
    wi_line_search *search, const wi_line_point *start, double first, wi_line_point *found);

#endif
