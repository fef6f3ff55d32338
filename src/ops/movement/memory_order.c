/* Memory order: conversions, and the rule of elementwise ops (contract in memory_order.h). */
#include "ops/movement/memory_order.h"
#include "ops/op_table.h"
#include <string.h>

wi_memory_order wi_memory_order_of(const weft_tensor *x) {
    wi_memory_order order = {0};
    if (x->op != &wi_op_permute || x->attributes->permute.direction != WI_FROM_MEMORY_ORDER) return order;
    order.rank = x->shape.rank;
    memcpy(order.axes, x->attributes->permute.axes, sizeof order.axes);
    return order;
}

wi_memory_order wi_inverse_order(int rank, const int8_t *order) {
    wi_memory_order inverse = {.rank = rank};
    for (int i = 0; i < rank; i++) inverse.axes[order[i]] = (int8_t)i;
    return inverse;
}

wi_shape wi_shape_in_memory(const wi_memory_order *order, const wi_shape *shape) {
    wi_shape stored = {.rank = shape->rank};
    for (int i = 0; i < shape->rank; i++) stored.dims[order->axes[i]] = shape->dims[i];
    return stored;
}

uint32_t wi_axes_in_memory(const wi_memory_order *order, uint32_t axes) {
    uint32_t in_memory = 0;
    for (int i = 0; i < order->rank; i++) in_memory |= (axes >> i & 1) << order->axes[i];
    return in_memory;
}

/* ---- functions of the index ---- */

/* The largest number of nodes that a search visits. */
enum { MOST_OF_INDEX = 32 };

/* Is x a function of the index, that is of coordinates and constants, and with `sources` also of integers in memory, such as masks
 * and labels? Its readers compute it where they use it, and a view of it would have to be stored. It is therefore created again in
 * memory order. */
static bool is_of_index(const weft_tensor *x, bool sources, int *budget) {
    double value;
    int power;
    if (--*budget < 0) return false;
    if (x->op == &wi_op_coordinate || wi_is_constant(x, &value, &power)) return true;
    if (x->op->kind == WI_VIEW || x->op->kind == WI_SOURCE) return sources && !wi_dtype_is_float(x->dtype);
    if (x->op->kind != WI_MAP || x->op->reads_padded) return false;
    for (int i = 0; i < x->input_count; i++) {
        if (!is_of_index(x->inputs[i], sources, budget)) return false;
    }
    return true;
}

static weft_tensor *index_in_memory(const wi_rewrite *rewrite, const wi_memory_order *order, weft_tensor *x) {
    const wi_shape stored = wi_shape_in_memory(order, &x->shape);
    if (x->op == &wi_op_coordinate)
        return wi_coordinate(x->graph, &stored, order->axes[x->attributes->along.axis]);
    if (x->op == &wi_op_uniform || x->op == &wi_op_normal) return wi_node_over(x, NULL, &stored);
    weft_tensor *inputs[3];
    for (int i = 0; i < x->input_count; i++) {
        inputs[i] = wi_to_memory(rewrite, order, x->inputs[i]);
        if (!inputs[i]) return NULL;
    }
    return wi_node_over(x, inputs, &stored);
}

/* Does a step compute x, or an input of the maps that x consists of, so that x is not computed from sources and
 * generators alone? */
static bool is_computed(const weft_tensor *x) {
    const bool seen = x->op->kind == WI_VIEW;
    while (x->op->kind == WI_VIEW) x = x->inputs[0];
    if (seen || x->op->kind != WI_MAP) return x->op->kind != WI_SOURCE && x->op->kind != WI_GENERATOR;
    for (int i = 0; i < x->input_count; i++) {
        if (is_computed(x->inputs[i])) return true;
    }
    return false;
}

bool wi_is_index(const wi_rewrite *rewrite, const wi_memory_order *order, const weft_tensor *x) {
    int budget = MOST_OF_INDEX;
    if (x->shape.rank != order->rank) return false;
    if (x->op == &wi_op_uniform || x->op == &wi_op_normal)
        return !wi_memory_order_moves(&x->shape, wi_inverse_order(order->rank, order->axes).axes);
    if (x->op != &wi_op_coordinate && (x->op->kind != WI_MAP || x->op->reads_padded)) return false;
    return is_of_index(x, !wi_dtype_is_float(x->dtype), &budget) &&
           !(wi_rewrite_is_kept(rewrite, x) && is_computed(x));
}

/* The order in which a node over these inputs should be computed. It is the order of an input that is as large as the result; or, if
 * all such inputs are functions of the index, the order of the first input that has one. */
static wi_memory_order memory_order_for(weft_tensor *const *inputs, int count, const wi_shape *shape) {
    wi_memory_order found = {0};
    for (int i = 0; i < count; i++) {
        const wi_memory_order order = wi_memory_order_of(inputs[i]);
        if (order.rank == 0 || order.rank != shape->rank) continue;
        if (wi_shape_equal(&inputs[i]->shape, shape)) return order;
        if (found.rank == 0) found = order;
    }
    for (int i = 0; i < count && found.rank > 0; i++) {
        int budget = MOST_OF_INDEX;
        if (wi_shape_equal(&inputs[i]->shape, shape) && !is_of_index(inputs[i], false, &budget))
            return (wi_memory_order){0};
    }
    return found;
}

/* ---- conversion ---- */

weft_tensor *wi_to_memory(const wi_rewrite *rewrite, const wi_memory_order *order, weft_tensor *x) {
    if (!x || x->shape.rank == 0) return x;
    const wi_shape wide = wi_shape_of_rank(&x->shape, order->rank);
    x = weft_reshape_shape(x, wide.rank, wide.dims);
    if (!x) return NULL;
    if (wi_is_index(rewrite, order, x)) return index_in_memory(rewrite, order, x);
    return wi_permute_through(x, wi_inverse_order(order->rank, order->axes).axes, WI_TO_MEMORY_ORDER);
}

weft_tensor *wi_from_memory(const wi_memory_order *order, weft_tensor *x) {
    return x ? wi_permute_through(x, order->axes, WI_FROM_MEMORY_ORDER) : NULL;
}

/* ---- elementwise ---- */

weft_tensor *wi_elementwise_in_memory_order(
    wi_rewrite *rewrite, const weft_tensor *y, weft_tensor *const *inputs) {
    const wi_memory_order order = memory_order_for(inputs, y->input_count, &y->shape);
    if (order.rank == 0) return NULL;
    const wi_shape stored_shape = wi_shape_in_memory(&order, &y->shape);
    weft_tensor *stored[WI_KERNEL_INPUTS] = {0};
    for (int i = 0; i < y->input_count; i++) {
        stored[i] = wi_to_memory(rewrite, &order, inputs[i]);
        if (!stored[i]) return NULL;
    }
    return wi_from_memory(&order, wi_node_over(y, stored, &stored_shape));
}

const wi_rule wi_memory_order_rewrites[] = {
    {"memory order", WI_STAGE_FORM, wi_elementwise_in_memory_order}, {0}};
