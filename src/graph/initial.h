/* How variables begin: checked when they are made, drawn on the host when their memory is made. */
#ifndef WI_INITIAL_H
#define WI_INITIAL_H

#include "graph/nodes.h"

bool wi_initialiser_known(weft_initialiser_kind kind);
/* Checks the variable's initialiser against its shape; a custom one writes variable->data at once. */
weft_status wi_initialise(wi_variable *variable);
/* Writes variable->bytes to content. */
weft_status wi_initial_content(const wi_variable *variable, void *content);

#endif
