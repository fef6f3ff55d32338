/* Nodes at a length (contract in length.h). */
#include "graph/length.h"
#include <string.h>

/* ---- who has it ---- */

/* What a caller wrote down as so many times the length and a number: dimensions that large are rarely anything else. */
static bool is_written(int64_t dim) {
    enum { MOST_TIMES = 64, MOST_REST = 1 << 16 };
    int64_t rest;
    const int64_t times = wi_length_times(wi_magnitude(dim), &rest);
    return times >= 1 && times <= MOST_TIMES && rest <= MOST_REST && rest >= -MOST_REST;
}

static int64_t word_of(const wi_attributes *attributes, int word) {
    int64_t value;
    memcpy(&value, (const unsigned char *)attributes + (size_t)word * sizeof value, sizeof value);
    return value;
}

static bool any_written(const wi_op *op, const wi_shape *shape, const wi_attributes *attributes) {
    for (int i = 0; i < shape->rank; i++)
        if (is_written(shape->dims[i])) return true;
    for (int word = 0; op->dimensions >> word; word++)
        if (op->dimensions >> word & 1 && is_written(word_of(attributes, word))) return true;
    return false;
}

/* A number is either far smaller than what stands for the length, or made of it. */
static bool is_told_apart(int64_t dim) {
    return (dim <= WI_LENGTH_ORDINARY && dim >= -WI_LENGTH_ORDINARY) || wi_has_length(dim);
}

static bool check_sizes(
    weft_graph *graph, const wi_op *op, const wi_shape *shape, const wi_attributes *attributes) {
    char text[WI_SHAPE_TEXT];
    bool good = true;
    for (int i = 0; i < shape->rank && good; i++) good = is_told_apart(shape->dims[i]);
    for (int word = 0; op->dimensions >> word && good; word++)
        good = !(op->dimensions >> word & 1) || is_told_apart(word_of(attributes, word));
    if (!good)
        wi_graph_fail(graph, WEFT_ERROR_SHAPE,
            "%s: %s has a size that is no multiple of the length and a number, or too large beside it",
            op->name, wi_shape_print(shape, text));
    return good;
}

bool wi_length_of_node(weft_graph *graph, const wi_op *op, weft_tensor *const *inputs, int count,
    const wi_shape *shape, const wi_attributes *attributes, bool *has) {
    const bool begins = op == &wi_op_input || op->kind == WI_GENERATOR;
    *has = op == &wi_op_elements;
    for (int i = 0; i < count && !*has; i++) *has = inputs[i]->has_length;
    if (begins || (op->kind != WI_SOURCE && graph->has_length)) *has |= any_written(op, shape, attributes);
    if (!*has) return true;
    graph->has_length = true;
    if (op->no_length) {
        wi_graph_fail(graph, WEFT_ERROR_UNSUPPORTED, "%s: takes no WEFT_LENGTH: %s", op->name, op->no_length);
        return false;
    }
    return check_sizes(graph, op, shape, attributes);
}

/* ---- giving it ---- */

static weft_status fail_at(const weft_tensor *node, int64_t length, weft_status status) {
    char error[512], text[WI_SHAPE_TEXT];
    wi_error_save(error, sizeof error);
    WI_FAIL(status, "at length %lld, %s of shape %s: %s", (long long)length, node->op->name,
        wi_shape_print(&node->shape, text), error);
}

/* The shape and the attributes at the length, checked before anything is made: a length that does not fit is no error of
 * the graph. */
static weft_status settle(const weft_tensor *node, weft_tensor *const *inputs, int64_t length,
    wi_shape *shape, wi_attributes *attributes) {
    *shape = node->shape;
    *attributes = wi_attributes_of(node);
    for (int i = 0; i < shape->rank; i++) {
        const int64_t size = wi_at_length(shape->dims[i], length);
        shape->dims[i] = shape->dims[i] > 0 && size < 0 ? 0 : size;
    }
    for (int word = 0; node->op->dimensions >> word; word++) {
        if (!(node->op->dimensions >> word & 1)) continue;
        const int64_t value = wi_at_length(word_of(attributes, word), length);
        memcpy((unsigned char *)attributes + (size_t)word * sizeof value, &value, sizeof value);
    }
    weft_status status = wi_shape_check(shape, node->op->name);
    if (status == WEFT_OK && node->op->fits) status = node->op->fits(node, inputs, shape, attributes);
    return status == WEFT_OK ? status : fail_at(node, length, status);
}

static weft_tensor *same_node(const weft_tensor *node, weft_tensor *const *inputs, const wi_shape *shape,
    const wi_attributes *attributes) {
    weft_tensor *const made = wi_node(node->graph, node->op, inputs, node->input_count, node->dtype, shape,
        node->attributes ? attributes : NULL);
    if (made && !made->name) made->name = node->name;
    return made;
}

weft_status wi_length_make(
    const weft_tensor *node, weft_tensor *const *inputs, int64_t length, weft_tensor **made) {
    wi_shape shape;
    wi_attributes attributes;
    WI_TRY(settle(node, inputs, length, &shape, &attributes));
    *made = node->op == &wi_op_elements ? wi_constant_of_count(node->graph, node->dtype, &attributes.count)
            : node->op->remake          ? node->op->remake(node, inputs, &shape, &attributes)
                                        : same_node(node, inputs, &shape, &attributes);
    return *made ? WEFT_OK : weft_graph_status(node->graph);
}
