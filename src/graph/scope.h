/* Scopes of names: see weft_scope_begin in graph.h. */
#ifndef WI_SCOPE_H
#define WI_SCOPE_H

#include "graph/weft_graph.h"

enum { WI_SCOPE_PREFIX = 256 };

/* The prefix of new names: "", or "tower.". */
const char *wi_scope_prefix(const weft_graph *graph);
/* Does an existing name mean the existing variable? */
bool wi_scope_shares(const weft_graph *graph);
/* Are layers created in their form for inference? */
bool wi_scope_is_inference(const weft_graph *graph);
/* The number N in the name "layerN" of the next layer for which the caller gives no name: the smallest N for which the
 * graph has no variable in "layerN", or, in a scope that shares names, the next number of this scope. `layer` is a
 * string literal. */
uint32_t wi_scope_number(weft_graph *graph, const char *layer);
/* The existing variable of this name (with the prefix); NULL: a new variable may have the name, or an error is recorded in the
 * graph. It is an error if the scope does not share names, or if the variable differs in kind, shape or dtype. */
weft_tensor *wi_scope_find(
    weft_graph *graph, const char *full_name, bool trainable, weft_dtype dtype, const wi_shape *shape);

#endif
