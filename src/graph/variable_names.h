/* The names of a graph's variables in hash tables, so that networks with many layers are built in linear time. The entries are in
 * the graph's arena. */
#ifndef WI_VARIABLE_NAMES_H
#define WI_VARIABLE_NAMES_H

#include "graph/weft_graph.h"

/* The prefix of entries of checkpoints other than weights. Variables must not have it. */
#define WI_RESERVED_PREFIX "weft."
bool wi_name_is_reserved(const char *name);
/* Adds the variable's name, and every part of the name before a dot as the name of a layer. */
weft_status wi_variable_names_add(weft_graph *graph, weft_tensor *variable);
/* The first variable of that name; NULL: none. */
weft_tensor *wi_variable_names_find(const weft_graph *graph, const char *name);
/* Is this the name of a transient state? graph may be NULL. */
bool wi_name_is_transient(const weft_graph *graph, const char *name);
/* Removes the variable's name if it is the first variable of this name. The names of layers remain. */
void wi_variable_names_forget(weft_graph *graph, const weft_tensor *variable);
/* Does the graph have a variable "layer.anything"? */
bool wi_variable_names_has_layer(const weft_graph *graph, const char *layer);
/* The counter of a word, which begins with 0; NULL: out of memory. */
uint32_t *wi_variable_names_number(weft_graph *graph, const char *word);
void wi_variable_names_clear(weft_graph *graph);

#endif
