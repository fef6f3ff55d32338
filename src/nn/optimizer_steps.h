/* What creates the steps of optimizers (optimizer_object.c, minimize.c). */
#ifndef WI_OPTIMIZER_STEPS_H
#define WI_OPTIMIZER_STEPS_H

#include "nn/update_rules.h"

/* How the assignments of a step are returned. */
typedef struct wi_step_target {
    weft_tensor **assignments;  /* used unless `update` is set */
    weft_tensor **update;       /* gets all assignments as one output for plans */
    wi_divided_update *divided; /* NULL: the update is in the plan of the loss */
    bool counts;                /* with `divided`: a batch may be empty */
} wi_step_target;

/* Creates a step for the loss of the origin. call: for messages. */
weft_status wi_step_for_loss(const char *call, const wi_update_origin *origin, const wi_step_target *target);
/* Records the rate and the origin of an update. */
weft_status wi_note_update(const weft_tensor *update, const wi_update_origin *origin);
/* An optimizer without a rate; NULL after an error of the graph. */
weft_optimizer_state *wi_optimizer_make(weft_graph *graph, const weft_optimizer *rule);
/* Creates the optimizer's learning rate. It becomes the rate that weft_minimize_rate returns. */
weft_status wi_optimizer_make_rate(weft_optimizer_state *optimizer);

#endif
