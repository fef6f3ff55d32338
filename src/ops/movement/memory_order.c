/* Orders of memory. An op may give its result as a view (permute, WI_FROM_MEMORY) of a node whose axes lie in
 * another order: images are (N, C, spatial...) over (N, spatial..., C). What is made from such a view is made
 * over the node beneath it, and is such a view again: maps, reductions, slices, pads, joins and their
 * gradients keep the order of memory, whatever the order of their axes, and views meet and cancel. Permutes
 * that users write are none of these and do what they say. */
#include "ops/op_table.h"

wi_order wi_order_of(const weft_tensor *x) {
    wi_order order = {0};
    if (x->op != &wi_op_permute || x->attributes.flags != WI_FROM_MEMORY) return order;
    order.rank = x->shape.rank;
    for (int i = 0; i < order.rank; i++) order.axes[i] = x->attributes.order[i];
    return order;
}

/* An input as large as the result decides; where none is, the first that has an order. */
wi_order wi_order_for(weft_tensor *const *inputs, int count, const wi_shape *shape) {
    wi_order found = {0};
    bool whole = false;
    for (int i = 0; i < count; i++) {
        const wi_order order = wi_order_of(inputs[i]);
        const bool is_whole = wi_shape_equal(&inputs[i]->shape, shape);
        if (order.rank == shape->rank && order.rank > 0) {
            if (is_whole) return order;
            if (found.rank == 0) found = order;
        }
        double value;
        int power;
        whole = whole || (is_whole && !wi_is_constant(inputs[i], &value, &power));
    }
    return whole ? (wi_order){0} : found;
}

wi_shape wi_shape_in_memory(const wi_order *order, const wi_shape *shape) {
    wi_shape lying = {.rank = shape->rank};
    for (int i = 0; i < shape->rank; i++) lying.dims[order->axes[i]] = shape->dims[i];
    return lying;
}

uint32_t wi_axes_in_memory(const wi_order *order, uint32_t axes) {
    uint32_t turned = 0;
    for (int i = 0; i < order->rank; i++) turned |= (axes >> i & 1) << order->axes[i];
    return turned;
}

/* ---- functions of the index ---- */

/* A view of a value that is computed where it is used would have to be written down first. So coordinates,
 * random numbers whose sequence does not change, and maps of those are made anew in the order of memory, as
 * are masks and labels. No gradient is ever asked for of what is made anew. */
static bool is_of_index(const weft_tensor *x, bool sources, int *budget) {
    double value;
    int power;
    if (--*budget < 0) return false;
    if (x->op == &wi_op_coordinate || wi_is_constant(x, &value, &power)) return true;
    if (x->op->kind == WI_VIEW || x->op->kind == WI_SOURCE) return sources && !wi_dtype_is_float(x->dtype);
    if (x->op->kind != WI_MAP || x->op->folds) return false;
    for (int i = 0; i < x->input_count; i++) {
        if (!is_of_index(x->inputs[i], sources, budget)) return false;
    }
    return true;
}

static weft_tensor *index_in_memory(const wi_order *order, weft_tensor *x) {
    const wi_shape lying = wi_shape_in_memory(order, &x->shape);
    if (x->op == &wi_op_coordinate) return wi_coordinate(x->graph, &lying, order->axes[x->attributes.axis]);
    if (x->op == &wi_op_uniform || x->op == &wi_op_normal)
        return wi_node(x->graph, x->op, NULL, 0, x->dtype, &lying, &x->attributes);
    weft_tensor *inputs[3];
    for (int i = 0; i < x->input_count; i++) {
        inputs[i] = wi_to_memory(order, x->inputs[i]);
        if (!inputs[i]) return NULL;
    }
    return wi_node(x->graph, x->op, inputs, x->input_count, x->dtype, &lying, &x->attributes);
}

/* Can it be made anew? */
static bool is_index(const wi_order *order, const weft_tensor *x) {
    int8_t inverse[WEFT_MAX_RANK];
    int budget = 32;
    if (x->shape.rank != order->rank) return false;
    for (int i = 0; i < order->rank; i++) inverse[order->axes[i]] = (int8_t)i;
    if (x->op == &wi_op_uniform || x->op == &wi_op_normal) return !wi_order_moves(&x->shape, inverse);
    return (x->op == &wi_op_coordinate || (x->op->kind == WI_MAP && !x->op->folds)) &&
           is_of_index(x, !wi_dtype_is_float(x->dtype), &budget);
}

/* ---- to memory and back ---- */

weft_tensor *wi_to_memory(const wi_order *order, weft_tensor *x) {
    if (!x || x->shape.rank == 0) return x; /* a number fits everywhere */
    wi_shape wide = {.rank = order->rank};
    const int more = order->rank - x->shape.rank;
    for (int i = 0; i < order->rank; i++) wide.dims[i] = i < more ? 1 : x->shape.dims[i - more];
    if (more > 0) x = weft_reshape_shape(x, wide.rank, wide.dims);
    if (!x) return NULL;
    if (is_index(order, x)) return index_in_memory(order, x);
    int8_t inverse[WEFT_MAX_RANK];
    for (int i = 0; i < order->rank; i++) inverse[order->axes[i]] = (int8_t)i;
    return wi_permute(x, inverse, WI_TO_MEMORY);
}

weft_tensor *wi_from_memory(const wi_order *order, weft_tensor *x) {
    return x ? wi_permute(x, order->axes, WI_FROM_MEMORY) : NULL;
}

weft_tensor *wi_in_order_of(const weft_tensor *like, weft_tensor *x) {
    const wi_order order = wi_order_of(like);
    return order.rank ? wi_from_memory(&order, wi_to_memory(&order, x)) : x;
}

weft_tensor *wi_elementwise_node(weft_graph *graph, const wi_op *op, weft_tensor *const *inputs, int count,
    weft_dtype dtype, const wi_shape *shape, const wi_attributes *attributes) {
    const wi_order order = wi_order_for(inputs, count, shape);
    if (order.rank == 0) return wi_node(graph, op, inputs, count, dtype, shape, attributes);
    const wi_shape lying_shape = wi_shape_in_memory(&order, shape);
    weft_tensor *lying[4] = {0};
    for (int i = 0; i < count; i++) {
        lying[i] = wi_to_memory(&order, inputs[i]);
        if (!lying[i]) return NULL;
    }
    return wi_from_memory(&order, wi_node(graph, op, lying, count, dtype, &lying_shape, attributes));
}
