/* The nodes behind the outputs, rewritten (graph/rewrite.h), in an order in which inputs come before their
 * users; and which device computes each.
 *
 *   order.c          rewriting, the order, who reads what
 *   order_devices.c  devices, and transfers between them as nodes
 *   order_micro_batches.c  nodes that are too large for one buffer, as nodes of fewer examples; order_examples.c where these are
 *   order_pieces.c   variables that are too large for one buffer, as nodes of their pieces; order_cuts.c where these begin, and
 *                    order_piece_rows.c what an index names in them
 *   order_formats.c  the format of each node's values in memory */
#ifndef WI_ORDER_H
#define WI_ORDER_H

#include "graph/rewrite.h"
#include "plan/request.h"

enum { WI_PLACE_CHUNK = 512 }; /* ids: the nodes of a plan were mostly made one after the other */

typedef struct wi_node_order {
    const wi_request *request;
    weft_tensor **roots; /* what stands for each output; then assignments that composites do */
    size_t root_count;
    const weft_tensor *in_training, *names_it; /* as in wi_rewrite */
    weft_tensor *const *
        outputs; /* of which the first roots are: those of the request, a large one as often as it has parts */
    size_t output_count;
    bool *follows;              /* by output: it is the next part of the one before; NULL: none is */
    wi_rewrite_count *rewrites; /* what the rewriting did */
    size_t rewrite_count;
    wi_length_input *inputs; /* of the plan: those that have the length, or are cut */
    size_t input_count;
    weft_tensor **nodes; /* inputs first */
    size_t count, capacity;
    /* By node id / WI_PLACE_CHUNK, then by the rest: its place in the order, and 1; 0: it is not there. NULL: none of
     * the chunk is. So a plan is as large as what it needs, however many nodes of other plans the graph has. */
    uint32_t **places;
    /* By place: inputs of nodes in the order, and outputs of the plan, that the node is. */
    int *readers;
    /* By place: elements (wi_priced_count) of the largest space in which the node may be computed for those
     * that read it: maps of maps may all be computed where the last of them is read. */
    int64_t *widest;
    weft_dtype
        *formats; /* by place: of its values in memory; arithmetic on them is done in the node's dtype */
    bool *kept;   /* by place: reads what weft_keep_f32 keeps, and multiplies in f32; NULL: no node does */
    int *
        device; /* by node id: device index; NULL: there is one. Generators and views have that of what reads them */
    size_t id_count; /* nodes with an id from here on are made by later passes */
} wi_node_order;

/* TRANSFER: its input, on the device with index attributes.transfer.device. Only plans make it. */
extern const wi_op wi_op_transfer;

/* Elements at a usual batch size, for decisions by cost that are alike for all plans of a graph: at the general
 * batch, what has a row per example would be so large that a launch cost nothing beside it. */
int64_t wi_priced_count(const wi_shape *shape);
/* Where the place of a node below id_count is noted; NULL: nowhere, nor that of any in its chunk. */
static inline uint32_t *wi_noted_place(const wi_node_order *order, const weft_tensor *node) {
    uint32_t *const chunk = order->places[node->id / WI_PLACE_CHUNK];
    return chunk ? &chunk[node->id % WI_PLACE_CHUNK] : NULL;
}
/* Is the node in the order? */
static inline bool wi_is_ordered(const wi_node_order *order, const weft_tensor *node) {
    const uint32_t *const place = node->id < order->id_count ? wi_noted_place(order, node) : NULL;
    return place && *place > 0;
}
/* Of a node of the order. */
static inline size_t wi_place_of(const wi_node_order *order, const weft_tensor *node) {
    return *wi_noted_place(order, node) - 1;
}
static inline int wi_node_device(const wi_node_order *order, const weft_tensor *node) {
    return order->device ? order->device[node->id] : 0;
}
weft_status wi_plan_order(const wi_request *request, wi_node_order *order);
void wi_node_order_clear(wi_node_order *order);
/* Of a node of the order, or one that a later pass made. */
weft_dtype wi_stored_format(const wi_node_order *order, const weft_tensor *node);
/* The format to which the node's inputs may be rounded before they are multiplied. */
weft_dtype wi_multiplied_format(const wi_node_order *order, const weft_tensor *node);

/* ---- for the files of this pass ---- */

/* Which device a node was asked for. What stands for a node is wanted where the node was. */
typedef struct wi_wishes {
    const wi_request *request;
    int *device; /* by node id: device index + 1; 0: nobody said */
    size_t capacity;
    bool failed; /* there was no memory for a wish */
} wi_wishes;

/* Those of the request. */
weft_status wi_wishes_make(wi_wishes *wishes, const wi_request *request);
void wi_wishes_clear(wi_wishes *wishes);
int wi_wished(const wi_wishes *wishes, size_t node); /* -1: nobody said */
void wi_wish(wi_wishes *wishes, size_t node, int device);

/* Where each node is computed, and a transfer before what another device reads. The roots are others then, and the
 * order is to be made again. */
weft_status wi_order_devices(wi_node_order *order, const wi_wishes *wishes);

/* What stands for a root: one node, or several, of the same rows one after the other. */
typedef struct wi_root_parts {
    weft_tensor *const *of;
    size_t count;
} wi_root_parts;
/* Gives the order these roots, by root, and the outputs that they stand for. */
weft_status wi_replace_roots(wi_node_order *order, const wi_root_parts *parts);
/* At that batch. */
double wi_node_bytes(const weft_tensor *node, int64_t batch);
/* How many elements the axes before this one have. */
int64_t wi_elements_before(const wi_shape *shape, int axis);

/* In place of a node that has more than its share of the largest buffer, as many nodes of some of the examples as
 * the request has micro-batches. The roots are others then, and the order is to be made again. */
weft_status wi_order_micro_batches(wi_node_order *order);

/* In place of what reads or assigns a variable that is larger than a buffer, nodes of its pieces. Where there are any, the
 * roots are others then, and the order is to be made again. */
weft_status wi_order_pieces(wi_node_order *order, bool *any);

/* Fills `formats`. */
weft_status wi_order_formats(wi_node_order *order);

#endif
