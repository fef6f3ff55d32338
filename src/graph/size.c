/* weft_size: the size of an axis as a tensor, whose value depends on the batch size and the length of the plan. */
#include "graph/nodes.h"

weft_tensor *weft_size(weft_tensor *x, int axis) {
    char text[WI_SHAPE_TEXT];
    if (!wi_inputs_graph("size", &x, 1)) return NULL;
    const int index = axis < 0 ? axis + x->shape.rank : axis;
    if (index < 0 || index >= x->shape.rank)
        return wi_graph_fail(x->graph, WEFT_ERROR_SHAPE, "size: axis %d is not an axis of %s", axis,
            wi_shape_print(&x->shape, text));
    const int64_t size = x->shape.dims[index];
    if (wi_magnitude(size) > INT32_MAX)
        return wi_graph_fail(x->graph, WEFT_ERROR_SHAPE, "size: axis %d of %s does not fit into an i32", axis,
            wi_shape_print(&x->shape, text));
    return wi_constant_count(x, WEFT_I32, wi_magnitude(size), size < 0);
}
