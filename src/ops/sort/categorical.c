/* Classes drawn from logits: temperature, the k most probable, the most probable that add up to p. Made of other ops, by
 * inversion: one number u of [0, 1) a row, and the first class whose sum of probabilities exceeds u times the last sum.
 * u is at most 1 - 2^-24, so the product is below the last sum, however it is rounded: a class of probability 0 is never
 * drawn. */
#include "ops/op_table.h"
#include <inttypes.h>
#include <math.h>

static bool check(weft_tensor *logits, double temperature, int64_t top_k, double top_p) {
    char text[WI_SHAPE_TEXT];
    weft_graph *const graph = wi_inputs_graph("categorical", &logits, 1);
    if (!graph) return false;
    const int rank = logits->shape.rank;
    const int64_t classes = rank > 0 ? logits->shape.dims[rank - 1] : 0;
    if (!wi_dtype_is_float(logits->dtype))
        wi_graph_fail(graph, WEFT_ERROR_DTYPE, "categorical: takes %s, not %s",
            wi_dtypes_text(WI_TAKES_FLOATS), weft_dtype_name(logits->dtype));
    else if (classes < 1)
        wi_graph_fail(graph, WEFT_ERROR_SHAPE,
            "categorical: logits %s, expected (..., classes) with a number of classes",
            wi_shape_print(&logits->shape, text));
    else if (!(temperature >= 0) || isinf(temperature))
        wi_graph_fail(graph, WEFT_ERROR_ARGUMENT,
            "categorical: temperature is %g, expected 0 or more and finite", temperature);
    else if (top_k < 0 || top_k > classes)
        wi_graph_fail(graph, WEFT_ERROR_ARGUMENT,
            "categorical: top_k is %" PRId64 ", expected 1 to %" PRId64 " classes, or 0 for all", top_k,
            classes);
    else if (!(top_p > 0 && top_p <= 1))
        wi_graph_fail(graph, WEFT_ERROR_ARGUMENT,
            "categorical: top_p is %g, expected above 0 (0 would leave no class: temperature 0 takes "
            "the most probable) and at most 1 (all)",
            top_p);
    return graph->status == WEFT_OK;
}

/* One number a row: the shape of the logits with 1 class. */
static weft_tensor *draws(const weft_tensor *logits) {
    wi_shape shape = logits->shape;
    shape.dims[shape.rank - 1] = 1;
    return weft_uniform(logits->graph, 0, 1, shape.rank, shape.dims);
}

/* The place of the drawn class among the probabilities, (..., 1); -1 where they are NaN. `sums` are of the classes up to
 * each, of which those count whose sum before them is below top_p. */
static weft_tensor *drawn_place(weft_tensor *probabilities, double top_p) {
    const int axis = probabilities->shape.rank - 1;
    const int64_t axes[] = {axis, WEFT_END};
    weft_tensor *const sums = weft_cumsum(probabilities, axis);
    weft_tensor *counted = sums;
    if (top_p < 1) {
        weft_tensor *const before = weft_cumsum_with(probabilities, axis, true, false);
        counted = weft_where(weft_less(before, weft_number(before, top_p)), sums, weft_number(sums, 0));
    }
    weft_tensor *const total = weft_max_axes(counted, axes, true);
    weft_tensor *const place =
        weft_count_nonzero_axes(weft_less_equal(sums, weft_mul(draws(probabilities), total)), axes, true);
    return weft_where(weft_isnan(total), weft_number(place, -1), place);
}

static weft_tensor *without_last(weft_tensor *x) {
    return x ? weft_squeeze_axes(x, (const int64_t[]){-1, WEFT_END}) : NULL;
}

/* Of sorted logits, by which class stands where; a place of -1 stays. */
static weft_tensor *drawn_of_sorted(weft_tensor *probabilities, weft_tensor *classes, double top_p) {
    const int axis = probabilities ? probabilities->shape.rank - 1 : 0;
    weft_tensor *const place = probabilities ? drawn_place(probabilities, top_p) : NULL;
    if (!place || !classes) return NULL;
    weft_tensor *const chosen = weft_gather(classes, axis, weft_maximum_number(place, 0));
    return weft_where(weft_less_number(place, 0), place, chosen);
}

static weft_tensor *build_categorical(weft_tensor *logits, double temperature, int64_t top_k, double top_p) {
    if (!check(logits, temperature, top_k, top_p)) return NULL;
    const int axis = logits->shape.rank - 1;
    const int64_t axes[] = {axis, WEFT_END}, classes = logits->shape.dims[axis];
    weft_tensor *const x = wi_wide(logits);
    if (temperature <= 0) return weft_argmax_axes(x, axes, false);
    const double scale = 1 / temperature;
    if (top_p >= 1 && (top_k == 0 || top_k == classes))
        return without_last(drawn_place(weft_softmax(weft_mul_number(x, scale), axis), 1));
    const bool all = top_k == 0 || top_k == classes;
    weft_tensor *const sorted = all ? weft_sort(x, axis, true) : weft_topk(x, top_k, axis, true);
    weft_tensor *const order = all ? weft_argsort(x, axis, true) : weft_topk_indices(x, top_k, axis, true);
    return without_last(drawn_of_sorted(weft_softmax(weft_mul_number(sorted, scale), axis), order, top_p));
}

weft_tensor *weft_categorical(weft_tensor *logits, double temperature, int64_t top_k, double top_p) {
    return WI_CALL(logits, "weft_categorical", build_categorical(logits, temperature, top_k, top_p));
}
