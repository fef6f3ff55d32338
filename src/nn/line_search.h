/* A search along a line for a point that meets the strong Wolfe conditions: the loss has fallen by a part of what its slope
 * promised, and the slope is flatter (Nocedal and Wright 2006, section 3.5). Trial points, bounds and ends are those of
 * torch.optim.LBFGS, so that both come to the same points. */
#ifndef WI_LINE_SEARCH_H
#define WI_LINE_SEARCH_H

#include <weft/base.h>

/* A point of the line: how far, the loss, its slope along the line, and the gradient. */
typedef struct wi_line_point {
    double at, loss, slope;
    double *gradient;
} wi_line_point;

enum { WI_LINE_POINTS = 4 }; /* that a search holds at a time, besides its start */

typedef struct wi_line_search {
    /* Sets loss, slope and gradient of the point. */
    weft_status (*evaluate)(void *user, wi_line_point *point);
    void *user;
    size_t size;             /* of gradients */
    double longest;          /* magnitude of the direction's elements */
    double tolerance_change; /* of a bracket, in parameters */
    double *memory;          /* WI_LINE_POINTS · size, for gradients */
    int evaluations;         /* so far */
} wi_line_search;

/* start: at 0. found: a point whose gradient lies in the memory. first: the first trial. */
weft_status wi_line_search_run(
    wi_line_search *search, const wi_line_point *start, double first, wi_line_point *found);

#endif
