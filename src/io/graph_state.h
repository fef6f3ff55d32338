/* The state of a graph as named tensors and strings of metadata:
 *
 *   NAME                      parameters and named states, the weights of the network
 *   weft.optimizer.ROLE.NAME  what an optimizer keeps of parameter NAME ("m", "v", "momentum", "average", ...); of the
 *                             second weft_minimize of a graph optimizer2, and so on
 *   weft.loss_scale.WHAT.N    what loss scaling counts
 *   weft.lbfgs.N              what L-BFGS keeps in host memory, in bytes (nn/lbfgs.c), in order of creation
 *   weft.carried.N            states without a name that something assigns to, in order of creation
 *
 * No parameter and no named state has a name that begins with "weft." (WI_RESERVED_PREFIX). A trainer adds
 * weft.best.NAME and weft.trainer.metric.N, and callers weft.extra.NAME. Format 1 had all of these without "weft.",
 * which wi_checkpoint_tensor knows.
 *
 * In the metadata stand graph.draws (runs with random numbers), graph.clock.N (runs of each optimizer), graph.scalar.N
 * (values set by weft_scalar_set), graph.swapped (the averages are exchanged), graph.seed, and encoding.COLUMN (what the
 * numbers of a column stand for, by io/encoding.h). */
#ifndef WI_GRAPH_STATE_H
#define WI_GRAPH_STATE_H

#include "io/checkpoint_file.h"

/* Parameters and named states, sorted by name. Errors: one without a name, two of one name. */
weft_status wi_list_weights(wi_saved_list *list, weft_graph *graph);
/* The same after the head of a checkpoint (wi_checkpoint_note_head), then everything else, tensors and metadata. The list
 * must be empty. */
weft_status wi_list_graph(wi_saved_list *list, weft_graph *graph);

/* Reads the metadata of wi_list_graph. check changes nothing, and its error names what does not fit this graph; apply can
 * only run out of memory after a check that passed. */
weft_status wi_graph_numbers_check(weft_graph *graph, const wi_checkpoint_file *file);
weft_status wi_graph_numbers_apply(weft_graph *graph, const wi_checkpoint_file *file);
/* Files of versions before have no encodings. */
bool wi_checkpoint_has_encodings(const wi_checkpoint_file *file);

#endif
