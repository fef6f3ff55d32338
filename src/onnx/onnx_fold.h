/* Constant folding: the host computes nodes whose inputs it knows. Exporters write such nodes to calculate shapes, masks and
 * tables.
 *
 * A function that computes a node returns NULL without an error if it leaves the node to the op's builder, which creates nodes
 * of the graph: the result depends on the batch or the length, has too many numbers, or is a number that the host cannot express.
 * If the builder could then compute a wrong number, the function records an error instead. Arrays are never changed after a node is
 * computed, so that several arrays may share their numbers. */
#ifndef WI_ONNX_FOLD_H
#define WI_ONNX_FOLD_H

#include "onnx/onnx_types.h"

/* WI_ONNX_MOST_NUMBERS: the most numbers of a result. WI_ONNX_FEW_NUMBERS: results of so few numbers, such as shapes, are computed however
 * much was computed before. WI_ONNX_MOST_NAMED: inputs that a function may ask for by their index. */
enum { WI_ONNX_MOST_NUMBERS = 1 << 20, WI_ONNX_FEW_NUMBERS = 256, WI_ONNX_MOST_NAMED = 8 };

/* Functions of one number, or of two. From WI_ONNX_EQUAL to WI_ONNX_IS_NAN the result is bool. */
typedef enum wi_onnx_rule {
    WI_ONNX_SAME,
    WI_ONNX_ADD,
    WI_ONNX_SUB,
    WI_ONNX_MUL,
    WI_ONNX_DIV,
    WI_ONNX_MOD,
    WI_ONNX_FMOD,
    WI_ONNX_POW,
    WI_ONNX_SHIFT_LEFT,
    WI_ONNX_SHIFT_RIGHT,
    WI_ONNX_BITS_AND,
    WI_ONNX_BITS_OR,
    WI_ONNX_BITS_XOR,
    WI_ONNX_BITS_NOT,
    WI_ONNX_MAX,
    WI_ONNX_MIN,
    WI_ONNX_EQUAL,
    WI_ONNX_LESS,
    WI_ONNX_LESS_EQUAL,
    WI_ONNX_GREATER,
    WI_ONNX_GREATER_EQUAL,
    WI_ONNX_AND,
    WI_ONNX_OR,
    WI_ONNX_XOR,
    WI_ONNX_NOT,
    WI_ONNX_IS_NAN,
    WI_ONNX_NEG,
    WI_ONNX_ABS,
    WI_ONNX_SIGN,
    WI_ONNX_FLOOR,
    WI_ONNX_CEIL,
    WI_ONNX_ROUND,
    WI_ONNX_TRUNC,
    WI_ONNX_SQUARE,
    WI_ONNX_SQRT,
    WI_ONNX_EXP,
    WI_ONNX_LOG,
    WI_ONNX_RECIPROCAL,
    WI_ONNX_RELU,
    WI_ONNX_SIGMOID,
    WI_ONNX_TANH,
    WI_ONNX_SIN,
    WI_ONNX_COS,
    WI_ONNX_ERF
} wi_onnx_rule;

typedef const wi_onnx_numbers *const *wi_onnx_inputs; /* NULL: the input is absent */
typedef wi_onnx_numbers *(*wi_onnx_folder)(wi_onnx_import *network, wi_onnx_node *node, wi_onnx_inputs in);

/* How an operator is computed. */
typedef struct wi_onnx_fold_row {
    const char *name;
    wi_onnx_folder fold;
    size_t least;               /* number of inputs that a node must have */
    uint32_t hidden;            /* bits of inputs whose numbers need not be known */
    wi_onnx_rule rule;          /* of elementwise operators, and of reductions, which combine numbers by it */
    wi_onnx_rule before, after; /* of reductions: what is computed of each number before, and of the result */
} wi_onnx_fold_row;

/* Each list ends with {0}. */
extern const wi_onnx_fold_row wi_onnx_number_folds[], wi_onnx_source_folds[], wi_onnx_move_folds[],
    wi_onnx_index_folds[], wi_onnx_reduce_folds[];

/* NULL: the operator is not computed on the host. */
const wi_onnx_fold_row *wi_onnx_fold_row_in(const wi_onnx_fold_row *list, wi_onnx_node *node);
/* Records WEFT_ERROR_SHAPE for the node; returns NULL. */
wi_onnx_numbers *wi_onnx_misfit(wi_onnx_import *network, wi_onnx_node *node, const char *what);

/* A new array of zeros. NULL: a dimension is negative or too large, or there is no memory. */
wi_onnx_numbers *wi_onnx_new(wi_onnx_import *network, int type, int rank, const int64_t *dims);
/* A new array with the type and the field `open` of another. */
wi_onnx_numbers *wi_onnx_new_like(
    wi_onnx_import *network, const wi_onnx_numbers *like, int rank, const int64_t *dims);
/* The numbers of x in another shape; NULL: the shape does not have as many elements as x. */
wi_onnx_numbers *wi_onnx_reshaped(
    wi_onnx_import *network, const wi_onnx_numbers *x, int rank, const int64_t *dims);
/* The number of the type of x, or of the usual type of its dtype. */
int wi_onnx_type_number(const wi_onnx_numbers *x);
bool wi_onnx_is_whole(const wi_onnx_numbers *numbers); /* integers, not bool */
/* Converts results in place to the array's type: rounds floats, and wraps narrow integers around. False: an integer is beyond 2^53, and the
 * error is recorded. */
bool wi_onnx_fit_to_type(wi_onnx_import *network, wi_onnx_node *node, wi_onnx_numbers *numbers);

/* Writes the whole numbers of an input, or of an attribute if the input is absent, to a list. False: one of them depends on the
 * batch or the length, or there are more than the list has room for. */
bool wi_onnx_closed(
    wi_onnx_node *node, const wi_onnx_numbers *known, const char *attribute, wi_onnx_list *list);
/* The axis as an index from 0 on; a negative one counts from the end. -1 after an error: a tensor of this rank does not have it. */
int wi_onnx_axis_within(wi_onnx_import *network, wi_onnx_node *node, int64_t axis, int rank);
/* The number as an index into an axis of `size` elements; a negative one counts from the end. -1 after an error. */
int64_t wi_onnx_index_within(wi_onnx_import *network, wi_onnx_node *node, double number, int64_t size);

/* The position of element i in a row-major array of this shape. */
void wi_onnx_position(int rank, const int64_t *dims, size_t i, int64_t *at);
/* The element of x that broadcasts to a position of a shape of `rank` dimensions. */
size_t wi_onnx_source(const wi_onnx_numbers *x, int rank, const int64_t *at);
/* Replaces *dims by the shape to which x and *dims broadcast. False: they do not broadcast. */
bool wi_onnx_broadcast(const wi_onnx_numbers *x, int *rank, int64_t *dims);

/* Applies the rule to a and b. whole: they are integers, whose division truncates. NAN: there is no result. */
double wi_onnx_calculate(wi_onnx_rule rule, bool whole, double a, double b);
/* whole: of whole numbers. Of numbers of which one depends on open sizes, as wi_onnx_is_open says; NAN: the result differs from plan to plan in a way
 * that no number expresses. */
double wi_onnx_calculate_open(weft_graph *graph, wi_onnx_rule rule, bool whole, double a, double b);
/* The one or the other, with errors of the node. x says the type of the operands. False: an error, or the node is left to its
 * builder. */
bool wi_onnx_combine(wi_onnx_import *network, wi_onnx_node *node, const wi_onnx_numbers *x, wi_onnx_rule rule,
    double a, double b, double *result);
#endif
