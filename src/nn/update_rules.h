/* The optimizers' formulas, one function each. A rule writes down nodes over the flat tensors (rows,
 * WI_FLAT_ROW); weft_minimize (optimizer.c) does what is the same for all. */
#ifndef WI_UPDATE_RULES_H
#define WI_UPDATE_RULES_H

#include "graph/nodes.h"
#include <weft/nn.h>

typedef struct wi_pair {
    weft_tensor *variable, *value;
} wi_pair;

typedef struct wi_update {
    weft_graph *graph;
    const weft_optimizer *optimizer;
    size_t clock;
    weft_tensor *p, *g; /* g: accumulated, clipped, with coupled decay */
    weft_tensor *rate;  /* rank 0, or (rows, 1) where groups differ */
    weft_tensor *decay; /* the same; NULL: none */
    weft_tensor *apply; /* bool, rank 0: this run updates; NULL: each does */
    wi_pair pairs[WEFT_MAX_UPDATES];
    size_t count;
    /* The part of the flat tensors that p, g and the states are views of; rank 0: they are whole. */
    int64_t first_row;
    wi_shape range;
    weft_tensor *states[WEFT_MAX_UPDATES]; /* whole, in the order in which the rule asks for them */
    size_t state_count, asked;
} wi_update;

/* The update's part of a flat tensor. */
weft_tensor *wi_update_range(const wi_update *u, weft_tensor *flat);

/* A state of the shape of p, and its next value. role: a literal, its name in checkpoints: "m" of "conv1.weight" is
 * optimizer.m.conv1.weight. */
weft_tensor *wi_update_state(wi_update *u, const char *role, float first);
void wi_update_keep(wi_update *u, weft_tensor *state, weft_tensor *value);

/* The next p. */
weft_tensor *wi_sgd_rule(wi_update *u);
weft_tensor *wi_adam_rule(wi_update *u); /* AdamW too */
weft_tensor *wi_nadam_rule(wi_update *u);
weft_tensor *wi_rmsprop_rule(wi_update *u);
weft_tensor *wi_adagrad_rule(wi_update *u);
weft_tensor *wi_adadelta_rule(wi_update *u);
weft_tensor *wi_lion_rule(wi_update *u);
weft_tensor *wi_lamb_rule(wi_update *u); /* lamb.c */

/* What the rules share. */
typedef struct wi_moments {
    weft_tensor *first, *second; /* without bias correction */
} wi_moments;
wi_moments wi_update_moments(wi_update *u); /* m and v, kept */
/* x · 1 / (1 - beta^t) */
weft_tensor *wi_unbiased(wi_update *u, weft_tensor *x, float beta);
/* x · factor, a · keep + b · (1 - keep) */
weft_tensor *wi_scaled(weft_tensor *x, double factor);
weft_tensor *wi_blend(weft_tensor *a, weft_tensor *b, double keep);
weft_tensor *wi_root_plus(weft_tensor *x, float epsilon); /* sqrt(x) + epsilon */

/* ---- groups.c ---- */
typedef struct wi_rows {
    weft_tensor *factor; /* (rows, 1) of the rate; 0 for frozen parameters; NULL: 1 everywhere */
    weft_tensor *decay;  /* rank 0 or (rows, 1); NULL: 0 everywhere */
    bool frozen;         /* some are */
} wi_rows;
weft_status wi_groups_check(weft_graph *graph, const weft_optimizer *optimizer);
weft_status wi_groups_rows(weft_graph *graph, const weft_optimizer *optimizer, wi_rows *rows);
/* (rows, 1) i32: the number of the parameter that the row belongs to. */
weft_tensor *wi_row_parameters(weft_graph *graph);

#endif
