/* The nodes behind the outputs, rewritten (graph/rewrite.h), in an order in which inputs come before their
 * users. */
#ifndef WI_ORDER_H
#define WI_ORDER_H

#include "plan/request.h"

typedef struct wi_node_order {
    const wi_request *request;
    weft_tensor **roots; /* what stands for each output; then assignments that composites do */
    size_t root_count;
    weft_tensor **nodes; /* inputs first */
    size_t count, capacity;
    /* By node id: inputs of nodes in the order, and outputs of the plan, that the node is. */
    int *readers;
    /* By node id: elements, at the general size, of the largest space in which the node may be computed for those
     * that read it: maps of maps may all be computed where the last of them is read. */
    int64_t *widest;
    size_t id_count; /* nodes with an id from here on are made by later passes */
} wi_node_order;

weft_status wi_plan_order(const wi_request *request, wi_node_order *order);
void wi_node_order_clear(wi_node_order *order);

#endif
