/* Nodes of norms, their inputs, and the checks of these (contract in normalization_shared.h). */
#include "ops/normalization/normalization_shared.h"
#include "graph/sizes.h"
#include <math.h>

weft_tensor *wi_norm_scale(weft_tensor *variance, double epsilon) {
    weft_tensor *positive = weft_maximum(variance, weft_number(variance, 0));
    return weft_rsqrt(weft_add(positive, weft_number(variance, epsilon)));
}

wi_norm_inputs wi_norm_inputs_of(const weft_tensor *node) {
    const uint32_t given = node->attributes->norm.inputs;
    int next = 1;
    wi_norm_inputs inputs = {.x = node->inputs[0]};
    if (given & WI_NORM_WEIGHT) inputs.weight = node->inputs[next++];
    if (given & WI_NORM_BIAS) inputs.bias = node->inputs[next++];
    if (given & WI_NORM_RUNNING) inputs.mean = node->inputs[next++];
    if (given & WI_NORM_RUNNING) inputs.var = node->inputs[next++];
    if (given & WI_NORM_COUNTS) inputs.batches = node->inputs[next++];
    if (next < node->input_count) inputs.g = node->inputs[next];
    return inputs;
}

int wi_norm_list_inputs(const wi_norm_inputs *from, weft_tensor *list[WI_NORM_INPUTS]) {
    weft_tensor *const all[WI_NORM_INPUTS] = {
        from->x, from->weight, from->bias, from->mean, from->var, from->batches, from->g};
    int count = 0;
    for (int i = 0; i < WI_NORM_INPUTS; i++) {
        if (all[i] || i == 0) list[count++] = all[i];
    }
    return count;
}

weft_tensor *wi_norm_node(const wi_op *op, const wi_norm_inputs *inputs, wi_norm_attributes attributes) {
    weft_tensor *list[WI_NORM_INPUTS];
    const int count = wi_norm_list_inputs(inputs, list);
    if (inputs->weight) attributes.inputs |= WI_NORM_WEIGHT;
    if (inputs->bias) attributes.inputs |= WI_NORM_BIAS;
    if (inputs->mean) attributes.inputs |= WI_NORM_RUNNING;
    if (inputs->batches) attributes.inputs |= WI_NORM_COUNTS;
    return wi_node(inputs->x->graph, op, list, count, inputs->x->dtype, &inputs->x->shape,
        &(wi_attributes){.norm = attributes});
}

bool wi_norm_has_shape(const wi_op *op, const char *what, const weft_tensor *tensor, const wi_shape *shape) {
    char wanted[WI_SHAPE_TEXT], got[WI_SHAPE_TEXT];
    if (!tensor || wi_shape_equal(&tensor->shape, shape)) return true;
    wi_graph_fail(tensor->graph, WEFT_ERROR_SHAPE, "%s: %s is %s, expected %s", op->name, what,
        wi_shape_print(tensor->graph, &tensor->shape, got), wi_shape_print(tensor->graph, shape, wanted));
    return false;
}

/* Casts to the dtype in which kernels calculate. */
static void widen(wi_norm_inputs *inputs) {
    const weft_dtype wide = wi_format_of(inputs->x->dtype)->compute;
    inputs->x = weft_cast(inputs->x, wide);
    if (inputs->weight) inputs->weight = weft_cast(inputs->weight, wide);
    if (inputs->bias) inputs->bias = weft_cast(inputs->bias, wide);
}

weft_graph *wi_norm_check(const wi_op *op, wi_norm_inputs *inputs, const wi_shape *shape, float epsilon) {
    weft_tensor *list[WI_NORM_INPUTS];
    const int count = wi_norm_list_inputs(inputs, list);
    weft_graph *graph = wi_inputs_graph(op->name, list, count);
    if (!graph) return NULL;
    for (int i = 0; i < count; i++) {
        if (!wi_takes_dtype(list[i], op->name, WI_TAKES_FLOATS)) return NULL;
    }
    if (!wi_norm_has_shape(op, "the weight", inputs->weight, shape) ||
        !wi_norm_has_shape(op, "the bias", inputs->bias, shape))
        return NULL;
    widen(inputs);
    if (graph->status != WEFT_OK || !WI_TAKES_NUMBERS(graph, op->name, {"epsilon", (double)epsilon}))
        return NULL;
    if (epsilon >= 0 && !isinf(epsilon)) return graph;
    wi_graph_fail(graph, WEFT_ERROR_ARGUMENT, "%s: epsilon is %g, expected 0 or more and finite", op->name,
        (double)epsilon);
    return NULL;
}

/* ---- groups ---- */

weft_tensor *wi_norm_grouped_image(const weft_tensor *x) {
    if (x->op != &wi_op_reshape) return NULL;
    weft_tensor *const z = x->inputs[0];
    const int64_t *const from = z->shape.dims, *const to = x->shape.dims;
    const bool joins = z->shape.rank >= 3 && z->shape.rank <= 5 && from[0] == to[0] && from[1] > to[1] &&
                       from[1] % to[1] == 0 && !wi_axis_is_symbolic(z, 1);
    return joins ? z : NULL;
}

weft_tensor *wi_norm_for_channels(weft_tensor *v, int64_t channels) {
    if (!v) return NULL;
    const int64_t groups = v->shape.dims[0];
    return weft_flatten_axes(
        weft_expand(weft_unsqueeze(v, 1), 2, (const int64_t[]){groups, channels / groups}), 0, 1);
}
