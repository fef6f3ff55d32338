/* Reductions over any axes: sums, products, extremes and their indices, and functions that call them. The nodes keep reduced axes
 * with size 1; a view removes them. */
#include "ops/reduction/reduce.h"
#include "ops/movement/memory_order.h"

/* ---- axes ---- */

/* Checks the input, and writes the axes: all if the caller gives none. False: an error is recorded. */
static bool read_axes(const char *op, weft_tensor *x, const int64_t *axes, uint32_t *mask) {
    if (!wi_inputs_graph(op, &x, 1) || !wi_axes_mask(x, op, axes, mask)) return false;
    if (*mask == 0) *mask = (1u << x->shape.rank) - 1;
    return true;
}

bool wi_reduce_float_axes(const char *op, weft_tensor *x, const int64_t *axes, uint32_t *mask) {
    return read_axes(op, x, axes, mask) && wi_takes_dtype(x, op, WI_TAKES_FLOATS);
}

/* The shape with reduced axes of size 1. */
static wi_shape kept_shape(const wi_shape *shape, uint32_t axes) {
    wi_shape kept = *shape;
    for (int i = 0; i < kept.rank; i++) {
        if (axes >> i & 1) kept.dims[i] = 1;
    }
    return kept;
}

/* ---- nodes ---- */

/* The axes without those of size 1. */
static uint32_t real_axes(const weft_tensor *x, uint32_t axes) {
    for (int i = 0; i < x->shape.rank; i++) {
        if (x->shape.dims[i] == 1) axes &= ~(1u << i);
    }
    return axes;
}

static bool gives_index(const wi_op *op) {
    return op == &wi_op_argmax || op == &wi_op_argmin;
}

/* Do the axes have the same order in memory as in the tensor? If so, an index along the merged axes means the same
 * element in both. */
static bool keeps_sequence(const wi_memory_order *order, uint32_t axes) {
    int last = -1;
    for (int i = 0; i < order->rank; i++) {
        if (!(axes >> i & 1)) continue;
        if (order->axes[i] < last) return false;
        last = order->axes[i];
    }
    return true;
}

static weft_tensor *reduce_keep(const wi_op *op, weft_tensor *x, uint32_t axes, weft_dtype dtype) {
    const wi_shape shape = kept_shape(&x->shape, axes);
    const wi_attributes attributes = {.over = {.axes = real_axes(x, axes)}};
    if (attributes.over.axes == 0 && !gives_index(op)) return x;
    return wi_node(x->graph, op, &x, 1, dtype, &shape, &attributes);
}

static weft_tensor *remake(const weft_tensor *y, weft_tensor *const *inputs, const wi_shape *shape,
    const wi_attributes *attributes) {
    (void)shape;
    return reduce_keep(y->op, inputs[0], attributes->over.axes, y->dtype);
}

static weft_tensor *reduce_in_order(wi_rewrite *rewrite, const weft_tensor *y, weft_tensor *const *inputs) {
    (void)rewrite;
    const wi_memory_order order = wi_memory_order_of(inputs[0]);
    const uint32_t axes = y->attributes->over.axes;
    if (order.rank == 0 || (gives_index(y->op) && !keeps_sequence(&order, axes))) return NULL;
    return wi_from_memory(
        &order, reduce_keep(y->op, inputs[0]->inputs[0], wi_axes_in_memory(&order, axes), y->dtype));
}

const wi_rule wi_reduce_rewrites[] = {{"memory order", WI_STAGE_FORM, reduce_in_order}, {0}};

weft_tensor *wi_sum_keep(weft_tensor *x, uint32_t axes) {
    return x ? reduce_keep(&wi_op_sum, x, axes, x->dtype) : NULL;
}
weft_tensor *wi_max_keep(weft_tensor *x, uint32_t axes) {
    return x ? reduce_keep(&wi_op_max, x, axes, x->dtype) : NULL;
}
weft_tensor *wi_prod_keep(weft_tensor *x, uint32_t axes) {
    return x ? reduce_keep(&wi_op_prod, x, axes, x->dtype) : NULL;
}

weft_tensor *wi_drop_axes(weft_tensor *y, uint32_t axes) {
    if (!y) return NULL;
    const wi_shape shape = wi_shape_without(&y->shape, axes);
    return weft_reshape_shape(y, shape.rank, shape.dims);
}

static weft_tensor *reduce(const wi_op *op, weft_tensor *x, const int64_t *axes, bool keep) {
    uint32_t mask;
    if (!read_axes(op->name, x, axes, &mask)) return NULL;
    if (!wi_takes_dtype(x, op->name, WI_TAKES_FLOATS | WI_TAKES_INTEGERS)) return NULL;
    weft_tensor *y = reduce_keep(op, x, mask, gives_index(op) ? WEFT_I32 : x->dtype);
    return keep ? y : wi_drop_axes(y, mask);
}

#define REDUCE_OP(op, merge, is_index)                                                                       \
    const wi_op wi_op_##op = {.name = #op,                                                                   \
        .kind = WI_REDUCE,                                                                                   \
        .combine = (merge),                                                                                  \
        .zero_gradient = (is_index),                                                                         \
        .attribute_bytes = sizeof(wi_over_attributes),                                                       \
        .remake = remake};                                                                                   \
    weft_tensor *weft_##op##_axes(weft_tensor *x, const int64_t *axes, bool keep) {                          \
        return WI_CALL(x, "weft_" #op, reduce(&wi_op_##op, x, axes, keep));                                  \
    }
REDUCE_OP(sum, weft_add, false)
REDUCE_OP(prod, weft_mul, false)
REDUCE_OP(max, weft_maximum, false)
REDUCE_OP(min, weft_minimum, false)
REDUCE_OP(argmax, NULL, true)
REDUCE_OP(argmin, NULL, true)

weft_tensor *wi_reduce_composite(
    const wi_op *op, weft_tensor *x, uint32_t axes, const wi_attributes *attributes, bool keep) {
    const wi_shape shape = kept_shape(&x->shape, axes);
    weft_tensor *wide = wi_wide(x);
    weft_tensor *y =
        weft_cast(wi_node(x->graph, op, &wide, 1, weft_tensor_dtype(wide), &shape, attributes), x->dtype);
    return keep ? y : wi_drop_axes(y, axes);
}

static void sum_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    const wi_shape *shape = &y->inputs[0]->shape;
    gradients[0] = weft_expand(g, shape->rank, shape->dims);
}

/* Equal extremes share the gradient. In a row with NaN no element equals the extreme, and 0/0 makes the gradient NaN. */
static void extreme_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    const weft_dtype wide = wi_format_of(y->dtype)->compute;
    weft_tensor *hit = weft_cast(weft_equal(y->inputs[0], y), wide);
    weft_tensor *share = weft_div(wi_wide(g), wi_sum_keep(hit, y->attributes->over.axes));
    gradients[0] = weft_cast(weft_mul(hit, share), y->dtype);
}

static weft_tensor *build_mean_axes(weft_tensor *x, const int64_t *axes, bool keep) {
    uint32_t mask;
    if (!wi_reduce_float_axes("mean", x, axes, &mask)) return NULL;
    weft_tensor *wide = wi_wide(x), *share = wi_axes_share(x, weft_tensor_dtype(wide), mask);
    weft_tensor *mean_value = weft_cast(weft_mul(wi_sum_keep(wide, mask), share), x->dtype);
    return keep ? mean_value : wi_drop_axes(mean_value, mask);
}

weft_tensor *weft_mean_axes(weft_tensor *x, const int64_t *axes, bool keep) {
    return WI_CALL(x, "weft_mean", build_mean_axes(x, axes, keep));
}

/* ---- truth values, of any dtype; NaN is true ---- */

static weft_tensor *reduce_truth(
    const char *name, const wi_op *op, weft_tensor *x, const int64_t *axes, bool keep) {
    uint32_t mask;
    if (!read_axes(name, x, axes, &mask)) return NULL;
    weft_tensor *truth = weft_cast(weft_cast(x, WEFT_BOOL), WEFT_I32);
    weft_tensor *y = truth ? reduce_keep(op, truth, mask, WEFT_I32) : NULL;
    if (op != &wi_op_sum) y = weft_cast(y, WEFT_BOOL);
    return keep ? y : wi_drop_axes(y, mask);
}

weft_tensor *weft_any_axes(weft_tensor *x, const int64_t *axes, bool keep) {
    return WI_CALL(x, "weft_any", reduce_truth("any", &wi_op_max, x, axes, keep));
}

weft_tensor *weft_all_axes(weft_tensor *x, const int64_t *axes, bool keep) {
    return WI_CALL(x, "weft_all", reduce_truth("all", &wi_op_min, x, axes, keep));
}

weft_tensor *weft_count_nonzero_axes(weft_tensor *x, const int64_t *axes, bool keep) {
    return WI_CALL(x, "weft_count_nonzero", reduce_truth("count_nonzero", &wi_op_sum, x, axes, keep));
}

/* ---- the gradient of a broadcast ---- */

weft_tensor *wi_sum_to(weft_tensor *g, const wi_shape *shape) {
    if (!g || wi_shape_equal(&g->shape, shape)) return g;
    if (g->shape.rank < shape->rank) return weft_expand(g, shape->rank, shape->dims);
    uint32_t axes = 0;
    const int extra = g->shape.rank - shape->rank;
    for (int i = 0; i < g->shape.rank; i++) {
        if (i < extra || (shape->dims[i - extra] == 1 && g->shape.dims[i] != 1)) axes |= 1u << i;
    }
    weft_tensor *summed = weft_reshape_shape(
        wi_drop_axes(wi_sum_keep(g, axes), extra ? (1u << extra) - 1 : 0), shape->rank, shape->dims);
    return summed;
}

const wi_op_rules wi_reduce_rules[] = {
    {.op = &wi_op_sum, .backward = sum_backward, .rewrites = wi_reduce_rewrites},
    {.op = &wi_op_max, .backward = extreme_backward, .rewrites = wi_reduce_rewrites},
    {.op = &wi_op_min, .backward = extreme_backward, .rewrites = wi_reduce_rewrites},
    {.op = &wi_op_argmax, .rewrites = wi_reduce_rewrites},
    {.op = &wi_op_argmin, .rewrites = wi_reduce_rewrites}, {0}};
