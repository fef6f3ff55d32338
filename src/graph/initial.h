/* Initial values of variables. They are checked when a variable is created, and computed on the host when its memory is. */
#ifndef WI_INITIAL_H
#define WI_INITIAL_H

#include "graph/weft_graph.h"

bool wi_initialiser_known(weft_initialiser_kind kind);
/* Checks the variable's initialiser. A custom initialiser writes variable->data immediately. */
weft_status wi_initialise(wi_variable *variable);
/* Writes the variable->bytes bytes of the initial values. */
weft_status wi_initial_content(const wi_variable *variable, void *content);

#endif
