/* Helpers of the passes that divide nodes. */
#include "plan/rewrite/order.h"

weft_status wi_replace_roots(wi_node_order *order, const wi_root_parts *parts) {
    const wi_request *const request = order->request;
    size_t most = 0, count = 0, output_count = 0;
    for (size_t i = 0; i < order->root_count; i++) most += parts[i].count;
    weft_tensor **const roots = wi_arena_take(request->arena, most * sizeof *roots),
                        **const outputs = wi_arena_take(request->arena, most * sizeof *outputs);
    bool *const follows = wi_arena_take(request->arena, most * sizeof *follows);
    if (!roots || !outputs || !follows) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < order->root_count; i++) {
        for (size_t k = 0; k < parts[i].count; k++) {
            if (i < order->output_count) outputs[output_count++] = order->outputs[i];
            follows[count] = k > 0 || (order->follows && order->follows[i]);
            roots[count++] = parts[i].of[k];
        }
    }
    order->roots = roots;
    order->root_count = count;
    order->outputs = outputs;
    order->output_count = output_count;
    order->follows = follows;
    return WEFT_OK;
}

double wi_node_bytes(const weft_tensor *node, int64_t batch) {
    const wi_extent extent = wi_extent_of(&node->shape, batch);
    return (double)wi_extent_count(&extent).actual * (double)weft_dtype_size(node->dtype);
}

int64_t wi_elements_before(const wi_shape *shape, int axis) {
    int64_t count = 1;
    for (int i = 0; i < axis; i++) count *= shape->dims[i];
    return count;
}
