/* The network of an event, from the nodes of a graph. */
#ifndef WI_EVENT_GRAPH_H
#define WI_EVENT_GRAPH_H

#include "train/event_sink.h"

/* Lists the nodes that the outputs depend on, in memory of the event. */
weft_status wi_event_graph_fill(wi_event *event, weft_tensor *const *outputs, size_t count);

#endif
