/* Sizes that each plan chooses.
 *
 * A dimension of a shape, and an attribute that is a size, is an int64_t:
 * - a number, at most 2^40;
 * - a negative number, -k: k times the batch, where k may be a handle;
 * - a handle, which stands for a polynomial of symbols (the batch, WEFT_LENGTH, those of weft_symbol) and of floor quotients of such
 *   polynomials: 4·height·width + 2, floor((length - 3) / 2) + 1. The graph keeps each polynomial once, so that equal sizes are equal
 *   numbers.
 *
 * A handle is times · P · 2^21 + rest, where the prime P belongs to an entry of the graph's table. P is above 2^20, and `times` below, so
 * that the entry follows from the number, and sums with numbers and products by numbers, calculated as with any int64_t, give another
 * handle. wi_node brings the sizes of each node to their only form. What int64_t cannot calculate, the functions below do.
 *
 * A node is symbolic if its shape, its attributes or one of its inputs has a handle. When a plan rewrites its nodes (rewrite.h), it first
 * creates such a node again with numbers in place of handles. The result is an ordinary node, the same as in a network that is built for
 * these sizes. The other passes of the plan see no handles. If a handle contains the batch (a batch axis was sliced, padded or
 * concatenated), the plan also replaces multiples of the batch by numbers in all its nodes.
 *
 * What a constructor cannot decide while sizes are not known, wi_op.fits checks in each plan. */
#ifndef WI_SIZES_H
#define WI_SIZES_H

#include "graph/node.h"
#include "graph/polynomials.h"
#include <string.h>

/* The number of a symbol in the graph's table. */
enum { WI_SYMBOL_BATCH, WI_SYMBOL_LENGTH };

/* ---- calculating with sizes; INT64_MAX: the result is none, as it would be too large or have too many terms ---- */
int64_t wi_dim_add(weft_graph *graph, int64_t a, int64_t b);
int64_t wi_dim_multiply(weft_graph *graph, int64_t a, int64_t b);
/* floor(a / by), for a number `by` of 1 or more. */
int64_t wi_dim_divide(weft_graph *graph, int64_t a, int64_t by);
/* Writes the exact quotient. False: b does not divide a whatever the symbols are. */
bool wi_dim_divides(weft_graph *graph, int64_t a, int64_t b, int64_t *quotient);
/* The least value of a size if every symbol is 1 or more; INT64_MIN: there is no bound. */
int64_t wi_dim_least(const weft_graph *graph, int64_t dim);
/* A multiple of the batch, -k, as a handle, to which numbers can be added; other sizes as they are. */
int64_t wi_counted(weft_graph *graph, int64_t dim);
/* a + sign · b, in which negative numbers are numbers, and no multiples of the batch: positions along an axis, not sizes of it. */
int64_t wi_position_add(weft_graph *graph, int64_t a, int64_t b, int64_t sign);
/* Is position a below b whatever the symbols are? */
bool wi_position_is_less(weft_graph *graph, int64_t a, int64_t b);
/* The form in which a node keeps a size: equal sizes are equal numbers. A size that is none of this graph becomes INT64_MAX. */
int64_t wi_dim_canonical(weft_graph *graph, int64_t dim);

/* False: the size is none of this graph. `is_dim`: a negative number is a multiple of the batch, and not a number below 0. */
bool wi_polynomial_of(const weft_graph *graph, int64_t dim, bool is_dim, wi_polynomial *p);
/* The handle or the number; INT64_MAX: there is none. `is_dim` as above. */
int64_t wi_polynomial_dim(weft_graph *graph, const wi_polynomial *p, bool is_dim);

/* ---- symbols ---- */
/* The number of the symbols, of which the first are WI_SYMBOL_BATCH and WI_SYMBOL_LENGTH; their names, "batch", "length", "height"; and
 * the size that is the symbol alone. */
size_t wi_symbol_count(const weft_graph *graph);
const char *wi_symbol_name(const weft_graph *graph, size_t number);
int64_t wi_symbol_dim(const weft_graph *graph, size_t number);
/* SIZE_MAX: there is no symbol of this name. */
size_t wi_symbol_find(const weft_graph *graph, const char *name);
/* The symbol if the size is a multiple of one symbol plus a number, times · symbol + rest; -1: it is not. */
int wi_dim_symbol(const weft_graph *graph, int64_t dim, int64_t *times, int64_t *rest);
weft_status wi_sizes_begin(weft_graph *graph);
void wi_sizes_clear(weft_graph *graph);

/* ---- the sizes of a plan ---- */
/* The value of a size. A multiple of the batch stays one unless the batch is replaced. The result may be 0 or negative, for example for
 * length - 3. *missing: the number of a symbol that has no value; -1: all have. */
int64_t wi_dim_at(const weft_graph *graph, int64_t dim, const wi_given *given, int *missing);

/* An input of the graph, and the same input at a plan's sizes. */
typedef struct wi_size_input {
    weft_tensor *given, *made;
} wi_size_input;

/* From now on, plans are only created for sizes at which p is 0 or more. False: there is no memory. */
bool wi_sizes_require(weft_graph *graph, const wi_polynomial *p);
/* WEFT_ERROR_ARGUMENT: a required polynomial is below 0 at these sizes. */
weft_status wi_sizes_check_required(weft_graph *graph, const wi_given *given);

/* Checks the sizes of a new node, brings them to their only form, and writes whether the node is symbolic, and whether a handle of it or
 * of its inputs contains the batch. False: a size is none, and the error is recorded. */
typedef struct wi_size_flags {
    bool symbolic, cuts_batch;
} wi_size_flags;
bool wi_sizes_of_node(weft_graph *graph, const wi_op *op, weft_tensor *const *inputs, int count,
    wi_shape *shape, wi_attributes *attributes, wi_size_flags *flags);
/* May P be the prime of an entry among the first hundred? */
bool wi_is_size_prime(uint32_t p);
/* Fails with WEFT_ERROR_ARGUMENT if a number from the caller stands for a size, such as 2 * WEFT_LENGTH + 1 or the
 * weft_tensor_dimension of a batch axis. wi_takes_number records the error in the graph and returns false. */
weft_status wi_check_number(const char *op, double value);
bool wi_takes_number(weft_graph *graph, const char *op, double value);
/* The same check for named arguments: WI_CHECK_NUMBERS("optimizer", {"rate", rate}, {"epsilon", epsilon}). */
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

/* A word of attributes that is a size (wi_op.dimensions). */
static inline int64_t wi_attribute_size(const wi_attributes *attributes, int word) {
    int64_t value;
    memcpy(&value, (const unsigned char *)attributes + (size_t)word * sizeof value, sizeof value);
    return value;
}

static inline void wi_set_attribute_size(wi_attributes *attributes, int word, int64_t value) {
    memcpy((unsigned char *)attributes + (size_t)word * sizeof value, &value, sizeof value);
}

/* Must the node be created again over the images of its inputs? It must if it is symbolic; and if the plan replaces the batch, also if it
 * has a dimension of the batch, or if the shape of an input changes. */
bool wi_sizes_follow(const weft_tensor *node, weft_tensor *const *inputs, const wi_given *given);
/* Creates the node again at the plan's sizes, over the images of its inputs. */
weft_status wi_make_at_sizes(
    const weft_tensor *node, weft_tensor *const *inputs, const wi_given *given, weft_tensor **made);

#endif
