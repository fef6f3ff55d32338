/* Variables that are larger than a buffer are stored in pieces. This header has the cut of each node that depends on one (order_cuts.c)
 * and the nodes that compute its pieces (order_pieces.c; order_piece_rows.c for rows that an index selects). */
#ifndef WI_ORDER_PIECES_H
#define WI_ORDER_PIECES_H

#include "plan/rewrite/order.h"

/* The axis along which a node is divided, and where its pieces begin. */
typedef struct wi_cut {
    int axis;
    int count; /* number of pieces; 0: the node is not divided */
    /* Count + 1 indices along the axis: where each piece begins, and the end of the last one. */
    const int64_t *at;
} wi_cut;

/* The nodes that replace a node. */
typedef struct wi_piece_image {
    weft_tensor *whole;  /* computes all pieces; NULL: not created yet */
    weft_tensor **parts; /* by piece; NULL: the node is not divided */
    wi_cut cut;
} wi_piece_image;

typedef struct wi_piecing {
    wi_node_order *order;
    const wi_request *request;
    wi_piece_image *images; /* by place in the order */
    wi_cut *wanted;         /* by place: the cut that the readers of the node need */
    size_t largest;         /* bytes of the device's largest buffer */
    /* The first failure that is not a failure to create a node; the graph records those. */
    weft_status *status;
} wi_piecing;

static inline wi_piece_image *wi_piece_image_of(const wi_piecing *c, const weft_tensor *node) {
    return &c->images[wi_place_of(c->order, node)];
}
static inline wi_cut *wi_wanted_cut(const wi_piecing *c, const weft_tensor *node) {
    return &c->wanted[wi_place_of(c->order, node)];
}
/* Is the node larger than a buffer? False if it has a batch axis, along which micro-batches divide it. */
bool wi_is_too_large(const wi_piecing *c, const weft_tensor *node);
/* Does the node exist only in pieces? */
static inline bool wi_is_cut(const wi_piecing *c, const weft_tensor *node) {
    return wi_piece_image_of(c, node)->parts && !wi_piece_image_of(c, node)->whole;
}
/* Does the node exist only in pieces, which are too large to be joined in one buffer? */
static inline bool wi_stays_cut(const wi_piecing *c, const weft_tensor *node) {
    return wi_is_cut(c, node) && wi_is_too_large(c, node);
}
static inline int64_t wi_piece_length(const wi_cut *cut, int piece) {
    return cut->at[piece + 1] - cut->at[piece];
}
static inline wi_shape wi_piece_shape(const wi_shape *shape, const wi_cut *cut, int piece) {
    wi_shape own = *shape;
    own.dims[cut->axis] = wi_piece_length(cut, piece);
    return own;
}
/* The axis of x that is broadcast to this axis of the shape; -1: x has dimension 1 there. */
static inline int wi_axis_within(const weft_tensor *x, const wi_shape *shape, int axis) {
    const int own = axis - (shape->rank - x->shape.rank);
    return own >= 0 && x->shape.dims[own] == shape->dims[axis] ? own : -1;
}

/* ---- order_cuts.c ---- */
/* Is the node a variable in pieces, or the flat tensor of one? */
bool wi_is_in_pieces(const weft_tensor *node);
/* The cut of a node for which wi_is_in_pieces is true. */
weft_status wi_cut_of_source(const wi_piecing *c, const weft_tensor *node, wi_cut *cut);
/* The cut of a view or of flat gradients whose input has the cut cut_of_input. Count 0: pieces of the input do not correspond to pieces
 * of the result. */
weft_status wi_cut_of_view(
    const wi_piecing *c, const weft_tensor *y, const wi_cut *cut_of_input, wi_cut *cut);
/* Fills `wanted`. A value that is assigned to a variable in pieces should be computed in these pieces, and so should the inputs of the
 * maps and views that compute it. */
weft_status wi_find_wanted_cuts(const wi_piecing *c);
/* The cut into the fewest pieces of whole rows that fit in a buffer. Count 0: one row is too large. */
weft_status wi_cut_to_fit(const wi_piecing *c, const weft_tensor *node, wi_cut *cut);

/* ---- order_pieces.c ---- */
/* The first failure of the graph or of the calls below, which return NULL after a failure. */
weft_status wi_piecing_status(const wi_piecing *c);
/* Fails if the node does not fit in a buffer. The message says that `reader` needs it. */
weft_status wi_check_whole_piece(const wi_piecing *c, const weft_tensor *node, const char *reader);
/* The whole node, its pieces joined if necessary. Fails like wi_check_whole_piece. */
weft_tensor *wi_whole_of_pieces(const wi_piecing *c, const weft_tensor *node, const char *reader);
/* The elements from index `begin` to `end` along an axis, taken from the pieces. */
weft_tensor *wi_range_of_pieces(
    const wi_piecing *c, const weft_tensor *node, const char *reader, int axis, int64_t begin, int64_t end);

/* Creates the node of a piece; NULL after a failure. */
typedef weft_tensor *(*wi_make_piece)(
    const wi_piecing *c, const weft_tensor *y, const wi_cut *cut, int piece);
weft_status wi_make_pieces(
    const wi_piecing *c, const weft_tensor *y, const wi_cut *cut, wi_make_piece make, wi_piece_image *own);

/* ---- order_piece_rows.c ---- */
/* Does the op gather rows from, or write or add rows to, a tensor that is divided into pieces? */
bool wi_names_pieces(const wi_piecing *c, const weft_tensor *y);
/* Creates the nodes that replace a node for which wi_names_pieces is true. */
weft_status wi_make_of_rows(const wi_piecing *c, const weft_tensor *y, wi_piece_image *own);

#endif
