/* The names of a graph's variables in a hash table, so that networks of many layers are built in linear time.
 *
 * Entries live in the graph's arena. */
#ifndef WI_VARIABLE_NAMES_H
#define WI_VARIABLE_NAMES_H

#include "graph/nodes.h"

/* What checkpoints keep beside the weights has names that begin so; variables have none. */
#define WI_RESERVED_PREFIX "weft."
bool wi_name_is_reserved(const char *name);
/* Makes a named variable known, and every part of its name before a dot as taken by a layer. */
weft_status wi_variable_names_add(weft_graph *graph, weft_tensor *variable);
/* The first variable of that name; NULL: none. */
weft_tensor *wi_variable_names_find(const weft_graph *graph, const char *name);
/* Is it that of a state of which no file has anything? graph may be NULL. */
bool wi_name_is_transient(const weft_graph *graph, const char *name);
/* Removes the variable's name, if the variable is the first of that name; layers stay taken. */
void wi_variable_names_forget(weft_graph *graph, const weft_tensor *variable);
/* Has the graph a variable "layer.anything"? */
bool wi_variable_names_has_layer(const weft_graph *graph, const char *layer);
/* A number that belongs to a word, 0 at first; NULL: out of memory. */
uint32_t *wi_variable_names_number(weft_graph *graph, const char *word);
void wi_variable_names_clear(weft_graph *graph);

#endif
