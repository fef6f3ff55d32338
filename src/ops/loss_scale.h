/* Loss scaling in f16 (contract for users in graph.h).
 *
 * weft_gradients starts with the scale as the gradient of the loss, and divides its results by the scale. Their readers, such as
 * gradient clipping, therefore see unscaled gradients, and a plan divides where it stores them. An update reads the op
 * wi_check_gradients, which computes whether the gradients are finite, and chooses between the old and new values. The effects of the
 * op are the assignments of the run: the next scale, the counts, and for other assignments of the plan a choice between the old and
 * new values. Everything is computed on the device. */
#ifndef WI_LOSS_SCALE_H
#define WI_LOSS_SCALE_H

#include "graph/weft_graph.h"

/* wi_loss_scaling.judged */
enum { WI_UPDATE_OVERFLOWS, WI_UPDATE_IS_FINITE, WI_UPDATE_IS_LATER };

/* Are new gradients scaled? */
bool wi_loss_scales(const weft_graph *graph);
/* The scale, f32 of rank 0. */
weft_tensor *wi_loss_scale(weft_graph *graph);
/* A state of rank 0 with this name in checkpoints. The name must live as long as the graph. */
weft_tensor *wi_loss_scale_state(weft_graph *graph, const char *name, float first);

typedef struct wi_gradient_check {
    weft_tensor *peak;                 /* the largest absolute value of the gradients, rank 0 */
    weft_tensor *now;                  /* bool: the run updates, otherwise it accumulates */
    weft_tensor *skipped;              /* the clock's number of skipped steps */
    weft_tensor *memory, *next_memory; /* a state, and its value after an update; NULL: none */
} wi_gradient_check;
/* Are the gradients finite? bool of rank 0. */
weft_tensor *wi_check_gradients(const wi_gradient_check *check);

/* Writes whether one of the outputs depends on wi_check_gradients. */
weft_status wi_checks_gradients(weft_tensor *const *outputs, size_t count, bool *checks);
/* The value, or if the gradients of the last run have overflowed, the variable. */
weft_tensor *wi_unless_overflow(weft_tensor *variable, weft_tensor *value);

/* Waits for all runs, and reads the state. */
weft_status wi_loss_scale_read(weft_tensor *state, float *value);
/* Enqueues reading the state after all runs so far. `value` must exist until it has been read. */
weft_status wi_loss_scale_read_async(weft_tensor *state, float *value);

#endif
