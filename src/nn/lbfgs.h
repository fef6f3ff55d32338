/* What an L-BFGS optimizer is made of (contract in vectors.h), and what checkpoints and snapshots keep of it. */
#ifndef WI_LBFGS_H
#define WI_LBFGS_H

#include "graph/host_state.h"
#include "nn/parameter_vector.h"

/* How the parameters changed in an iteration, and how the gradient did. */
typedef struct wi_lbfgs_pair {
    float *step, *change;
    double factor; /* 1 / (step · change) */
} wi_lbfgs_pair;

struct weft_lbfgs {
    wi_host_state state; /* the first, so that a pointer to it is one to the optimizer */
    weft_graph *graph;
    weft_lbfgs_options options;
    weft_plan *plan;
    weft_tensor *outputs[2]; /* loss, gradient */
    weft_tensor **parameters;
    size_t parameter_count, size;
    /* size each */
    double *x, *direction, *gradient, *before; /* before: the gradient of the iteration before */
    double *points;                            /* of the line search */
    float *copied;
    wi_lbfgs_pair *pairs; /* the oldest first */
    double *weights;      /* one a pair */
    size_t pair_count;
    double scale;  /* of the first guess of the inverse Hessian */
    double length; /* of the latest iteration's step, in directions */
    double loss;   /* at x, as is the gradient */
    weft_lbfgs_info info;
};

/* Allocates the two vectors of a pair that has none yet. */
weft_status wi_lbfgs_allocate_pair(weft_lbfgs *optimizer, wi_lbfgs_pair *pair);
/* Forgets everything but parameters and plan. */
void wi_lbfgs_begin_anew(weft_lbfgs *optimizer);
/* Adds the state to the graph, of an optimizer that has its parameters and memory. */
void wi_lbfgs_keep(weft_lbfgs *optimizer);

#endif
