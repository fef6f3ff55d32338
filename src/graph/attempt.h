/* Attempts: a call that creates nodes and returns a status leaves the graph as it was if it fails.
 *
 * If a constructor fails, the graph keeps the error, because the caller gets no status. A call that returns a weft_status
 * (weft_plan_create, weft_minimize, ...) calls constructors between wi_attempt_begin and wi_attempt_end. After an error,
 * wi_attempt_end removes the graph's error, and the states, scalars, clocks and optimizers that were created in between. Nodes
 * are not removed: they are complete, and no later call finds a node that reads a removed state, because no later state equals
 * the removed one. The remaining nodes may have the length, so the graph also keeps its length symbol. Attempts may be nested.
 *
 * Parameters are not removed, because only constructors create them. The caller must release plans that use removed objects
 * before wi_attempt_end. */
#ifndef WI_ATTEMPT_H
#define WI_ATTEMPT_H

#include "graph/weft_graph.h"

typedef struct wi_attempt {
    weft_graph *graph;
    size_t block_count, variable_count, scalar_count, clock_count, optimizers;
    uint32_t streams;
    weft_dtype precision;
    weft_matmul_precision matmul_precision;
    wi_loss_scaling scaling;
    weft_tensor *rate;
    wi_rated_update *rated;
    bool failed_before; /* the graph already had an error, which it keeps */
} wi_attempt;

wi_attempt wi_attempt_begin(weft_graph *graph);
/* Ends the attempt. Returns `status`, or, if `status` is WEFT_OK, the status of the graph. */
weft_status wi_attempt_end(const wi_attempt *attempt, weft_status status);

#endif
