/* Nodes that a plan creates again at its sizes (contract in sizes.h). */
#include "graph/sizes.h"
#include "graph/weft_graph.h"
#include <stdio.h>

bool wi_sizes_follow(const weft_tensor *node, weft_tensor *const *inputs, const wi_given *given) {
    bool follows = node->is_symbolic;
    if (!given->examples) return follows;
    for (int i = 0; i < node->shape.rank && !follows; i++) follows = node->shape.dims[i] < 0;
    for (int i = 0; i < node->input_count && !follows; i++)
        follows = !wi_shape_equal(&node->inputs[i]->shape, &inputs[i]->shape);
    return follows;
}

static weft_status fail_missing(const weft_tensor *node, int symbol) {
    char text[WI_SHAPE_TEXT];
    const char *const name = wi_symbol_name(node->graph, (size_t)symbol);
    const bool is_length = symbol == WI_SYMBOL_LENGTH;
    WI_FAIL(WEFT_ERROR_ARGUMENT,
        "weft_plan_create: %s of shape %s depends on %s%s%s, so set %s in weft_plan_options%s%s%s",
        node->op->name, wi_shape_print(node->graph, &node->shape, text),
        is_length ? "WEFT_LENGTH" : "the size '", is_length ? "" : name, is_length ? "" : "'",
        is_length ? "length" : "sizes", is_length ? "" : " to {\"", is_length ? "" : name,
        is_length ? "" : "\", ...}");
}

static weft_status fail_at(const weft_tensor *node, const wi_given *given, weft_status status) {
    enum { LINE = 200 };
    char error[512], text[WI_SHAPE_TEXT], at[LINE] = "";
    size_t used = 0;
    wi_error_save(error, sizeof error);
    for (size_t i = WI_SYMBOL_LENGTH; i < given->count && used + 1 < LINE; i++)
        if (given->values[i])
            used += (size_t)snprintf(at + used, LINE - used, "%s%s %lld", used ? ", " : "",
                wi_symbol_name(node->graph, i), (long long)given->values[i]);
    if (given->examples && used + 1 < LINE)
        snprintf(at + used, LINE - used, "%sbatch %lld", used ? ", " : "", (long long)given->examples);
    WI_FAIL(status, "at %s, %s of shape %s: %s", at, node->op->name,
        wi_shape_print(node->graph, &node->shape, text), error);
}

/* Writes the shape and the attributes at the plan's sizes, and checks both before a node is created, because an unsuitable size is
 * an error of the plan and not of the graph. */
static weft_status evaluate(const weft_tensor *node, weft_tensor *const *inputs, const wi_given *given,
    wi_shape *shape, wi_attributes *attributes) {
    int missing = -1;
    *shape = node->shape;
    *attributes = wi_attributes_of(node);
    for (int i = 0; i < shape->rank && missing < 0; i++) {
        const int64_t size = wi_dim_at(node->graph, shape->dims[i], given, &missing);
        shape->dims[i] = shape->dims[i] > 0 && size < 0 ? 0 : size;
    }
    for (int word = 0; node->op->dimensions >> word && missing < 0; word++)
        if (node->op->dimensions >> word & 1)
            wi_set_attribute_size(attributes, word,
                wi_dim_at(node->graph, wi_attribute_size(attributes, word), given, &missing));
    if (missing >= 0) return fail_missing(node, missing);
    weft_status status = wi_shape_check(node->graph, shape, node->op->name);
    if (status == WEFT_OK && node->op->fits) status = node->op->fits(node, inputs, shape, attributes);
    return status == WEFT_OK ? status : fail_at(node, given, status);
}

/* Replaces a symbolic count by a constant that is a multiple of the batch. Kernels receive such a constant as an argument, so that
 * plans of all sizes share the kernels. */
static weft_status make_count(const weft_tensor *node, const wi_given *given, weft_tensor **made) {
    const wi_count_attributes *const count = &node->attributes->count;
    int missing;
    const int64_t n = wi_dim_at(node->graph, count->count, given, &missing);
    if (missing >= 0) return fail_missing(node, missing);
    const double share = n > 0 ? (double)n / (double)given->batch : 0;
    const int power = count->batch_power + 1;
    *made = wi_constant_batch_power(
        node->graph, node->dtype, count->inverse ? 1.0 / share : share, count->inverse ? -power : power);
    return weft_graph_status(node->graph);
}

static weft_tensor *same_node(const weft_tensor *node, weft_tensor *const *inputs, const wi_shape *shape,
    const wi_attributes *attributes) {
    weft_tensor *const made = wi_node(node->graph, node->op, inputs, node->input_count, node->dtype, shape,
        node->attributes ? attributes : NULL);
    if (made && !made->name) made->name = node->name;
    return made;
}

weft_status wi_make_at_sizes(
    const weft_tensor *node, weft_tensor *const *inputs, const wi_given *given, weft_tensor **made) {
    wi_shape shape;
    wi_attributes attributes;
    if (node->op == &wi_op_elements) return make_count(node, given, made);
    WI_TRY(evaluate(node, inputs, given, &shape, &attributes));
    *made = node->op->remake ? node->op->remake(node, inputs, &shape, &attributes)
                             : same_node(node, inputs, &shape, &attributes);
    return *made ? WEFT_OK : weft_graph_status(node->graph);
}
