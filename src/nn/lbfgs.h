/* The state of an L-BFGS optimizer (contract in vectors.h), and the part that checkpoints and snapshots save. */
#ifndef WI_LBFGS_H
#define WI_LBFGS_H

#include "graph/host_state.h"
#include "nn/parameter_vector.h"

/* One iteration of the history. */
typedef struct wi_lbfgs_pair {
    float *step, *change; /* of the parameters; of the gradient */
    double factor;        /* 1 / (step · change) */
} wi_lbfgs_pair;

struct weft_lbfgs {
    wi_host_state state; /* first, so that a pointer to it can be cast to the optimizer */
    weft_graph *graph;
    weft_lbfgs_options options;
    weft_plan *plan;
    weft_tensor *outputs[2]; /* loss, gradient */
    weft_tensor **parameters;
    size_t parameter_count, size; /* size: elements of all parameters */
    /* The following are vectors of `size` elements, except `points`. */
    double *x, *direction, *gradient, *before; /* before: the gradient of the previous iteration */
    double *points;                            /* WI_LINE_POINTS · size: memory of the line search */
    float *copied;                             /* values on their way from or to the device */
    wi_lbfgs_pair *pairs;                      /* from the oldest to the newest */
    double *weights;                           /* one per pair: scratch of the two-loop recursion */
    size_t pair_count;
    double scale;  /* the recursion begins with the inverse Hessian scale·I */
    double length; /* of the latest iteration's step, as a multiple of the direction */
    double loss;   /* at x */
    weft_lbfgs_info info;
};

/* Allocates the vectors of a pair unless they exist. Error: WEFT_ERROR_MEMORY. */
weft_status wi_lbfgs_allocate_pair(weft_lbfgs *optimizer, wi_lbfgs_pair *pair);
/* Discards the history and the counts; keeps parameters and plan. */
void wi_lbfgs_begin_anew(weft_lbfgs *optimizer);
/* Adds the state to the graph, for checkpoints and snapshots. Parameters and memory must be there already. */
void wi_lbfgs_keep(weft_lbfgs *optimizer);

#endif
