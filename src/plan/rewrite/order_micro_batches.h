/* Division of nodes into micro-batches: where a node has its examples, and how its result follows from the parts (order_examples.c).
 * order_micro_batches.c creates the parts. */
#ifndef WI_ORDER_MICRO_BATCHES_H
#define WI_ORDER_MICRO_BATCHES_H

#include "plan/rewrite/order.h"

enum { WI_NO_EXAMPLES = -1, WI_SEVERAL = -2 };

/* The nodes that replace a node. */
typedef struct wi_batched_image {
    weft_tensor *whole;  /* computes all examples; NULL: not created yet */
    weft_tensor **parts; /* by micro-batch; NULL: the node is not divided */
    int axis;            /* axis of the examples; WI_NO_EXAMPLES: none; WI_SEVERAL: no single axis */
    /* How often the sequence of all examples is repeated along the axis: `steps` in (steps · batch, ...), 1 in (batch, ...). 0: unknown. */
    int64_t outer;
    /* The packed result (wi_op.section_row) that the node itself is, or of which the node is a slice; NULL: neither. `start`: where the slice
     * begins, in elements for each example. */
    const weft_tensor *flat;
    int64_t start;
} wi_batched_image;

typedef struct wi_batching {
    wi_node_order *order;
    const wi_request *request;
    wi_wishes *wishes;
    wi_batched_image *images; /* by place in the order */
    size_t buffer;            /* bytes of the device's largest buffer */
    int64_t count;            /* number of micro-batches */
    /* The most bytes of a node that is not divided: a fraction of a buffer, because scratch memory of its kernels may be larger than the
     * node. */
    size_t largest;
} wi_batching;

typedef enum wi_way {
    WI_WHOLE,
    WI_APART,    /* the result of a micro-batch depends on the same micro-batch of the inputs */
    WI_COMBINED, /* the results of the micro-batches are combined, for example added */
    WI_WITHIN    /* a slice that lies inside one micro-batch, such as the first example */
} wi_way;

static inline wi_batched_image *wi_batched_image_of(const wi_batching *c, const weft_tensor *node) {
    return &c->images[wi_place_of(c->order, node)];
}

/* The first example of a micro-batch, and its number of examples. */
static inline int64_t wi_micro_batch_begin(const wi_batching *c, int64_t part) {
    return part * c->request->batch / c->count;
}
static inline int64_t wi_micro_batch_examples(const wi_batching *c, int64_t part) {
    return wi_micro_batch_begin(c, part + 1) - wi_micro_batch_begin(c, part);
}

/* Fills `axis`, `outer`, `flat` and `start` of *own from the entries of the inputs. */
void wi_find_examples(const wi_batching *c, const weft_tensor *y, wi_batched_image *own);

/* Bytes of the node at the plan's batch size. */
double wi_batched_bytes(const wi_batching *c, const weft_tensor *node);
bool wi_is_large(const wi_batching *c, const weft_tensor *node);
/* Inputs and outputs of the plan are divided only if they exceed a buffer, because the caller can bind only those that have a single
 * buffer. */
bool wi_exceeds_buffer(const wi_batching *c, const weft_tensor *node);

wi_way wi_way_of(const wi_batching *c, const weft_tensor *y, const wi_batched_image *own);
/* The micro-batch that contains the whole slice along the axis of the examples; -1: none does. */
int64_t wi_micro_batch_of_slice(const wi_batching *c, const weft_tensor *y);
/* Combines the results of two micro-batches of the op; NULL: they cannot be combined. */
typedef weft_tensor *(*wi_combiner)(weft_tensor *, weft_tensor *);
wi_combiner wi_combiner_of(const wi_op *op);

#endif
