/* Calls that return a status and create nodes: when one fails, its error is its own, and the graph is as it was before.
 *
 * An expression that fails leaves the graph its first error, since its caller does not look at a status. A call that returns
 * a weft_status (weft_plan_create, weft_minimize, ...) may evaluate expressions, too; it does so between wi_attempt_begin and
 * wi_attempt_end. After an error wi_attempt_end removes the states, scalars, clocks and optimizers that were created in
 * between, and the graph's error. The nodes stay where they are: each is complete, and no later call finds one that reads a
 * removed state, as no later state is equal to it. They may have the length, so that the graph's symbol stays, too. Attempts
 * may contain attempts.
 *
 * Parameters are not removed, since expressions alone create them. Plans that use what is removed are released before. */
#ifndef WI_ATTEMPT_H
#define WI_ATTEMPT_H

#include "graph/nodes.h"

typedef struct wi_attempt {
    weft_graph *graph;
    size_t block_count, variable_count, scalar_count, clock_count, optimizers;
    uint32_t streams;
    weft_dtype precision;
    weft_matmul_precision matmul_precision;
    wi_loss_scaling scaling;
    weft_tensor *rate;
    wi_rated_update *rated;
    bool failed_before; /* the graph had an error already, which stays */
} wi_attempt;

wi_attempt wi_attempt_begin(weft_graph *graph);
/* Returns the status, or the error of an expression that the call has evaluated where the status is WEFT_OK. */
weft_status wi_attempt_end(const wi_attempt *attempt, weft_status status);

#endif
