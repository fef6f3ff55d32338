/* Axes that callers name, and their sizes (contract in node.h). */
#include "graph/weft_graph.h"

int wi_axis_index(const weft_tensor *x, const char *op, int64_t axis) {
    const int64_t index = axis < 0 ? axis + x->shape.rank : axis;
    if (index >= 0 && index < x->shape.rank) return (int)index;
    char text[WI_SHAPE_TEXT];
    wi_graph_fail(x->graph, WEFT_ERROR_SHAPE, "%s: axis %lld is not an axis of %s", op, (long long)axis,
        wi_shape_print(x->graph, &x->shape, text));
    return -1;
}

bool wi_axes_mask(const weft_tensor *x, const char *op, const int64_t *axes, uint32_t *mask) {
    char text[WI_SHAPE_TEXT];
    *mask = 0;
    for (; axes && *axes != WEFT_END; axes++) {
        const int axis = wi_axis_index(x, op, *axes);
        if (axis < 0) return false;
        if (*mask >> axis & 1) {
            wi_graph_fail(x->graph, WEFT_ERROR_SHAPE, "%s: axis %d of %s is given twice; name each axis once",
                op, axis, wi_shape_print(x->graph, &x->shape, text));
            return false;
        }
        *mask |= 1u << axis;
    }
    return true;
}

bool wi_axis_is_symbolic(const weft_tensor *x, int axis) {
    return wi_is_symbolic(x->shape.dims[axis]);
}

void wi_axes_count(const weft_tensor *x, uint32_t axes, int64_t *coefficient, int *power) {
    const wi_shape counted = wi_shape_without(&x->shape, ~axes);
    wi_shape_count(x->graph, &counted, coefficient, power);
}

weft_tensor *wi_axes_share(const weft_tensor *x, weft_dtype dtype, uint32_t axes) {
    int64_t count;
    int power;
    if (!x) return NULL;
    wi_axes_count(x, axes, &count, &power);
    return wi_constant_share(x->graph, dtype, count, power);
}

weft_tensor *weft_size(weft_tensor *x, int axis) {
    char text[WI_SHAPE_TEXT];
    const int index = wi_inputs_graph("size", &x, 1) ? wi_axis_index(x, "size", axis) : -1;
    if (index < 0) return NULL;
    const int64_t size = x->shape.dims[index];
    if (wi_is_symbolic(size) || wi_magnitude(size) <= INT32_MAX)
        return wi_constant_count(x->graph, WEFT_I32, wi_magnitude(size), size < 0);
    return wi_graph_fail(x->graph, WEFT_ERROR_SHAPE, "size: axis %d of %s does not fit into an i32", axis,
        wi_shape_print(x->graph, &x->shape, text));
}
