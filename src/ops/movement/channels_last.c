/* Channels-last images: shapes are (N, C, spatial...), memory is (N, spatial..., C). Image ops convert their inputs by
 * wi_channels_last and their results by wi_channels_first. Both are views, and one cancels the other. */
#include "ops/movement/memory_order.h"
#include "ops/op_table.h"

/* Moves the axis of channels from one position to another; the order of the other axes stays. */
static weft_tensor *move_channels(weft_tensor *x, int from, int to, uint32_t flags) {
    int8_t order[WEFT_MAX_RANK];
    int next = 0;
    for (int i = 0; i < x->shape.rank; i++) {
        if (next == from) next++;
        order[i] = (int8_t)(i == to ? from : next++);
    }
    return wi_permute(x, order, flags);
}

weft_tensor *wi_channels_last(weft_tensor *x) {
    return x ? move_channels(x, 1, x->shape.rank - 1, WI_TO_MEMORY_ORDER) : NULL;
}
weft_tensor *wi_channels_first(weft_tensor *x) {
    return x ? move_channels(x, x->shape.rank - 1, 1, WI_FROM_MEMORY_ORDER) : NULL;
}

static weft_graph *check(const char *op, weft_tensor *x) {
    weft_graph *graph = wi_inputs_graph(op, &x, 1);
    char text[WI_SHAPE_TEXT];
    if (!graph || x->shape.rank >= 2) return graph;
    wi_graph_fail(graph, WEFT_ERROR_SHAPE, "%s: %s has no axis of channels, rank 2 or more is needed", op,
        wi_shape_print(x->graph, &x->shape, text));
    return NULL;
}

weft_tensor *weft_channels_last(weft_tensor *x) {
    return check("channels_last", x) ? wi_channels_last(x) : NULL;
}
weft_tensor *weft_channels_first(weft_tensor *x) {
    return check("channels_first", x) ? wi_channels_first(x) : NULL;
}
