/* The length that a plan gives.
 *
 * A graph is built with a symbol in place of it (shape.h). A node has the length when its shape or attributes have it,
 * or an input does. When a plan rewrites its nodes (rewrite.h), it makes such a node again before any rule is asked, with
 * numbers in place of the length: the same op over the images of its inputs. These are ordinary nodes of the same graph, as
 * a network would have them that was built at this length. Nothing else of a plan knows the length.
 *
 * The length is WEFT_LENGTH, or the batch in a graph where a batch axis is cut or lengthened, so that a dimension is
 * a·batch + b. Then everything that outputs with such nodes need is made again with numbers in place of the batch: the
 * plan is that of a network of a fixed batch. Plans whose outputs have none share nodes over batches as ever.
 *
 * What a constructor decides by a size is decided for a long length: a row of the op table says where its attributes hold
 * sizes (wi_op.dimensions), and what must hold at any length (fits). */
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
/* From here on the length of the graph is the batch; false with the error recorded where it is WEFT_LENGTH. */
bool wi_length_is_batch(weft_graph *graph, const char *op);
/* A dimension of the graph as a number that can be added to others: a multiple of the batch, where that is the length, as
 * so many times its symbol. */
int64_t wi_counted(const weft_graph *graph, int64_t dim);
/* Is a number that a caller gives one, and not what stands for a size in WEFT_LENGTH, 2 * WEFT_LENGTH + 1, or in
 * weft_tensor_dimension of a batch axis? WEFT_ERROR_ARGUMENT otherwise; false with the error recorded. */
weft_status wi_check_number(const char *op, double value);
bool wi_takes_number(weft_graph *graph, const char *op, double value);
/* The same of parameters and fields by their names: WI_CHECK_NUMBERS("optimizer", {"rate", rate}, {"epsilon", epsilon}). */
typedef struct wi_named_number {
    const char *name;
    double value;
} wi_named_number;
weft_status wi_check_numbers(const char *op, const wi_named_number *numbers, size_t count);
bool wi_takes_numbers(weft_graph *graph, const char *op, const wi_named_number *numbers, size_t count);
#define WI_NAMED_NUMBERS(...)                                                                                \
    (const wi_named_number[]){__VA_ARGS__},                                                                  \
        sizeof((const wi_named_number[]){__VA_ARGS__}) / sizeof(wi_named_number)
#define WI_CHECK_NUMBERS(op, ...)        wi_check_numbers((op), WI_NAMED_NUMBERS(__VA_ARGS__))
#define WI_TAKES_NUMBERS(graph, op, ...) wi_takes_numbers((graph), (op), WI_NAMED_NUMBERS(__VA_ARGS__))
/* What the length is, for the line of an error: "WEFT_LENGTH". */
const char *wi_length_word(const weft_graph *graph);
/* What a plan gives. */
typedef struct wi_given {
    int64_t symbol; /* that of the graph; 0: none of the plan's outputs has the length */
    int64_t length; /* in place of it: where it is the batch's, that */
    int64_t batch;
} wi_given;
/* Is the node to be made again over what stands for its inputs? Where the length is the batch, whatever has a dimension of it
 * is, or reads one. */
bool wi_length_follows(const weft_tensor *node, weft_tensor *const *inputs, const wi_given *given);
/* What stands for such a node, over what stands for its inputs, of the same shapes at the length. */
weft_status wi_length_make(
    const weft_tensor *node, weft_tensor *const *inputs, const wi_given *given, weft_tensor **made);

#endif
