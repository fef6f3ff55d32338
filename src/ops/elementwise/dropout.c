/* Dropout: a composite, whose form for inference is its input. */
#include "graph/scope.h"
#include "ops/movement/memory_order.h"
#include "ops/op_table.h"
#include <weft/images.h>

weft_tensor *wi_dropout_factors(weft_graph *graph, const wi_shape *shape, double p, uint32_t stream) {
    weft_tensor *chance = wi_draw_uniform(graph, shape, stream);
    return weft_where(
        weft_less(chance, weft_number(chance, p)), weft_number(chance, 0), weft_number(chance, 1 / (1 - p)));
}

static weft_tensor *dropout_lower(weft_tensor *y, bool inference) {
    weft_tensor *x = y->inputs[0];
    const wi_dropout_attributes *const a = &y->attributes->dropout;
    const double p = a->probability;
    if (inference || p == 0) return x;
    wi_shape shape = x->shape;
    for (int i = 0; i < shape.rank; i++)
        if (a->axes >> i & 1) shape.dims[i] = 1;
    weft_tensor *chance = wi_draw_uniform(y->graph, &shape, a->stream);
    weft_tensor *scaled = weft_mul_number(x, 1 / (1 - p));
    return weft_where(weft_less(chance, weft_number(chance, p)), weft_number(x, 0), scaled);
}

/* The gradient is dropped by the same random numbers: it is the same op with the same stream. */
static void dropout_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    gradients[0] = wi_node_over(y, &g, &y->shape);
}

/* Random numbers are drawn in memory order. All nodes of a stream must drop the same elements, so all are created in the order of the
 * first one and marked by `in_memory`. */
static weft_tensor *dropout_in_order(wi_rewrite *rewrite, const weft_tensor *y, weft_tensor *const *inputs) {
    if (y->attributes->dropout.in_memory) return NULL;
    weft_tensor **const first = wi_rewrite_drawn(rewrite, y->attributes->dropout.stream);
    if (!*first) *first = inputs[0];
    const wi_memory_order order = wi_memory_order_of(*first);
    if (order.rank == 0) return NULL;
    weft_tensor *const x = wi_to_memory(rewrite, &order, inputs[0]);
    wi_attributes attributes = wi_attributes_of(y);
    attributes.dropout.axes = wi_axes_in_memory(&order, attributes.dropout.axes);
    attributes.dropout.in_memory = true;
    return x ? wi_from_memory(&order, wi_node(y->graph, y->op, &x, 1, y->dtype, &x->shape, &attributes))
             : NULL;
}

static const weft_tensor *dropout_in_training(const weft_tensor *y) {
    return y->attributes->dropout.probability > 0 ? y : NULL;
}

static const wi_rule dropout_rewrites[] = {{"memory order", WI_STAGE_FORM, dropout_in_order}, {0}};
const wi_op wi_op_dropout = {.name = "dropout",
    .kind = WI_COMPOSITE,
    .attribute_bytes = sizeof(wi_dropout_attributes),
    .lower = dropout_lower,
    .in_training = dropout_in_training};

static weft_tensor *drop(const char *op, weft_tensor *x, float p, uint32_t axes) {
    weft_graph *graph = x->graph;
    if (!wi_takes_dtype(x, op, WI_TAKES_FLOATS)) return NULL;
    if (!(p >= 0 && p < 1))
        return wi_graph_fail(graph, WEFT_ERROR_ARGUMENT, "%s: p = %g is not in [0, 1)", op, (double)p);
    if (wi_scope_is_inference(graph)) return x;
    const wi_attributes attributes = {
        .dropout = {.probability = p, .axes = axes, .stream = graph->streams++}};
    return wi_node(graph, &wi_op_dropout, &x, 1, x->dtype, &x->shape, &attributes);
}

weft_tensor *weft_dropout(weft_tensor *x, float p) {
    return wi_inputs_graph("dropout", &x, 1) ? drop("dropout", x, p, 0) : NULL;
}

weft_tensor *weft_dropout_channels(weft_tensor *x, float p) {
    char text[WI_SHAPE_TEXT];
    if (!wi_inputs_graph("dropout_channels", &x, 1)) return NULL;
    if (x->shape.rank < 2)
        return wi_graph_fail(x->graph, WEFT_ERROR_SHAPE, "dropout_channels: %s is not (N, C, ...)",
            wi_shape_print(x->graph, &x->shape, text));
    return drop("dropout_channels", x, p, ~UINT32_C(3));
}

weft_tensor *wi_dropout_examples(weft_tensor *x, float p) {
    return wi_inputs_graph("dropout", &x, 1) ? drop("dropout", x, p, ~UINT32_C(1)) : NULL;
}

const wi_op_rules wi_dropout_rules[] = {
    {.op = &wi_op_dropout, .backward = dropout_backward, .rewrites = dropout_rewrites}, {0}};
