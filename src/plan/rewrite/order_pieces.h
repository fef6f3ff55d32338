/* Variables that are larger than a buffer, and what is computed of them: where nodes are cut (order_cuts.c), and how they are computed
 * from their pieces (order_pieces.c; order_piece_rows.c for rows that an index names). */
#ifndef WI_ORDER_PIECES_H
#define WI_ORDER_PIECES_H

#include "plan/rewrite/order.h"

/* Along which axis a node is cut, and where. */
typedef struct wi_cut {
    int axis;
    int count;         /* of pieces; 0: it is not cut */
    const int64_t *at; /* where each begins along the axis, and the end of the last */
} wi_cut;

/* What stands for a node. */
typedef struct wi_piece_image {
    weft_tensor *whole;  /* NULL: not made yet */
    weft_tensor **parts; /* one a piece; NULL: it is not cut */
    wi_cut cut;
} wi_piece_image;

typedef struct wi_piecing {
    wi_node_order *order;
    const wi_request *request;
    wi_piece_image *images; /* by place */
    wi_cut *wanted;         /* by place: as what reads the node is cut */
    size_t largest;         /* bytes of a buffer */
    weft_status *status;    /* the first failure that is none of the graph */
} wi_piecing;

static inline wi_piece_image *wi_piece_image_of(const wi_piecing *c, const weft_tensor *node) {
    return &c->images[wi_place_of(c->order, node)];
}
static inline wi_cut *wi_wanted_cut(const wi_piecing *c, const weft_tensor *node) {
    return &c->wanted[wi_place_of(c->order, node)];
}
/* Is the node too large for a buffer, and not for its examples, of which micro-batches have fewer? */
bool wi_is_too_large(const wi_piecing *c, const weft_tensor *node);
/* Is it in pieces alone, which maps go on with? And too large for a buffer, so that what reads it has to do with pieces? */
static inline bool wi_is_cut(const wi_piecing *c, const weft_tensor *node) {
    return wi_piece_image_of(c, node)->parts && !wi_piece_image_of(c, node)->whole;
}
static inline bool wi_stays_cut(const wi_piecing *c, const weft_tensor *node) {
    return wi_is_cut(c, node) && wi_is_too_large(c, node);
}
static inline int64_t wi_piece_length(const wi_cut *cut, int piece) {
    return cut->at[piece + 1] - cut->at[piece];
}
/* The shape of a piece of a node. */
static inline wi_shape wi_piece_shape(const wi_shape *shape, const wi_cut *cut, int piece) {
    wi_shape own = *shape;
    own.dims[cut->axis] = wi_piece_length(cut, piece);
    return own;
}
/* Which of its axes is that axis of what it is broadcast to; -1: it has the same there for all. */
static inline int wi_axis_within(const weft_tensor *x, const wi_shape *shape, int axis) {
    const int own = axis - (shape->rank - x->shape.rank);
    return own >= 0 && x->shape.dims[own] == shape->dims[axis] ? own : -1;
}

/* ---- order_cuts.c ---- */
/* Is it a variable in pieces, or the flat parameters of one? */
bool wi_is_in_pieces(const weft_tensor *node);
/* How such a one is cut. */
weft_status wi_cut_of_source(const wi_piecing *c, const weft_tensor *node, wi_cut *cut);
/* The cut of a view, or of flat gradients, over an input of that cut; count 0: the pieces of the one are not those of the other. */
weft_status wi_cut_of_view(
    const wi_piecing *c, const weft_tensor *y, const wi_cut *cut_of_input, wi_cut *cut);
/* Fills in `wanted`: what is assigned to a variable in pieces is wanted in these, and what it is computed from element by element. */
weft_status wi_find_wanted_cuts(const wi_piecing *c);
/* One that leaves as few pieces as fit a buffer; count 0: there is none. */
weft_status wi_cut_to_fit(const wi_piecing *c, const weft_tensor *node, wi_cut *cut);

/* ---- order_pieces.c ---- */
/* What has failed so far: of the graph, or of these calls, which then give NULL. */
weft_status wi_piecing_status(const wi_piecing *c);
/* Fails where a buffer does not hold all of the node. */
weft_status wi_check_whole_piece(const wi_piecing *c, const weft_tensor *node, const char *reader);
/* All of the node, joined if it fits a buffer; `reader` is named in the error where it does not. */
weft_tensor *wi_whole_of_pieces(const wi_piecing *c, const weft_tensor *node, const char *reader);
/* From begin to end along an axis. */
weft_tensor *wi_range_of_pieces(
    const wi_piecing *c, const weft_tensor *node, const char *reader, int axis, int64_t begin, int64_t end);

/* The piece of a node, made; NULL after a failure. */
typedef weft_tensor *(*wi_make_piece)(
    const wi_piecing *c, const weft_tensor *y, const wi_cut *cut, int piece);
weft_status wi_make_pieces(
    const wi_piecing *c, const weft_tensor *y, const wi_cut *cut, wi_make_piece make, wi_piece_image *own);

/* ---- order_piece_rows.c ---- */
/* Does an index name elements of an input that is in pieces, or of a result that is to be? */
bool wi_names_pieces(const wi_piecing *c, const weft_tensor *y);
/* The image of such a node. */
weft_status wi_make_of_rows(const wi_piecing *c, const weft_tensor *y, wi_piece_image *own);

#endif
