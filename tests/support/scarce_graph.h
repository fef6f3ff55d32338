/* A graph for which the memory for nodes, names and variables runs out after a given number of bytes; all other allocations succeed. */
#ifndef SCARCE_GRAPH_H
#define SCARCE_GRAPH_H

#include <weft/weft.h>

enum { SCARCE_STEP = 16 }; /* sizes of allocations are rounded up to a multiple of this */

weft_graph *scarce_graph(weft_context *context);
/* From now on the graph can allocate this many bytes (a multiple of SCARCE_STEP), and no more until scarce_graph_relax. */
void scarce_graph_refuse_after(weft_graph *graph, size_t bytes);
void scarce_graph_relax(void);

#endif
