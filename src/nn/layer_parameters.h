/* What layers share: names, and parameters under them. */
#ifndef WI_LAYER_PARAMETERS_H
#define WI_LAYER_PARAMETERS_H

#include "graph/nodes.h"

#define WI_MOST_HIDDEN (INT64_C(1) << 40) /* of recurrent layers: as many numbers as a tensor has at most */

enum { WI_LAYER_NAME = 256 };

/* The given name, or "layerN" (wi_scope_number), both without the prefix of the scope. */
void wi_layer_name(char name[WI_LAYER_NAME], weft_graph *graph, const char *layer, const char *given);
/* The parameter "name.what". */
weft_tensor *wi_layer_parameter(weft_graph *graph, const char *name, const char *what,
    const weft_initialiser *initialiser, int rank, const int64_t *dims);

#endif
