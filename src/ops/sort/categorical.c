/* Classes drawn from logits, with temperature, top-k, top-p and min-p, by other ops. For each row a number u in [0, 1) is drawn; the
 * class is the first one whose cumulative probability exceeds u times the last cumulative probability. u is at most 1 - 2^-24, so that
 * the product is below the last one in spite of rounding: a class of probability 0 is never drawn. */
#include "base/options.h"
#include "base/portable_math.h"
#include "graph/sizes.h"
#include "ops/op_table.h"
#include "ops/prediction_form.h"
#include <float.h>
#include <inttypes.h>
#include <math.h>

typedef struct choice {
    double temperature, top_p, min_p;
    int64_t top_k;
} choice;

static bool check(weft_tensor *logits, const choice *c) {
    const double temperature = c->temperature, top_p = c->top_p;
    const int64_t top_k = c->top_k;
    char text[WI_SHAPE_TEXT];
    weft_graph *const graph = wi_inputs_graph("categorical", &logits, 1);
    if (!graph || !WI_TAKES_NUMBERS(graph, "categorical", {"temperature", temperature})) return false;
    const int rank = logits->shape.rank;
    const int64_t classes = rank > 0 ? logits->shape.dims[rank - 1] : 0;
    if (!wi_dtype_is_float(logits->dtype))
        wi_graph_fail(graph, WEFT_ERROR_DTYPE, "categorical: takes %s, not %s",
            wi_dtypes_text(WI_TAKES_FLOATS), weft_dtype_name(logits->dtype));
    else if (classes < 1)
        wi_graph_fail(graph, WEFT_ERROR_SHAPE,
            "categorical: the logits are %s, expected (..., classes) with a fixed number of classes",
            wi_shape_print(logits->graph, &logits->shape, text));
    else if (!(temperature >= 0) || isinf(temperature))
        wi_graph_fail(graph, WEFT_ERROR_ARGUMENT,
            "categorical: temperature is %g, expected 0 or more and finite", temperature);
    else if (top_k < 0 || top_k > classes)
        wi_graph_fail(graph, WEFT_ERROR_ARGUMENT,
            "categorical: top_k is %" PRId64 ", expected 1 to %" PRId64 " classes, or 0 for all", top_k,
            classes);
    else if (!(top_p > 0 && top_p <= 1))
        wi_graph_fail(graph, WEFT_ERROR_ARGUMENT,
            "categorical: top_p is %g, expected above 0 and at most 1 (all classes); use temperature 0 to "
            "always get the most probable class",
            top_p);
    else if (!(c->min_p >= 0 && c->min_p < 1))
        wi_graph_fail(graph, WEFT_ERROR_ARGUMENT,
            "categorical: min_p is %g, expected at least 0 (all classes) and below 1", c->min_p);
    return graph->status == WEFT_OK && wi_takes_logits("categorical", logits);
}

/* A random number for each row. */
static weft_tensor *draws(const weft_tensor *logits) {
    wi_shape shape = logits->shape;
    shape.dims[shape.rank - 1] = 1;
    return weft_uniform(logits->graph, 0, 1, shape.rank, shape.dims);
}

/* The logits minus the largest one of their row, divided by the temperature. */
static weft_tensor *cooled(weft_tensor *x, double temperature) {
    if (!x) return NULL;
    weft_tensor *const top = wi_max_keep(x, 1u << (x->shape.rank - 1));
    return weft_mul_number(weft_sub(x, top), fmin(1 / temperature, (double)FLT_MAX));
}

/* The index of the drawn class, (..., 1); -1 if the logits have NaN. With top_p, a class can be drawn only if the
 * cumulative probability of the classes before it is below top_p. With min_p, a class has probability 0 if it is less
 * than min_p times as probable as the most probable class. */
static weft_tensor *drawn_place(weft_tensor *x, const choice *c) {
    if (!x) return NULL;
    const int axis = x->shape.rank - 1;
    const int64_t axes[] = {axis, WEFT_END};
    weft_tensor *const all = weft_softmax(x, axis), *probabilities = all;
    if (c->min_p > 0)
        probabilities =
            weft_where(weft_less(x, weft_number(x, wi_math_log(c->min_p))), weft_number(x, 0), all);
    weft_tensor *const sums = weft_cumsum(probabilities, axis);
    weft_tensor *counted = sums;
    if (c->top_p < 1) {
        weft_tensor *const before = weft_cumsum_with(all, axis, true, false);
        counted = weft_where(weft_less(before, weft_number(before, c->top_p)), sums, weft_number(sums, 0));
    }
    weft_tensor *const total = weft_max_axes(counted, axes, true);
    weft_tensor *const place =
        weft_count_nonzero_axes(weft_less_equal(sums, weft_mul(draws(x), total)), axes, true);
    return weft_where(weft_isnan(total), weft_number(place, -1), place);
}

static weft_tensor *without_last(weft_tensor *x) {
    return x ? weft_squeeze_axes(x, (const int64_t[]){-1, WEFT_END}) : NULL;
}

/* The class drawn from sorted logits; `classes` has the class of each sorted logit. An index of -1 is returned as it is. */
static weft_tensor *drawn_of_sorted(weft_tensor *x, weft_tensor *classes, const choice *c) {
    weft_tensor *const place = drawn_place(x, c);
    if (!place || !classes) return NULL;
    weft_tensor *const chosen = weft_gather(classes, x->shape.rank - 1, weft_maximum_number(place, 0));
    return weft_where(weft_less_number(place, 0), place, chosen);
}

/* Sorts and cumulative sums do not support f64. f64 logits are rounded after subtracting the largest, so that none overflows. */
static weft_tensor *in_f32(weft_tensor *logits) {
    if (logits->dtype != WEFT_F64) return wi_wide(logits);
    return weft_cast(weft_sub(logits, wi_max_keep(logits, 1u << (logits->shape.rank - 1))), WEFT_F32);
}

static weft_tensor *build_categorical(weft_tensor *logits, const choice *c) {
    if (!check(logits, c)) return NULL;
    const int axis = logits->shape.rank - 1;
    const int64_t axes[] = {axis, WEFT_END}, classes = logits->shape.dims[axis];
    const bool all = c->top_k == 0 || c->top_k == classes;
    if (c->temperature <= 0) return weft_argmax_axes(wi_wide(logits), axes, false);
    weft_tensor *const x = in_f32(logits);
    if (c->top_p >= 1 && all) return without_last(drawn_place(cooled(x, c->temperature), c));
    weft_tensor *const sorted = all ? weft_sort(x, axis, true) : weft_topk(x, c->top_k, axis, true);
    weft_tensor *const order = all ? weft_argsort(x, axis, true) : weft_topk_indices(x, c->top_k, axis, true);
    return without_last(drawn_of_sorted(cooled(sorted, c->temperature), order, c));
}

weft_tensor *weft_categorical_with(weft_tensor *logits, const weft_categorical_options *options) {
    weft_categorical_options own;
    weft_graph *const graph = wi_inputs_graph("categorical", &logits, 1);
    if (!graph || !WI_GRAPH_OPTIONS(graph, &own, options, "categorical", WEFT_CATEGORICAL_OPTIONS_INIT))
        return NULL;
    const choice c = {.temperature = (double)WI_OPTION(own.temperature, 1),
        .top_k = own.top_k,
        .top_p = own.top_p != 0 ? (double)own.top_p : 1,
        .min_p = (double)own.min_p};
    return WI_CALL(logits, "weft_categorical_with", build_categorical(logits, &c));
}

weft_tensor *weft_categorical(weft_tensor *logits, double temperature, int64_t top_k, double top_p) {
    const choice c = {.temperature = temperature, .top_k = top_k, .top_p = top_p};
    return WI_CALL(logits, "weft_categorical", build_categorical(logits, &c));
}
