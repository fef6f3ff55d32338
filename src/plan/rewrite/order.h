/* The nodes that a plan needs for its outputs: rewritten (graph/rewrite.h), ordered so that inputs come before their users, each with
 * the device that computes it.
 *
 *   order.c                rewriting, the order, the numbers of readers
 *   order_devices.c        the device of each node; transfers between devices as nodes
 *   order_micro_batches.c  divides nodes that are too large for one buffer into micro-batches; order_examples.c finds the axis of the
 *                          examples
 *   order_pieces.c         replaces variables that are larger than a buffer by nodes of their pieces; order_cuts.c finds where pieces
 *                          begin, and order_piece_rows.c gathers and sums rows of pieces
 *   order_formats.c        the format in which each node's values are stored */
#ifndef WI_ORDER_H
#define WI_ORDER_H

#include "plan/request.h"

struct wi_rewrite_count; /* graph/rewrite.h */

enum { WI_PLACE_CHUNK = 512 }; /* node ids per chunk; most nodes of a plan were created one after another */

typedef struct wi_node_order {
    const wi_request *request;
    /* The node that computes each output; then the assignments that composites of the graph do. */
    weft_tensor **roots;
    size_t root_count;
    const weft_tensor *in_training, *names_it; /* as in wi_rewrite */
    /* By root, for the first output_count roots: the output of the request that the root computes. An output that is divided has one entry
     * for each of its parts or pieces. */
    weft_tensor *const *outputs;
    size_t output_count;
    /* By root: the root is the next part of the output of the root before it; NULL: no output is divided. */
    bool *follows;
    struct wi_rewrite_count *rewrites; /* how often each rewrite was applied */
    size_t rewrite_count;
    wi_size_input *inputs; /* the plan's inputs that are symbolic or are divided into micro-batches */
    size_t input_count;
    weft_tensor **nodes; /* inputs before their users */
    size_t count, capacity;
    /* By node id / WI_PLACE_CHUNK, then by node id % WI_PLACE_CHUNK: 1 + the place of the node in the order; 0: not in the order. A
     * chunk without a node of the plan is NULL, so that memory depends on the size of the plan and not of the graph. */
    uint32_t **places;
    /* By place of a node in the order: how many inputs of ordered nodes, and outputs of the plan, are this node. */
    int *readers;
    /* By place: elements (wi_priced_count) of the largest space in which the node may have to be computed: a map that is inline is
     * computed in the space of the last map of a chain. */
    int64_t *widest;
    weft_dtype *formats; /* by place: the format in memory; arithmetic uses the node's dtype */
    /* By place: the node is a contraction or kernel op that must multiply in f32, because it reads a result of weft_keep_f32; NULL: no node must. */
    bool *kept;
    /* By node id: the device index; NULL: the plan has one device. Generators and views are on the device of their readers. */
    int *device;
    size_t id_count; /* ids from here on belong to nodes that later passes created */
} wi_node_order;

/* TRANSFER: copies its input to the device with index attributes.transfer.device. Only plans create this node. */
extern const wi_op wi_op_transfer;

/* Elements at a typical batch size, for decisions by cost, which must be the same in all plans of a graph. The general batch size is so
 * large that a launch would seem to cost nothing. */
int64_t wi_priced_count(const wi_shape *shape);
/* The entry of a node with an id below id_count in `places`; NULL: the chunk does not exist. */
static inline uint32_t *wi_noted_place(const wi_node_order *order, const weft_tensor *node) {
    uint32_t *const chunk = order->places[node->id / WI_PLACE_CHUNK];
    return chunk ? &chunk[node->id % WI_PLACE_CHUNK] : NULL;
}
static inline bool wi_is_ordered(const wi_node_order *order, const weft_tensor *node) {
    const uint32_t *const place = node->id < order->id_count ? wi_noted_place(order, node) : NULL;
    return place && *place > 0;
}
/* The place of a node that is in the order. */
static inline size_t wi_place_of(const wi_node_order *order, const weft_tensor *node) {
    return *wi_noted_place(order, node) - 1;
}
static inline int wi_node_device(const wi_node_order *order, const weft_tensor *node) {
    return order->device ? order->device[node->id] : 0;
}
weft_status wi_plan_order(const wi_request *request, wi_node_order *order);
void wi_node_order_clear(wi_node_order *order);
/* The format in memory of a node of the order; for a node that a later pass created its dtype. */
weft_dtype wi_stored_format(const wi_node_order *order, const weft_tensor *node);
/* The format to which a contraction or kernel op may round its inputs before it multiplies them. */
weft_dtype wi_multiplied_format(const wi_node_order *order, const weft_tensor *node);

/* ---- for the files of this pass ---- */

/* The devices on which nodes were requested to run. A node that replaces another one inherits its device. */
typedef struct wi_wishes {
    const wi_request *request;
    int *device; /* by node id: 1 + the device index; 0: no request */
    size_t capacity;
    bool failed; /* a request was lost because memory ran out */
} wi_wishes;

/* Reads the devices from the plan's request. wi_wishes_clear releases the memory. */
weft_status wi_wishes_make(wi_wishes *wishes, const wi_request *request);
void wi_wishes_clear(wi_wishes *wishes);
int wi_wished(const wi_wishes *wishes, size_t node); /* -1: no request */
void wi_wish(wi_wishes *wishes, size_t node, int device);

/* Assigns nodes to devices, and adds a transfer before each reader on another device. The order's roots change, so the caller must
 * compute the order again. */
weft_status wi_order_devices(wi_node_order *order, const wi_wishes *wishes);

/* The nodes that replace a root: one node, or several that divide the root along its first dimension that is larger than 1. */
typedef struct wi_root_parts {
    weft_tensor *const *of;
    size_t count;
} wi_root_parts;
/* Replaces the roots (parts: by root), and lists each output as often as it has parts. */
weft_status wi_replace_roots(wi_node_order *order, const wi_root_parts *parts);
/* Bytes of the node at that batch size. */
double wi_node_bytes(const weft_tensor *node, int64_t batch);
/* The product of the dimensions before the axis. */
int64_t wi_elements_before(const wi_shape *shape, int axis);

/* Divides each node that is too large for a buffer, or on devices that share the batch each node that can be divided, into as many nodes as the
 * request has micro-batches. The roots change, so the caller must compute the order again. */
weft_status wi_order_micro_batches(wi_node_order *order, wi_wishes *wishes);

/* Replaces nodes that read or assign a variable larger than a buffer by nodes of the variable's pieces. If *any, the roots change and
 * the caller must compute the order again. */
weft_status wi_order_pieces(wi_node_order *order, bool *any);

/* Fills `formats` and `kept`. */
weft_status wi_order_formats(wi_node_order *order);

#endif
