/* Scopes of names: see weft_scope_begin in graph.h. */
#ifndef WI_SCOPE_H
#define WI_SCOPE_H

#include "graph/nodes.h"

enum { WI_SCOPE_PREFIX = 256 };

/* What names begin with now: "", or "tower.". */
const char *wi_scope_prefix(const weft_graph *graph);
/* Is a name that exists the same variable again? */
bool wi_scope_shares(const weft_graph *graph);
/* Are layers that differ in training and inference made in the latter form? */
bool wi_scope_is_inference(const weft_graph *graph);
/* The N of the next layer "layerN" without a name (a literal): the smallest that the graph has no variable of, or the
 * next of the scope where names are shared. */
uint32_t wi_scope_number(weft_graph *graph, const char *layer);
/* The variable that the name, with the prefix, means already; NULL: a new one may have it. A refusal is recorded in the
 * graph: a parameter (or with `trainable` false a state) of another shape or dtype, or one that is not shared. */
weft_tensor *wi_scope_find(
    weft_graph *graph, const char *full_name, bool trainable, weft_dtype dtype, const wi_shape *shape);

#endif
