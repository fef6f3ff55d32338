/* Optimizers: their rules, functions that create nodes over flat tensors (rows, WI_FLAT_ROW); the parts of an update
 * that are common to all rules (update.c); and the object that keeps the states (optimizer_object.c).
 *
 * A *stretch* is parameters that lie side by side in a block and that one step introduced to the optimizer. The
 * optimizer has its states per stretch. A *range* is parameters of one stretch, side by side, that a step updates
 * together. A network that is trained as a whole is one stretch and one range.
 *
 * A *clock* counts the runs that update the parameters that one step introduced. "By number" means: indexed by the
 * number of the parameter in the graph. Functions that return a tensor return NULL after an error of the graph. */
#ifndef WI_UPDATE_RULES_H
#define WI_UPDATE_RULES_H

#include "graph/weft_graph.h"
#include <weft/nn.h>

typedef struct wi_pair {
    weft_tensor *variable, *value; /* with u->segments: rows of a table, and their next values */
} wi_pair;

typedef struct wi_stretch {
    size_t clock, block;         /* indices in the graph */
    int64_t first_row, rows;     /* in the block */
    int64_t own_first, own_rows; /* the rows that this process updates, and for which it has the states */
    weft_tensor *states[WEFT_MAX_UPDATES]; /* (rows, 16) each, in the order of wi_update_state's calls */
    size_t state_count;
    struct wi_stretch *next;
} wi_stretch;

struct weft_optimizer_state {
    weft_graph *graph;
    weft_optimizer rule;
    size_t number; /* among the optimizers of the graph */
    weft_tensor *rate;
    wi_stretch *stretches;
};

typedef struct wi_rows {
    weft_tensor *factor; /* of the rate, rank 0 or (rows, 1); NULL: 1 */
    weft_tensor *decay;  /* weight decay, rank 0 or (rows, 1); NULL: 0 */
} wi_rows;

/* An update in a separate plan. The plan of the loss computes gradients[i] for each shard; the host writes the sum over all shards to the
 * input sums[i] of the plan that updates. */
enum { WI_DIVIDED_RANGES = 64 };
typedef struct wi_divided_update {
    /* Set by the caller: this process updates part number `part` of each range, which is divided into `parts` equal parts. parts 0: it
     * updates whole ranges. */
    size_t part, parts;
    weft_tensor *gradients[WI_DIVIDED_RANGES], *sums[WI_DIVIDED_RANGES];
    size_t bytes[WI_DIVIDED_RANGES];
    size_t first[WI_DIVIDED_RANGES], length[WI_DIVIDED_RANGES]; /* the parameters of a range, by number */
    size_t count;
    weft_tensor *counts; /* scalar: 0 if the whole batch is empty, else 1; NULL: no batch is empty */
} wi_divided_update;

/* The rows of a part: [first, first + count) of `rows`. */
typedef struct wi_row_range {
    int64_t first, count;
} wi_row_range;
wi_row_range wi_part_of_rows(int64_t rows, size_t part, size_t parts);

/* The update of a range. */
typedef struct wi_update {
    weft_graph *graph;
    const weft_optimizer *optimizer; /* the options */
    size_t number;                   /* of the optimizer */
    wi_stretch *stretch;
    size_t first, length;    /* the parameters of the range, by number */
    int64_t first_row, rows; /* in the block */
    wi_shape shape;          /* of p, g and the states: (rows, 16), or the shape of a large parameter */
    bool by_rows;            /* the range is one table, of which only rows with a gradient are updated */
    bool is_part;            /* first_row, rows and shape are those of this process's part */
    bool large;              /* the range is one large parameter (update.c), whose gradient is not stored */
    weft_tensor *segments;   /* by_rows: the rows with a gradient (wi_segments_of); else NULL */
    weft_tensor *sums;       /* by_rows: the gradient of these rows, before accumulation and clipping */
    weft_tensor *occurs;     /* bool, the shape of p: the elements that may change; NULL: all */
    weft_tensor *p_rows;     /* p before its rows are shortened to max_norm */
    weft_tensor *p, *g;      /* g: after accumulation, clipping and coupled decay */
    wi_rows by_row;
    wi_divided_update *divided; /* NULL: the update is in the plan of the loss */
    weft_tensor *rate;          /* learning rate, rank 0, or (rows, 1) if groups differ */
    weft_tensor *decay;         /* weight decay, likewise; NULL: none */
    weft_tensor *apply;         /* bool, rank 0: this run updates; NULL: every run does */
    /* Nodes that run_count.c creates, of rank 0: */
    weft_tensor *counts;  /* bool: some example or label counts in this run; NULL: in every run one does */
    weft_tensor *share;   /* with accumulation: 1 / (runs of the window) in its last run, else 0 */
    weft_tensor *skipped; /* number of skipped updates so far; NULL: no update can be skipped */
    weft_tensor *peak; /* with loss scaling, rank 0: the largest magnitude of g before clipping; else NULL */
    weft_tensor *number_of; /* rank 0: this update's number from 1, without skipped ones; NULL: the host's */
    weft_tensor *next_memory; /* rank 0: next value of clock->memory, set by the rule; NULL: none */
    wi_pair pairs[WEFT_MAX_UPDATES];
    size_t count, asked; /* pairs; states that wi_update_state returned */
} wi_update;

/* The parameters of the range, in u->shape; with u->segments the rows of the table that have a gradient. */
weft_tensor *wi_update_parameters(const wi_update *u);

/* The next state of the stretch, in the shape of p; created with the value `first` by the first step. role: a
 * literal, the state's name in checkpoints: "m" of "conv1.weight" is weft.optimizer.m.conv1.weight. */
weft_tensor *wi_update_state(wi_update *u, const char *role, float first);
/* Sets the next value of a state. */
void wi_update_keep(wi_update *u, weft_tensor *state, weft_tensor *value);

/* The rules: each returns the next p. */
weft_tensor *wi_sgd_rule(wi_update *u);
weft_tensor *wi_adam_rule(wi_update *u); /* AdamW too */
weft_tensor *wi_nadam_rule(wi_update *u);
weft_tensor *wi_rmsprop_rule(wi_update *u);
weft_tensor *wi_adagrad_rule(wi_update *u);
weft_tensor *wi_adadelta_rule(wi_update *u);
weft_tensor *wi_lion_rule(wi_update *u);
weft_tensor *wi_lamb_rule(wi_update *u); /* lamb.c */

/* Shared by the rules. */
typedef struct wi_moments {
    weft_tensor *first, *second; /* without bias correction */
} wi_moments;
wi_moments wi_update_moments(wi_update *u); /* the next m and v of Adam; also sets them for the states */
/* A number that changes from update to update, rank 0. The host computes it by `rule` with a and b. With loss
 * scaling, and once an update was skipped, the device computes it by `scaled`, with t = u->number_of. */
typedef weft_tensor *wi_scaled_rule(wi_update *u, weft_tensor *t, double a, double b);
weft_tensor *wi_update_number(
    wi_update *u, double (*rule)(wi_scalar *, const wi_clock *), wi_scaled_rule *scaled, double a, double b);
/* x · 1 / (1 - beta^t) */
weft_tensor *wi_unbiased(wi_update *u, weft_tensor *x, float beta);
weft_tensor *wi_root_plus(weft_tensor *x, float epsilon); /* sqrt(x) + epsilon */

/* ---- optimizer.c ---- */
weft_status wi_optimizer_check(const weft_optimizer *optimizer);
bool wi_optimizer_is_scheduled(const weft_optimizer *optimizer); /* its option `schedule` is set */
/* A loss of which each shard of the batch has a part, and the assignments that update the parameters with the sum of its gradients. */
typedef struct wi_divided_loss {
    weft_tensor *part; /* the sum over all shards is the loss */
    bool counts;       /* a batch may be empty */
    wi_divided_update *divided;
    weft_tensor **updates; /* gets the assignments */
    size_t capacity, *count;
} wi_divided_loss;
/* Like weft_minimize, with the gradients of `part`. */
weft_status wi_minimize_divided(wi_divided_loss *of, const weft_optimizer *rule);
/* Creates the steps of the given updates of parameters again, with the same optimizers and their states. WEFT_ERROR_UNSUPPORTED: one of them was not
 * created from the loss. */
weft_status wi_updates_divide(
    weft_tensor *const *given, size_t given_count, weft_tensor *loss, wi_divided_loss *of);

/* How many assignments an update has: one for the parameters, one for each kind of state. */
size_t wi_optimizer_writes(const weft_optimizer *optimizer);
weft_tensor *wi_optimizer_apply_rule(wi_update *u);           /* the next p */
bool wi_optimizer_decouples(const weft_optimizer *optimizer); /* the rule applies the weight decay itself */

/* ---- update.c ---- */
extern const char wi_average_role[];
/* The stretch of the optimizer that has the parameter; NULL: the parameter is new to the optimizer. */
wi_stretch *wi_stretch_of(const weft_optimizer_state *optimizer, const weft_tensor *parameter);
/* Creates the wi_optimizer_writes assignments that update the parameters with a gradient. gradients: by number; NULL:
 * the parameter is not updated. All updated parameters are in stretches of the optimizer. counts: bool, rank 0, false
 * in empty runs, which change nothing; NULL: no run is empty. divided: gets the gradients, which the update then reads
 * as inputs; NULL: the update reads the gradients themselves. */
weft_status wi_update_make(weft_optimizer_state *optimizer, weft_tensor *const *gradients,
    weft_tensor *counts, wi_divided_update *divided, weft_tensor **assignments);

/* ---- run_count.c ---- */
/* Returns the mean of the gradients of the window's runs that are not empty, which is valid in the window's last run;
 * sets u->apply, which is true only then. Without accumulation returns g. */
weft_tensor *wi_update_accumulate(wi_update *u, weft_tensor *g);
/* Sets u->number_of and u->skipped if updates can be skipped: with loss scaling, or if runs may be empty. */
weft_status wi_update_count(wi_update *u);
/* With u->counts: bool, rank 0, whether the update happens. Plans that compute it also update the counts of the
 * clock. next_memory: assigned to clock->memory if the update happens; NULL: none. */
weft_tensor *wi_update_happens(const wi_update *u, weft_tensor *next_memory);

/* ---- row_update.c ---- */
/* Sets u->segments, the rows with a gradient, and u->sums and u->g, the gradient of each. Errors: the rule does not
 * support sparse updates, or the gradient does not come from embeddings alone. */
weft_status wi_row_gradient(wi_update *u, weft_tensor *gradient);
/* Of the gradient of a table: a tensor of the table's shape that has above 0 in the rows that occur, and 0 in the others. Errors as above. */
weft_status wi_row_counts(const wi_update *u, const weft_tensor *gradient, weft_tensor **counts);
/* The range's table (rows, width) as a view of a flat tensor that begins with row `begin` of the block. */
weft_tensor *wi_row_table(const wi_update *u, weft_tensor *flat, int64_t begin);
/* The rows of the table that have a gradient. */
weft_tensor *wi_row_selected(const wi_update *u, weft_tensor *table);
/* Assigns `value` to the rows of the table from which wi_row_selected took `rows`; writes nothing in runs without an
 * update. */
weft_tensor *wi_row_assignment(const wi_update *u, weft_tensor *rows, weft_tensor *value);
/* Rows (..., width), of which longer ones are shortened to the Euclidean norm max_norm; max_norm 0: unchanged. */
weft_tensor *wi_row_limited(weft_tensor *rows, float max_norm);

/* ---- groups.c ---- */
/* Checks the values of the groups, and unless graph is NULL that each group names a parameter of the graph. */
weft_status wi_groups_check(const weft_graph *graph, const weft_optimizer *optimizer);
/* Sets u->by_row from the groups. */
weft_status wi_groups_rows(wi_update *u);
/* (rows, 1) i32: the index within the range of the parameter that each row belongs to. */
weft_tensor *wi_row_parameters(const wi_update *u);

#endif
