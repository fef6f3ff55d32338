/* The state of a graph as named tensors and strings of metadata:
 *
 *   NAME                      the weights of the network: parameters and named states
 *   weft.optimizer.ROLE.NAME  state of an optimizer for parameter NAME, with ROLE "m", "v", "momentum", "average", ...;
 *                             the second optimizer of the graph has weft.optimizer2, and so on
 *   weft.loss_scale.WHAT.N    counts of loss scaling
 *   weft.lbfgs.N              history of an L-BFGS optimizer, as bytes (nn/lbfgs_state.c), in order of creation
 *   weft.carried.N            states without a name that are assigned to, in order of creation
 *
 * No parameter and no named state has a name that begins with "weft." (WI_RESERVED_PREFIX). A trainer adds
 * weft.best.NAME and weft.trainer.metric.N, and callers add weft.extra.NAME. In format 1 all these names lack "weft.";
 * wi_checkpoint_tensor finds them.
 *
 * The metadata has graph.draws (runs with random numbers), graph.clock.N (runs of each clock), graph.scalar.N (values
 * set by weft_scalar_set), graph.swapped (the averages are exchanged), graph.seed, the counts graph.clocks,
 * graph.scalars and graph.schedules, and encoding.COLUMN (the encoding of a column, io/encoding.h). */
#ifndef WI_GRAPH_STATE_H
#define WI_GRAPH_STATE_H

#include "io/checkpoint_file.h"

/* Lists parameters and named states, sorted by name. WEFT_ERROR_STATE: a parameter without a name. */
weft_status wi_list_weights(wi_saved_list *list, weft_graph *graph);
/* Lists the whole state: the head of a checkpoint (wi_checkpoint_note_head), the weights, all other tensors, and the
 * metadata. The list must be empty. */
weft_status wi_list_graph(wi_saved_list *list, weft_graph *graph);

/* Read the metadata of wi_list_graph. check changes nothing; WEFT_ERROR_FORMAT or WEFT_ERROR_ARGUMENT: the metadata does
 * not fit this graph. After a successful check, apply can only fail with WEFT_ERROR_MEMORY. */
weft_status wi_graph_numbers_check(weft_graph *graph, const wi_checkpoint_file *file);
weft_status wi_graph_numbers_apply(weft_graph *graph, const wi_checkpoint_file *file);
/* Does the file have encodings? Files of older versions have none. */
bool wi_checkpoint_has_encodings(const wi_checkpoint_file *file);

#endif
