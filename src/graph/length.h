/* The length that a plan gives.
 *
 * A graph is built with WEFT_LENGTH in place of it (shape.h). A node has the length when its shape or attributes have it,
 * or an input does. When a plan rewrites its nodes (rewrite.h), it makes such a node again before any rule is asked, with
 * numbers in place of the length: the same op over the images of its inputs. These are ordinary nodes of the same graph, as
 * a network would have them that was built at this length. Nothing else of a plan knows the length.
 *
 * What a constructor decides by a size is decided for a long length: a row of the op table says where its attributes hold
 * sizes (wi_op.dimensions), what must hold at any length (fits), or that it takes none (no_length). */
#ifndef WI_LENGTH_H
#define WI_LENGTH_H

#include "graph/nodes.h"

/* An input of the graph, and what stands for it at the length. */
typedef struct wi_length_input {
    weft_tensor *given, *made;
} wi_length_input;

/* Does a new node have the length? False with the error recorded when it cannot. */
bool wi_length_of_node(weft_graph *graph, const wi_op *op, weft_tensor *const *inputs, int count,
    const wi_shape *shape, const wi_attributes *attributes, bool *has);
/* What stands for a node that has the length, over what stands for its inputs, of the same shapes at the length. */
weft_status wi_length_make(
    const weft_tensor *node, weft_tensor *const *inputs, int64_t length, weft_tensor **made);

#endif
