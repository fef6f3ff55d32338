/* Random numbers: each element is a function of the seed, the node's stream, the number of the run and the element's row-major
 * index, so that it can be computed where it is read, and again in the backward pass. */
#include "base/draws.h"
#include "ops/op_table.h"

const wi_op wi_op_uniform = {
    .name = "uniform", .kind = WI_GENERATOR, .attribute_bytes = sizeof(wi_random_attributes)};
const wi_op wi_op_normal = {
    .name = "normal", .kind = WI_GENERATOR, .attribute_bytes = sizeof(wi_random_attributes)};

static weft_tensor *draw(
    weft_graph *graph, const wi_op *op, float offset, float scale, const wi_shape *shape, uint32_t stream) {
    const wi_attributes attributes = {.random = {.offset = offset, .scale = scale, .stream = stream}};
    return wi_node(graph, op, NULL, 0, WEFT_F32, shape, &attributes);
}

weft_tensor *wi_draw_uniform(weft_graph *graph, const wi_shape *shape, uint32_t stream) {
    return draw(graph, &wi_op_uniform, 0, 1, shape, stream);
}

static weft_tensor *draw_dims(
    weft_graph *graph, const wi_op *op, float offset, float scale, int rank, const int64_t *dims) {
    if (!graph || !wi_takes_number(graph, op->name, (double)offset) ||
        !wi_takes_number(graph, op->name, (double)scale))
        return NULL;
    wi_shape shape = {.rank = rank};
    if (rank < 0 || rank > WEFT_MAX_RANK || (rank > 0 && !dims))
        return wi_graph_fail(graph, WEFT_ERROR_SHAPE, "%s: rank %d is not in 0..%d, or dims is NULL",
            op->name, rank, WEFT_MAX_RANK);
    for (int i = 0; i < rank; i++) shape.dims[i] = dims[i];
    return draw(graph, op, offset, scale, &shape, graph->streams++);
}

weft_tensor *weft_uniform(weft_graph *graph, float low, float high, int rank, const int64_t *dims) {
    if (graph && !wi_uniform_exists(low, high))
        return wi_graph_fail(graph, WEFT_ERROR_ARGUMENT,
            "uniform: from %g to %g; the bounds must be finite and in order", (double)low, (double)high);
    return draw_dims(graph, &wi_op_uniform, low, high - low, rank, dims);
}

weft_tensor *weft_normal(weft_graph *graph, float mean, float deviation, int rank, const int64_t *dims) {
    if (graph && !wi_normal_exists(mean, deviation))
        return wi_graph_fail(graph, WEFT_ERROR_ARGUMENT,
            "normal: mean %g and deviation %g; both must be finite, and the deviation 0 or more",
            (double)mean, (double)deviation);
    return draw_dims(graph, &wi_op_normal, mean, deviation, rank, dims);
}
