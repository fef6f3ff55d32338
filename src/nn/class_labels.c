/* Functions that the layers with a loss over many classes share (contract in class_labels.h). */
#include "nn/class_labels.h"
#include "ops/loss/loss.h"
#include "ops/loss/loss_terms.h"
#include <inttypes.h>

enum { MOST_CLASSES = 1 << 30 };

bool wi_class_layer_good(const wi_class_layer *layer) {
    if (layer->width >= 1 && layer->classes >= 2 && layer->classes <= MOST_CLASSES) return true;
    wi_graph_fail(layer->graph, WEFT_ERROR_ARGUMENT,
        "%s: width is %" PRId64 " and classes is %" PRId64 ", expected 1 or more, and 2 to %d", layer->name,
        layer->width, layer->classes, MOST_CLASSES);
    return false;
}

weft_tensor *wi_class_rows(const wi_class_layer *layer, weft_tensor *x, int64_t *rows) {
    char text[WI_SHAPE_TEXT];
    weft_graph *const graph = wi_inputs_graph(layer->name, &x, 1);
    if (!graph) return NULL;
    wi_shape shape = x->shape;
    int64_t count;
    int power;
    if (graph != layer->graph || x->dtype != WEFT_F32 || shape.rank < 1 ||
        shape.dims[shape.rank - 1] != layer->width)
        return wi_graph_fail(graph, WEFT_ERROR_SHAPE,
            "%s: x is %s %s, expected f32 (..., %" PRId64 ") of the layer's graph", layer->name,
            weft_dtype_name(x->dtype), wi_shape_print(x->graph, &shape, text), layer->width);
    shape.rank--;
    wi_shape_count(x->graph, &shape, &count, &power);
    if (power > 1)
        return wi_graph_fail(
            graph, WEFT_ERROR_SHAPE, "%s: more than one axis of x depends on the batch size", layer->name);
    *rows = power ? -count : count;
    return weft_reshape_shape(x, 2, (const int64_t[]){*rows, layer->width});
}

weft_tensor *wi_class_labels(
    const wi_class_layer *layer, const weft_tensor *x, weft_tensor *labels, int64_t rows) {
    char text[WI_SHAPE_TEXT], text_x[WI_SHAPE_TEXT];
    wi_shape wanted = x->shape;
    wanted.rank--;
    if (labels->dtype == WEFT_I32 && wi_loss_shapes_match(&labels->shape, &wanted))
        return wi_label(weft_reshape_shape(labels, 1, &rows), layer->kind, layer->classes, WI_LABEL_IGNORED);
    return wi_graph_fail(layer->graph, WEFT_ERROR_SHAPE,
        "%s: labels are %s %s, expected i32 of the shape of x %s without its last axis", layer->name,
        weft_dtype_name(labels->dtype), wi_shape_print(labels->graph, &labels->shape, text),
        wi_shape_print(x->graph, &x->shape, text_x));
}

weft_tensor *wi_class_inside(const wi_class_layer *layer, weft_tensor *labels) {
    return weft_logical_and(
        weft_greater_equal_number(labels, 0), weft_less(labels, weft_number(labels, (double)layer->classes)));
}

weft_tensor *wi_class_mean(weft_tensor *total, weft_tensor *labels) {
    weft_tensor *const counts = weft_cast(weft_not_equal_number(labels, WI_LABEL_IGNORED), WEFT_F32);
    weft_tensor *const counted = weft_sum(counts);
    return wi_note_mean(weft_div(total, weft_maximum_number(counted, 1)), counted);
}
