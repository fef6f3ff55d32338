/* Nodes that are cut into micro-batches: where their examples are, and how they are computed from those of one (order_examples.c), for
 * order_micro_batches.c, which makes the parts. */
#ifndef WI_ORDER_MICRO_BATCHES_H
#define WI_ORDER_MICRO_BATCHES_H

#include "plan/rewrite/order.h"

enum { WI_NO_EXAMPLES = -1, WI_SEVERAL = -2 };

/* What stands for a node. */
typedef struct wi_batched_image {
    weft_tensor *whole;  /* NULL: not made yet */
    weft_tensor **parts; /* by micro-batch; NULL: it is not cut */
    int axis;            /* of the examples; WI_NO_EXAMPLES, or WI_SEVERAL */
    /* How often all examples follow each other along it: in (steps · batch, ...) as many times as there are steps. 0: not known */
    int64_t outer;
    /* A flat result (wi_op.section_row) that it is, or is a slice of, from there on, in elements an example. NULL: none. */
    const weft_tensor *flat;
    int64_t start;
} wi_batched_image;

typedef struct wi_batching {
    wi_node_order *order;
    const wi_request *request;
    wi_batched_image *images; /* by place */
    size_t buffer;            /* the most bytes of one */
    int64_t count;            /* of micro-batches */
    /* Bytes that a node may have whole: a share of a buffer, as its kernels' scratch memory may be larger. */
    size_t largest;
} wi_batching;

typedef enum wi_way {
    WI_WHOLE,
    WI_APART,    /* a micro-batch needs the same of the inputs */
    WI_COMBINED, /* what it is of each micro-batch is put together */
    WI_WITHIN    /* a slice of the examples of one micro-batch, such as the first */
} wi_way;

static inline wi_batched_image *wi_batched_image_of(const wi_batching *c, const weft_tensor *node) {
    return &c->images[wi_place_of(c->order, node)];
}

/* The first example of a micro-batch, and how many it has. */
static inline int64_t wi_micro_batch_begin(const wi_batching *c, int64_t part) {
    return part * c->request->batch / c->count;
}
static inline int64_t wi_micro_batch_examples(const wi_batching *c, int64_t part) {
    return wi_micro_batch_begin(c, part + 1) - wi_micro_batch_begin(c, part);
}

/* Fills in the axis, outer and flat, from the images of the inputs. */
void wi_find_examples(const wi_batching *c, const weft_tensor *y, wi_batched_image *own);

/* Of all examples of the plan's batch. */
double wi_batched_bytes(const wi_batching *c, const weft_tensor *node);
bool wi_is_large(const wi_batching *c, const weft_tensor *node);
/* Inputs and outputs are cut where they must be alone: the caller may bind and feed those that have one buffer. */
bool wi_exceeds_buffer(const wi_batching *c, const weft_tensor *node);

wi_way wi_way_of(const wi_batching *c, const weft_tensor *y, const wi_batched_image *own);
/* The micro-batch that has all that a slice along the axis of the examples takes; -1: none has. */
int64_t wi_micro_batch_of_slice(const wi_batching *c, const weft_tensor *y);
/* What puts together the results of two micro-batches; NULL: nothing does. */
typedef weft_tensor *(*wi_combiner)(weft_tensor *, weft_tensor *);
wi_combiner wi_combiner_of(const wi_op *op);

#endif
