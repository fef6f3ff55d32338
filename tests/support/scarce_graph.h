/* A graph whose memory for nodes, names and variables is refused from some byte on, while all other memory is there. */
#ifndef SCARCE_GRAPH_H
#define SCARCE_GRAPH_H

#include <weft/weft.h>

enum { SCARCE_STEP = 16 }; /* what is taken is rounded up to it */

weft_graph *scarce_graph(weft_context *context);
/* From now on the graph has this many bytes (a multiple of SCARCE_STEP), and no more until scarce_graph_relax. */
void scarce_graph_refuse_after(weft_graph *graph, size_t bytes);
void scarce_graph_relax(void);

#endif
