/* Names of layers, and the creation of their parameters. */
#ifndef WI_LAYER_PARAMETERS_H
#define WI_LAYER_PARAMETERS_H

#include "graph/weft_graph.h"

#define WI_MOST_HIDDEN (INT64_C(1) << 40) /* of recurrent layers: the most elements that a tensor may have */

enum { WI_LAYER_NAME = 256 };

/* name: the given one, or if that is NULL "layerN" (wi_scope_number); without the prefix of the scope. */
void wi_layer_name(char name[WI_LAYER_NAME], weft_graph *graph, const char *layer, const char *given);
/* Creates the parameter "name.what", or finds it if the scope shares names; NULL: an error was recorded. */
weft_tensor *wi_layer_parameter(weft_graph *graph, const char *name, const char *what,
    const weft_initialiser *initialiser, int rank, const int64_t *dims);

#endif
