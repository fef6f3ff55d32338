/* The nodes behind the outputs, in an order in which inputs come before their users. */
#ifndef WI_ORDER_H
#define WI_ORDER_H

#include "plan/request.h"

typedef struct wi_node_order {
    const wi_request *request;
    weft_tensor **nodes; /* inputs first */
    size_t count, capacity;
    /* By node id: inputs of nodes in the order, and outputs of the plan, that the node is. A reader of a
     * composite that is replaced may count too: more is on the safe side. */
    int *readers;
    size_t id_count; /* nodes with an id from here on are made by later passes */
} wi_node_order;

weft_status wi_plan_order(const wi_request *request, wi_node_order *order);
void wi_node_order_clear(wi_node_order *order);

#endif
