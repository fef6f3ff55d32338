/* The length: a size that each plan chooses.
 *
 * The nodes of a graph have a symbol in its place (shape.h). A node has the length if its shape, its attributes or one of its
 * inputs have the length. When a plan rewrites its nodes (rewrite.h), it first creates such a node again, over the images of
 * its inputs and with a number in place of the length. The result is an ordinary node of the graph, the same as in a network
 * that is built for this length. The other passes of the plan see no symbols.
 *
 * The length is WEFT_LENGTH; or it is the batch, if the size of a batch axis changes in the graph, so that dimensions are
 * a·batch + b. A plan with such nodes creates all nodes that depend on the batch again, and is the plan of a network with a
 * fixed batch. Other plans of the graph share nodes between batch sizes.
 *
 * A constructor that decides something by a size sees the symbol, a large number. Therefore the descriptor of an op says which
 * attributes are sizes (wi_op.dimensions), and what must be true at any length (wi_op.fits). */
#ifndef WI_LENGTH_H
#define WI_LENGTH_H

#include "graph/node.h"

/* An input of the graph, and the same input at a plan's length. */
typedef struct wi_length_input {
    weft_tensor *given, *made;
} wi_length_input;

/* Writes to *has whether a new node has the length. False: the node must not have it, and the error is recorded. */
bool wi_length_of_node(weft_graph *graph, const wi_op *op, weft_tensor *const *inputs, int count,
    const wi_shape *shape, const wi_attributes *attributes, bool *has);
/* Makes the batch the length of the graph. False: the length is WEFT_LENGTH, and the error is recorded. */
bool wi_length_is_batch(weft_graph *graph, const char *op);
/* A dimension to which others can be added: in a graph whose length is the batch, a multiple of the batch becomes a multiple of
 * the symbol. */
int64_t wi_counted(const weft_graph *graph, int64_t dim);
/* Fails with WEFT_ERROR_ARGUMENT if a number from the caller stands for a size, such as 2 * WEFT_LENGTH + 1 or the
 * weft_tensor_dimension of a batch axis. wi_takes_number records the error in the graph and returns false. */
weft_status wi_check_number(const char *op, double value);
bool wi_takes_number(weft_graph *graph, const char *op, double value);
/* Check several named arguments in this way: WI_CHECK_NUMBERS("optimizer", {"rate", rate}, {"epsilon", epsilon}). */
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
/* The length in an error: "WEFT_LENGTH" or "the batch". */
const char *wi_length_word(const weft_graph *graph);
/* The sizes that a plan chooses. */
typedef struct wi_given {
    int64_t symbol; /* of the graph; 0: none of the plan's outputs has the length */
    int64_t length; /* replaces the symbol */
    int64_t batch;
} wi_given;
/* Must the node be created again, with `inputs`, the nodes that replace its inputs? It must if it has the length; and if the length is
 * the batch, also if it has a dimension of the batch, or if the shape of an input changes. */
bool wi_length_follows(const weft_tensor *node, weft_tensor *const *inputs, const wi_given *given);
/* Creates the node again at the given sizes, with `inputs`, the nodes that replace its inputs. */
weft_status wi_length_make(
    const weft_tensor *node, weft_tensor *const *inputs, const wi_given *given, weft_tensor **made);

#endif
