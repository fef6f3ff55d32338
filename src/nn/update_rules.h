/* Optimizers: formulas, one function each, that write down nodes over flat tensors (rows, WI_FLAT_ROW); what is the
 * same for all of them (update.c); and the object that keeps their states (optimizer_object.c).
 *
 * An optimizer keeps its states by stretches: parameters that lie side by side in a block and that it met for the
 * first time in the same step. A step updates ranges: parameters side by side of one stretch. So a network that is
 * trained as a whole is one stretch and one range. */
#ifndef WI_UPDATE_RULES_H
#define WI_UPDATE_RULES_H

#include "graph/nodes.h"
#include <weft/nn.h>

typedef struct wi_pair {
    weft_tensor *variable, *value; /* with segments: rows of a table */
} wi_pair;

typedef struct wi_stretch {
    size_t clock, block;
    int64_t first_row, rows;               /* of the block */
    weft_tensor *states[WEFT_MAX_UPDATES]; /* (rows, 16) each, in the order in which the rule asks for them */
    size_t state_count;
    struct wi_stretch *next;
} wi_stretch;

struct weft_optimizer_state {
    weft_graph *graph;
    weft_optimizer rule;
    size_t number; /* in the graph */
    weft_tensor *rate;
    wi_stretch *stretches;
};

typedef struct wi_rows {
    weft_tensor *factor; /* (rows, 1) of the rate; NULL: 1 everywhere */
    weft_tensor *decay;  /* rank 0 or (rows, 1); NULL: 0 everywhere */
} wi_rows;

/* The update of a range. */
typedef struct wi_update {
    weft_graph *graph;
    const weft_optimizer *optimizer; /* the rule */
    size_t number;                   /* of the optimizer */
    wi_stretch *stretch;
    size_t first, length;    /* the range's parameters, by their numbers in the graph */
    int64_t first_row, rows; /* of the block */
    wi_shape shape;          /* of p, g and the states: (rows, 16), or that of the only parameter */
    bool by_rows;            /* only the rows of the only parameter that have a gradient */
    bool large;              /* the gradient of the only parameter is not written down */
    weft_tensor *
        segments; /* p, g and the states are the rows of the only parameter that these say; NULL: all of it */
    weft_tensor *sums;   /* with segments: g before anything is done to it */
    weft_tensor *p_rows; /* p before its rows are limited to their largest norm */
    weft_tensor *p, *g;  /* g: accumulated, clipped, with coupled decay */
    wi_rows by_row;
    weft_tensor *rate;  /* rank 0, or (rows, 1) where groups differ */
    weft_tensor *decay; /* the same; NULL: none */
    weft_tensor *apply; /* bool, rank 0: this run updates; NULL: each does */
    /* Of run_count.c, rank 0. */
    weft_tensor *counts;  /* bool: the run is not empty; NULL: none is */
    weft_tensor *share;   /* with accumulation: 1 / the runs of the window in its last run, else 0 */
    weft_tensor *skipped; /* updates, so far; NULL: none ever is */
    /* With loss scaling (ops/loss_scale.h), rank 0; else NULL. */
    weft_tensor *peak; /* the greatest magnitude of g before it is clipped */
    weft_tensor
        *number_of; /* of the update, from 1: those that were skipped do not count; NULL: the host's number */
    weft_tensor *next_memory; /* of the clock, asked for by the rule */
    wi_pair pairs[WEFT_MAX_UPDATES];
    size_t count, asked;
} wi_update;

/* The range's part of the parameters. */
weft_tensor *wi_update_parameters(const wi_update *u);

/* A state of the shape of p, and its next value. role: a literal, its name in checkpoints: "m" of "conv1.weight" is
 * weft.optimizer.m.conv1.weight. */
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
/* A number that changes from update to update, rank 0: the rule's with a and b, on the host; once an update was skipped,
 * and with loss scaling always, that of `scaled`, whose t is u->number_of. */
typedef weft_tensor *wi_scaled_rule(wi_update *u, weft_tensor *t, double a, double b);
weft_tensor *wi_update_number(
    wi_update *u, double (*rule)(wi_scalar *, const wi_clock *), wi_scaled_rule *scaled, double a, double b);
/* x · 1 / (1 - beta^t) */
weft_tensor *wi_unbiased(wi_update *u, weft_tensor *x, float beta);
/* x · factor */
weft_tensor *wi_scaled(weft_tensor *x, double factor);
weft_tensor *wi_root_plus(weft_tensor *x, float epsilon); /* sqrt(x) + epsilon */

/* ---- optimizer.c ---- */
weft_status wi_optimizer_check(const weft_optimizer *optimizer);
bool wi_optimizer_is_scheduled(const weft_optimizer *optimizer); /* by itself */
/* How many tensors an update writes: the parameters and the states. */
size_t wi_optimizer_writes(const weft_optimizer *optimizer);
weft_tensor *wi_optimizer_apply_rule(wi_update *u);           /* the next p */
bool wi_optimizer_decouples(const weft_optimizer *optimizer); /* the rule itself applies the decay */

/* ---- update.c ---- */
extern const char wi_average_role[];
/* Where the optimizer keeps what belongs to the parameter; NULL: it has not stepped it yet. */
wi_stretch *wi_stretch_of(const weft_optimizer_state *optimizer, const weft_tensor *parameter);
/* The update of the parameters that have a gradient (by number; NULL: none), all within stretches of the optimizer:
 * wi_optimizer_writes assignments. counts: bool, rank 0, false in runs that leave everything as it is; NULL: all count. */
weft_status wi_update_make(weft_optimizer_state *optimizer, weft_tensor *const *gradients,
    weft_tensor *counts, weft_tensor **assignments);

/* ---- run_count.c ---- */
/* The sum of the gradients of the window's runs that count times the share of each, of use in its last run, in which alone
 * u->apply is true; g itself without accumulation. */
weft_tensor *wi_update_accumulate(wi_update *u, weft_tensor *g);
/* Sets number_of and skipped where updates may be skipped. */
weft_status wi_update_count(wi_update *u);
/* With u->counts: bool, rank 0, whether the update happens; plans that compute it count. next_memory: of the clock,
 * assigned where it happens; NULL: none. */
weft_tensor *wi_update_happens(const wi_update *u, weft_tensor *next_memory);

/* ---- row_update.c ---- */
/* Sets the rows with a gradient (u->segments) and the gradient of each (u->sums and u->g). */
weft_status wi_row_gradient(wi_update *u, weft_tensor *gradient);
/* The range's only parameter, (rows, width), within a flat tensor that begins with row `begin`; and its chosen rows. */
weft_tensor *wi_row_table(const wi_update *u, weft_tensor *flat, int64_t begin);
weft_tensor *wi_row_selected(const wi_update *u, weft_tensor *table);
/* Assigns the table that the rows were picked from the one with their next value; a run that does not update writes none. */
weft_tensor *wi_row_assignment(const wi_update *u, weft_tensor *rows, weft_tensor *value);
/* Rows (..., width), those that are longer shortened to max_norm; 0: none is. */
weft_tensor *wi_row_limited(weft_tensor *rows, float max_norm);

/* ---- groups.c ---- */
/* Values, and whether each group names a parameter of the graph (graph NULL: that may come later). */
weft_status wi_groups_check(const weft_graph *graph, const weft_optimizer *optimizer);
/* Sets u->by_row for the range. */
weft_status wi_groups_rows(wi_update *u);
/* (rows, 1) i32: the number, within the range, of the parameter that the row belongs to. */
weft_tensor *wi_row_parameters(const wi_update *u);

#endif
