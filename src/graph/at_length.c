/* Nodes that a plan creates again at its length (contract in length.h). */
#include "graph/length.h"
#include <string.h>

bool wi_length_follows(const weft_tensor *node, weft_tensor *const *inputs, const wi_given *given) {
    bool follows = node->has_length;
    if (given->symbol != WI_BATCH_SYMBOL) return follows;
    for (int i = 0; i < node->shape.rank && !follows; i++) follows = node->shape.dims[i] < 0;
    for (int i = 0; i < node->input_count && !follows; i++)
        follows = !wi_shape_equal(&node->inputs[i]->shape, &inputs[i]->shape);
    return follows;
}

static weft_status fail_at(const weft_tensor *node, const wi_given *given, weft_status status) {
    char error[512], text[WI_SHAPE_TEXT];
    wi_error_save(error, sizeof error);
    WI_FAIL(status, "at %s %lld, %s of shape %s: %s", given->symbol == WI_BATCH_SYMBOL ? "batch" : "length",
        (long long)given->length, node->op->name, wi_shape_print(&node->shape, text), error);
}

/* Writes the shape and the attributes at the length, and checks both before a node is created, because an unsuitable length is
 * an error of the plan and not of the graph. */
static weft_status settle(const weft_tensor *node, weft_tensor *const *inputs, const wi_given *given,
    wi_shape *shape, wi_attributes *attributes) {
    *shape = node->shape;
    *attributes = wi_attributes_of(node);
    for (int i = 0; i < shape->rank; i++) {
        const int64_t size = wi_at_length(shape->dims[i], given->symbol, given->length);
        shape->dims[i] = shape->dims[i] > 0 && size < 0 ? 0 : size;
    }
    for (int word = 0; node->op->dimensions >> word; word++) {
        if (!(node->op->dimensions >> word & 1)) continue;
        int64_t value;
        unsigned char *const field = (unsigned char *)attributes + (size_t)word * sizeof value;
        memcpy(&value, field, sizeof value);
        value = wi_at_length(value, given->symbol, given->length);
        memcpy(field, &value, sizeof value);
    }
    weft_status status = wi_shape_check(shape, node->op->name);
    if (status == WEFT_OK && node->op->fits) status = node->op->fits(node, inputs, shape, attributes);
    return status == WEFT_OK ? status : fail_at(node, given, status);
}

/* Replaces a count that has the length by a constant that is a multiple of the batch. Kernels receive such a constant
 * as an argument, so that plans for all lengths share the kernels. */
static weft_tensor *make_count(
    const weft_tensor *node, const wi_count_attributes *count, const wi_given *given) {
    const double share = count->count > 0 ? (double)count->count / (double)given->batch : 0;
    const int power = count->batch_power + 1;
    return wi_constant_batch_power(
        node->graph, node->dtype, count->inverse ? 1.0 / share : share, count->inverse ? -power : power);
}

static weft_tensor *same_node(const weft_tensor *node, weft_tensor *const *inputs, const wi_shape *shape,
    const wi_attributes *attributes) {
    weft_tensor *const made = wi_node(node->graph, node->op, inputs, node->input_count, node->dtype, shape,
        node->attributes ? attributes : NULL);
    if (made && !made->name) made->name = node->name;
    return made;
}

weft_status wi_length_make(
    const weft_tensor *node, weft_tensor *const *inputs, const wi_given *given, weft_tensor **made) {
    wi_shape shape;
    wi_attributes attributes;
    WI_TRY(settle(node, inputs, given, &shape, &attributes));
    *made = node->op == &wi_op_elements ? make_count(node, &attributes.count, given)
            : node->op->remake          ? node->op->remake(node, inputs, &shape, &attributes)
                                        : same_node(node, inputs, &shape, &attributes);
    return *made ? WEFT_OK : weft_graph_status(node->graph);
}
