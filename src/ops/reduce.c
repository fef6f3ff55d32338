/* Reductions: sum, max, argmax over any axes, and mean. In the graph reduced axes keep size 1; a view drops
 * them. */
#include "ops/op_table.h"

/* ---- axes ---- */

int wi_axis_index(const weft_tensor *x, const char *op, int64_t axis) {
    const int64_t index = axis < 0 ? axis + x->shape.rank : axis;
    if (index >= 0 && index < x->shape.rank) return (int)index;
    char text[WI_SHAPE_TEXT];
    wi_graph_fail(x->graph, WEFT_ERROR_SHAPE, "%s: axis %lld is not one of %s", op, (long long)axis,
        wi_shape_print(&x->shape, text));
    return -1;
}

static bool axes_mask(const weft_tensor *x, const char *op, const int64_t *axes, uint32_t *mask) {
    *mask = 0;
    for (; axes && *axes != WEFT_END; axes++) {
        const int axis = wi_axis_index(x, op, *axes);
        if (axis < 0) return false;
        *mask |= 1u << axis;
    }
    if (*mask == 0) *mask = (1u << x->shape.rank) - 1;
    return true;
}

void wi_axes_count(const weft_tensor *x, uint32_t axes, int64_t *coefficient, int *power) {
    wi_shape reduced = {0};
    for (int i = 0; i < x->shape.rank; i++) {
        if (axes >> i & 1) reduced.dims[reduced.rank++] = x->shape.dims[i];
    }
    wi_shape_count(&reduced, coefficient, power);
}

static wi_shape kept_shape(const wi_shape *shape, uint32_t axes) {
    wi_shape kept = *shape;
    for (int i = 0; i < kept.rank; i++) {
        if (axes >> i & 1) kept.dims[i] = 1;
    }
    return kept;
}

/* ---- nodes ---- */

/* Axes of size 1 need no reducing. */
static uint32_t real_axes(const weft_tensor *x, uint32_t axes) {
    for (int i = 0; i < x->shape.rank; i++) {
        if (x->shape.dims[i] == 1) axes &= ~(1u << i);
    }
    return axes;
}

static weft_tensor *reduce_keep(const wi_op *op, weft_tensor *x, uint32_t axes, weft_dtype dtype) {
    const wi_shape shape = kept_shape(&x->shape, axes);
    const wi_attributes attributes = {.axes = real_axes(x, axes)};
    if (attributes.axes == 0 && op != &wi_op_argmax) return x;
    return wi_node(x->graph, op, &x, 1, dtype, &shape, &attributes);
}

weft_tensor *wi_sum_keep(weft_tensor *x, uint32_t axes) {
    return x ? reduce_keep(&wi_op_sum, x, axes, x->dtype) : NULL;
}
weft_tensor *wi_max_keep(weft_tensor *x, uint32_t axes) {
    return x ? reduce_keep(&wi_op_max, x, axes, x->dtype) : NULL;
}

static weft_tensor *drop_axes(weft_tensor *y, uint32_t axes) {
    if (!y) return NULL;
    wi_shape shape = {0};
    for (int i = 0; i < y->shape.rank; i++) {
        if (!(axes >> i & 1)) shape.dims[shape.rank++] = y->shape.dims[i];
    }
    return weft_reshape_shape(y, shape.rank, shape.dims);
}

static weft_tensor *reduce(const wi_op *op, weft_tensor *x, const int64_t *axes, bool keep, bool float_only) {
    weft_graph *graph = wi_inputs_graph(op->name, &x, 1);
    uint32_t mask;
    if (!graph || !axes_mask(x, op->name, axes, &mask)) return NULL;
    if (x->dtype != WEFT_F32 && (x->dtype != WEFT_I32 || float_only))
        return wi_graph_fail(graph, WEFT_ERROR_DTYPE, "%s: takes f32%s, not %s", op->name,
            float_only ? "" : " or i32", weft_dtype_name(x->dtype));
    weft_tensor *y = reduce_keep(op, x, mask, op == &wi_op_argmax ? WEFT_I32 : x->dtype);
    return keep ? y : drop_axes(y, mask);
}

/* ---- sum and mean ---- */

static void sum_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    const wi_shape *shape = &y->inputs[0]->shape;
    gradients[0] = weft_expand(g, shape->rank, shape->dims);
}

const wi_op wi_op_sum = {.name = "sum", .kind = WI_REDUCE, .backward = sum_backward};

weft_tensor *weft_sum_axes(weft_tensor *x, const int64_t *axes, bool keep) {
    return reduce(&wi_op_sum, x, axes, keep, false);
}

weft_tensor *weft_mean_axes(weft_tensor *x, const int64_t *axes, bool keep) {
    static const wi_op mean = {.name = "mean"};
    weft_graph *graph = wi_inputs_graph(mean.name, &x, 1);
    uint32_t mask;
    if (!graph || !axes_mask(x, mean.name, axes, &mask)) return NULL;
    if (x->dtype != WEFT_F32)
        return wi_graph_fail(graph, WEFT_ERROR_DTYPE, "mean: takes f32, not %s", weft_dtype_name(x->dtype));
    int64_t count;
    int power;
    wi_axes_count(x, mask, &count, &power);
    weft_tensor *share = wi_constant_power(graph, WEFT_F32, 1.0 / (double)count, -power);
    weft_tensor *mean_value = weft_mul(wi_sum_keep(x, mask), share);
    return keep ? mean_value : drop_axes(mean_value, mask);
}

/* ---- max and argmax ---- */

static void max_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    weft_tensor *x = y->inputs[0];
    weft_tensor *hit = weft_equal(x, y);
    weft_tensor *ties = wi_sum_keep(weft_cast(hit, WEFT_F32), y->attributes.axes);
    gradients[0] = weft_where(hit, weft_div(g, ties), weft_number(g, 0));
}

const wi_op wi_op_max = {.name = "max", .kind = WI_REDUCE, .backward = max_backward};
const wi_op wi_op_argmax = {.name = "argmax", .kind = WI_REDUCE};

weft_tensor *weft_max_axes(weft_tensor *x, const int64_t *axes, bool keep) {
    return reduce(&wi_op_max, x, axes, keep, false);
}

weft_tensor *weft_argmax_axes(weft_tensor *x, const int64_t *axes, bool keep) {
    return reduce(&wi_op_argmax, x, axes, keep, false);
}

/* ---- undoing a broadcast ---- */

weft_tensor *wi_sum_to(weft_tensor *g, const wi_shape *shape) {
    if (!g || wi_shape_equal(&g->shape, shape)) return g;
    if (g->shape.rank < shape->rank) return weft_expand(g, shape->rank, shape->dims);
    uint32_t axes = 0;
    const int extra = g->shape.rank - shape->rank;
    for (int i = 0; i < g->shape.rank; i++) {
        if (i < extra || (shape->dims[i - extra] == 1 && g->shape.dims[i] != 1)) axes |= 1u << i;
    }
    weft_tensor *summed = weft_reshape_shape(
        drop_axes(wi_sum_keep(g, axes), extra ? (1u << extra) - 1 : 0), shape->rank, shape->dims);
    return summed;
}
