/* Which nodes have the length (contract in length.h). */
#include "graph/length.h"
#include "graph/weft_graph.h"
#include <math.h>
#include <string.h>

const char *wi_length_word(const weft_graph *graph) {
    return graph->length_symbol == WI_BATCH_SYMBOL ? "the batch" : "WEFT_LENGTH";
}

static bool fail_both(weft_graph *graph, const char *op) {
    wi_graph_fail(graph, WEFT_ERROR_UNSUPPORTED,
        "%s: a graph cannot both use WEFT_LENGTH and change the size of a batch axis by slice, pad or concat",
        op);
    return false;
}

bool wi_length_is_batch(weft_graph *graph, const char *op) {
    if (graph->length_symbol == WEFT_LENGTH) return fail_both(graph, op);
    graph->length_symbol = WI_BATCH_SYMBOL;
    return true;
}

int64_t wi_counted(const weft_graph *graph, int64_t dim) {
    const bool counts = dim < 0 && graph->length_symbol == WI_BATCH_SYMBOL;
    return counts && -dim <= INT64_MAX / WI_BATCH_SYMBOL ? -dim * WI_BATCH_SYMBOL : dim;
}

/* Is the dimension a multiple of the symbol plus a number, written by a caller? Dimensions as large as the symbol rarely are
 * anything else, and never in a graph that is known to have the length. */
static bool is_written(int64_t dim, int64_t symbol, bool known) {
    enum { MOST_TIMES = 64, MOST_REST = 1 << 16 };
    int64_t rest;
    if (known) return wi_has_length(dim, symbol);
    const int64_t times = wi_length_times(wi_magnitude(dim), symbol, &rest);
    return times >= 1 && times <= MOST_TIMES && rest <= MOST_REST && rest >= -MOST_REST;
}

/* Is the number, perhaps rounded to f32, a multiple of the symbol plus a small number? */
static bool stands_for_size(double value, int64_t symbol) {
    enum { MOST_TIMES = 64, MOST_REST = 1 << 12 };
    const double most = (double)MOST_TIMES * (double)symbol + MOST_REST;
    if (!(fabs(value) <= most) || value != floor(value)) return false;
    int64_t rest;
    const int64_t times = wi_length_times(wi_magnitude((int64_t)value), symbol, &rest);
    return times >= 1 && rest <= MOST_REST && rest >= -MOST_REST;
}

static weft_status check_named(const char *op, const char *name, double value) {
    const bool is_length = stands_for_size(value, WEFT_LENGTH);
    if (!is_length && !stands_for_size(value, WI_BATCH_SYMBOL)) return WEFT_OK;
    WI_FAIL(WEFT_ERROR_ARGUMENT,
        "%s: %s%s%.0f is a placeholder for a size that only plans know (%s), not a number; weft_size(x, "
        "axis) gives the size as a tensor",
        op, name, *name ? " = " : "", value, is_length ? "WEFT_LENGTH" : "of a batch axis");
}

weft_status wi_check_number(const char *op, double value) {
    return check_named(op, "", value);
}

weft_status wi_check_numbers(const char *op, const wi_named_number *numbers, size_t count) {
    for (size_t i = 0; i < count; i++) WI_TRY(check_named(op, numbers[i].name, numbers[i].value));
    return WEFT_OK;
}

bool wi_takes_numbers(weft_graph *graph, const char *op, const wi_named_number *numbers, size_t count) {
    const weft_status status = wi_check_numbers(op, numbers, count);
    if (status != WEFT_OK) wi_graph_fail_recorded(graph, status);
    return status == WEFT_OK;
}

bool wi_takes_number(weft_graph *graph, const char *op, double value) {
    const weft_status status = wi_check_number(op, value);
    if (status != WEFT_OK) wi_graph_fail_recorded(graph, status);
    return status == WEFT_OK;
}

static int64_t word_of(const wi_attributes *attributes, int word) {
    int64_t value;
    memcpy(&value, (const unsigned char *)attributes + (size_t)word * sizeof value, sizeof value);
    return value;
}

static bool any_written(
    const wi_op *op, const wi_shape *shape, const wi_attributes *attributes, int64_t symbol, bool known) {
    for (int i = 0; i < shape->rank; i++)
        if (is_written(shape->dims[i], symbol, known)) return true;
    for (int word = 0; op->dimensions >> word; word++)
        if (op->dimensions >> word & 1 && is_written(word_of(attributes, word), symbol, known)) return true;
    return false;
}

/* Is an axis a multiple of the batch in an input but not in the result, or the reverse? If the batch is the length, a plan must
 * check such a node at its batch size, even if the result has a fixed size, as x[0:3] has. */
static bool leaves_batch(
    const wi_op *op, weft_tensor *const *inputs, int count, const wi_shape *shape, int64_t symbol) {
    const bool moves = op->dimensions || op->kind == WI_JOIN;
    for (int i = 0; moves && symbol == WI_BATCH_SYMBOL && i < count; i++)
        for (int axis = 0; axis < shape->rank && inputs[i]->shape.rank == shape->rank; axis++)
            if ((inputs[i]->shape.dims[axis] < 0) != (shape->dims[axis] < 0)) return true;
    return false;
}

/* Is a size either far smaller than the symbol, or a multiple of the symbol plus a number? */
static bool is_told_apart(int64_t dim, int64_t symbol) {
    return (dim <= WI_LENGTH_ORDINARY && dim >= -WI_LENGTH_ORDINARY) || wi_has_length(dim, symbol);
}

static bool check_sizes(
    weft_graph *graph, const wi_op *op, const wi_shape *shape, const wi_attributes *attributes) {
    char text[WI_SHAPE_TEXT];
    bool good = true;
    const int64_t symbol = graph->length_symbol;
    for (int i = 0; i < shape->rank && good; i++) good = is_told_apart(shape->dims[i], symbol);
    for (int word = 0; op->dimensions >> word && good; word++)
        good = !(op->dimensions >> word & 1) || is_told_apart(word_of(attributes, word), symbol);
    if (!good)
        wi_graph_fail(graph, WEFT_ERROR_SHAPE,
            "%s: %s has a size that is too large, or is no multiple of the %s plus a number of at most 2^20",
            op->name, wi_shape_print(shape, text), symbol == WI_BATCH_SYMBOL ? "batch" : "length");
    return good;
}

bool wi_length_of_node(weft_graph *graph, const wi_op *op, weft_tensor *const *inputs, int count,
    const wi_shape *shape, const wi_attributes *attributes, bool *has) {
    const bool begins = op->kind == WI_GENERATOR || op->names_size || op->dimensions;
    const bool is_count = op->kind == WI_GENERATOR && op->dimensions; /* created only with the length */
    const int64_t known = graph->length_symbol, symbol = known ? known : WEFT_LENGTH;
    *has = is_count || leaves_batch(op, inputs, count, shape, symbol);
    for (int i = 0; i < count && !*has; i++) *has = inputs[i]->has_length;
    if (begins || (op->kind != WI_SOURCE && known))
        *has |= any_written(op, shape, attributes, symbol, known != 0);
    if (known == WI_BATCH_SYMBOL && any_written(op, shape, attributes, WEFT_LENGTH, false))
        return fail_both(graph, op->name);
    if (!*has) return true;
    graph->length_symbol = symbol;
    return check_sizes(graph, op, shape, attributes);
}
