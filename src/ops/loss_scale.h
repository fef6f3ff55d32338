/* Loss scaling in f16 (contract for users in graph.h).
 *
 * weft_gradients begins with the scale instead of 1, and divides what it gives by the scale. So everything behind it,
 * the clipping of gradients too, sees gradients as they are, and a plan divides where it stores them. An update asks the
 * op `check` whether its gradients are finite, and chooses between old and new values by its answer. The op's effects
 * are the assignments of a run that checks: the next scale, the counts, and, for assignments of others in the
 * plan, the choice between old and new. All of it is on the device; the host reads it when it wants to know. */
#ifndef WI_LOSS_SCALE_H
#define WI_LOSS_SCALE_H

#include "graph/nodes.h"

/* wi_loss_scaling.judged */
enum { WI_UPDATE_OVERFLOWS, WI_UPDATE_IS_FINITE, WI_UPDATE_IS_LATER };

/* Are gradients that are made now scaled? */
bool wi_loss_scales(const weft_graph *graph);
/* Rank 0 f32; NULL after an error. */
weft_tensor *wi_loss_scale(weft_graph *graph);
/* A state of rank 0 that is part of a training: "loss_scale.<name>" in checkpoints, `name` lives as long as the graph. */
weft_tensor *wi_loss_scale_state(weft_graph *graph, const char *name, float first);

typedef struct wi_gradient_check {
    weft_tensor *peak;                 /* the greatest magnitude of the gradients, rank 0 */
    weft_tensor *now;                  /* bool: the run updates; else it accumulates */
    weft_tensor *skipped;              /* of the clock: one more where a step is skipped */
    weft_tensor *memory, *next_memory; /* assigned where the update happens; NULL: none */
} wi_gradient_check;
/* bool, rank 0: the gradients are finite. */
weft_tensor *wi_check_gradients(const wi_gradient_check *check);

/* Does one of these check gradients? */
weft_status wi_checks_gradients(weft_tensor *const *outputs, size_t count, bool *checks);
/* The value, or the variable's old one where the gradients of the last run overflowed. */
weft_tensor *wi_unless_overflow(weft_tensor *variable, weft_tensor *value);

/* What the host knows after the runs so far; waits. */
weft_status wi_loss_scale_read(weft_tensor *state, float *value);
/* The same value, as it is when all that has been enqueued so far is done; `value` must stay until then. */
weft_status wi_loss_scale_read_async(weft_tensor *state, float *value);

#endif
