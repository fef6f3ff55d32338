/* Cross-entropy of sequences, with classes on the last axis as in the result of recurrent layers, and a mask or lengths. It calls
 * weft_cross_entropy_loss with (positions, classes). */
#include "ops/loss/loss.h"

enum { IGNORED = -100 }; /* PyTorch's default */

static weft_tensor *fail_shapes(
    const weft_tensor *logits, const weft_tensor *labels, const weft_tensor *mask, const char *rule) {
    char text[3][WI_SHAPE_TEXT];
    return wi_graph_fail(logits->graph, WEFT_ERROR_SHAPE,
        "sequence_cross_entropy: logits %s, labels %s%s%s: %s",
        wi_shape_print(logits->graph, &logits->shape, text[0]),
        wi_shape_print(labels->graph, &labels->shape, text[1]), mask ? ", mask " : "",
        mask ? wi_shape_print(mask->graph, &mask->shape, text[2]) : "", rule);
}

/* The labels, but the ignored one where the mask is false. */
static weft_tensor *masked_labels(
    weft_tensor *logits, weft_tensor *labels, weft_tensor *mask, int32_t ignored) {
    weft_tensor *other = weft_number(labels, (double)ignored);
    if (mask->dtype == WEFT_BOOL) {
        wi_shape wide;
        if (!wi_shape_broadcast(&labels->shape, &mask->shape, &wide) ||
            !wi_shape_equal(&wide, &labels->shape))
            return fail_shapes(logits, labels, mask, "the mask does not broadcast to the labels");
        return weft_where(mask, labels, other);
    }
    if (mask->dtype != WEFT_I32)
        return wi_graph_fail(logits->graph, WEFT_ERROR_DTYPE,
            "sequence_cross_entropy: a mask is bool, or i32 lengths, not %s", weft_dtype_name(mask->dtype));
    if (labels->shape.rank != 2 || mask->shape.rank != 1 || mask->shape.dims[0] != labels->shape.dims[0] ||
        labels->shape.dims[1] < 1)
        return fail_shapes(logits, labels, mask, "lengths must be (N) for labels (N, T)");
    const int64_t dims[] = {mask->shape.dims[0], 1};
    weft_tensor *lengths =
        wi_label(weft_reshape_shape(mask, 2, dims), WI_LABEL_LENGTH, labels->shape.dims[1] + 1, INT64_MIN);
    if (!lengths) return NULL;
    weft_tensor *place = wi_coordinate(labels->graph, &labels->shape, 1);
    weft_tensor *most = wi_constant_count(labels->graph, lengths->dtype, labels->shape.dims[1], 0),
                *none = weft_number(lengths, 0);
    weft_tensor *bad = weft_logical_or(weft_less(lengths, none), weft_less(most, lengths));
    weft_tensor *kept = weft_where(weft_less(place, lengths), labels, other);
    return weft_where(bad, weft_number(labels, (double)INT32_MIN), kept);
}

static bool shapes_good(const weft_tensor *logits, const weft_tensor *labels) {
    wi_shape wanted = logits->shape;
    wanted.rank--;
    if (logits->shape.rank >= 1 && logits->shape.dims[wanted.rank] >= 1 &&
        wi_loss_shapes_match(&wanted, &labels->shape))
        return true;
    fail_shapes(logits, labels, NULL,
        "labels must have the shape of the logits without their last axis, the classes");
    return false;
}

static weft_tensor *flat(weft_tensor *x, int64_t rows, int64_t width) {
    return weft_reshape_shape(x, width ? 2 : 1, (const int64_t[]){rows, width});
}

static weft_tensor *build_sequence_cross_entropy_loss(
    weft_tensor *logits, weft_tensor *labels, weft_tensor *mask, const weft_class_loss_options *options) {
    weft_tensor *inputs[] = {logits, labels, mask};
    if (!wi_inputs_graph("sequence_cross_entropy", inputs, mask ? 3 : 2)) return NULL;
    if (labels->dtype != WEFT_I32)
        return wi_graph_fail(logits->graph, WEFT_ERROR_DTYPE,
            "sequence_cross_entropy: labels are i32, not %s", weft_dtype_name(labels->dtype));
    if (!shapes_good(logits, labels)) return NULL;
    weft_class_loss_options own;
    if (!WI_GRAPH_OPTIONS(
            logits->graph, &own, options, "sequence_cross_entropy", WEFT_CLASS_LOSS_OPTIONS_INIT))
        return NULL;
    if (!own.ignore) own.ignored_label = IGNORED;
    own.ignore = true;
    wi_shape shape = logits->shape;
    shape.rank--;
    labels = weft_reshape_shape(labels, shape.rank, shape.dims);
    int64_t count;
    int power;
    wi_shape_count(labels->graph, &shape, &count, &power);
    if (power > 1) return fail_shapes(logits, labels, NULL, "more than one axis depends on the batch size");
    const int64_t rows = power ? -count : count, classes = logits->shape.dims[shape.rank];
    if (mask && labels) labels = masked_labels(logits, labels, mask, own.ignored_label);
    if (!labels) return NULL;
    weft_tensor *loss = weft_cross_entropy_loss(flat(logits, rows, classes), flat(labels, rows, 0), &own);
    const bool losses = loss && own.reduction == WEFT_LOSS_NONE;
    return losses ? weft_reshape_shape(loss, shape.rank, shape.dims) : loss;
}

weft_tensor *weft_sequence_cross_entropy_loss(
    weft_tensor *logits, weft_tensor *labels, weft_tensor *mask, const weft_class_loss_options *options) {
    return WI_CALL(logits, "weft_sequence_cross_entropy_loss",
        build_sequence_cross_entropy_loss(logits, labels, mask, options));
}

weft_tensor *weft_sequence_cross_entropy(weft_tensor *logits, weft_tensor *labels, weft_tensor *mask) {
    return WI_CALL(
        logits, "weft_sequence_cross_entropy", weft_sequence_cross_entropy_loss(logits, labels, mask, NULL));
}
