/* Adaptive softmax (E. Grave, A. Joulin, M. Cissé, D. Grangier, H. Jégou, "Efficient softmax approximation
 * for GPUs", ICML 2017), with the parameters of torch.nn.AdaptiveLogSoftmaxWithLoss.
 *
 *     class         0 .. cutoff 0        .. cutoff 1          .. classes
 *     head          a logit each         one logit            one logit
 *     tail 0                             width / d → a logit each
 *     tail 1                                                  width / d² → a logit each
 *
 * log p(class) is the log softmax of the head at the class, or for a class of tail i the log softmax of the head at
 * the logit of tail i plus the log softmax of the tail at the class.
 *
 * The sizes of a plan are fixed, but the number of labels in a tail depends on the data. A tail is therefore computed
 * for the fraction `capacity` of the rows: wi_chosen_rows gathers the rows whose label is in the tail, and fills up
 * with other rows, whose label is ignored. With capacity 1 the tail is computed for all rows and gathers none. */
#include "base/portable_math.h"
#include "graph/sizes.h"
#include "nn/class_labels.h"
#include "nn/layer_parameters.h"
#include "ops/index/index.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <weft/losses.h>
#include <weft/nn.h>

typedef struct tail {
    weft_tensor *narrow, *weight; /* (projected width, width), (end - begin, projected width) */
    int64_t begin, end;           /* classes */
    float capacity;               /* fraction of the rows */
} tail;

struct weft_adaptive_softmax {
    wi_class_layer layer;
    weft_tensor *head_weight, *head_bias; /* head_bias may be NULL */
    tail tails[WEFT_MAX_CLUSTERS];
    int count;
};

/* ---- parameters ---- */

static bool check(weft_graph *graph, int64_t width, int64_t classes, const int64_t *cutoffs, size_t count,
    const weft_adaptive_softmax_options *options) {
    bool good = width >= 1 && classes >= 2 && cutoffs && count >= 1 && count <= WEFT_MAX_CLUSTERS;
    for (size_t i = 0; good && i < count; i++)
        good = cutoffs[i] > (i ? cutoffs[i - 1] : 0) && cutoffs[i] < classes;
    if (!good) {
        wi_graph_fail(graph, WEFT_ERROR_ARGUMENT,
            "weft_adaptive_softmax: the cutoffs or the width of x are not valid: expected 1 to %d cutoffs in "
            "ascending order, each from 1 to below the %" PRId64 " classes, and a width of 1 or more",
            WEFT_MAX_CLUSTERS, classes);
        return false;
    }
    const float divisor = options->divisor;
    if (!WI_TAKES_NUMBERS(graph, "weft_adaptive_softmax", {"divisor", (double)divisor})) return false;
    if (!(divisor >= 0) || (divisor > 0 && divisor < 1) || isinf(divisor)) {
        wi_graph_fail(graph, WEFT_ERROR_ARGUMENT, "weft_adaptive_softmax: divisor is %g, expected 1 or more",
            (double)divisor);
        return false;
    }
    for (size_t i = 0; options->capacities && i < count; i++) {
        if (options->capacities[i] > 0 && options->capacities[i] <= 1) continue;
        wi_graph_fail(graph, WEFT_ERROR_ARGUMENT,
            "weft_adaptive_softmax: capacity %zu is %g, expected above 0, at most 1", i,
            (double)options->capacities[i]);
        return false;
    }
    return true;
}

/* Creates a weight (rows, in), or a bias (rows) if rank is 1, that begins as U(±1/sqrt(in)), as in PyTorch. */
static weft_tensor *parameter(
    weft_graph *graph, const char *layer, const char *what, int rank, int64_t rows, int64_t in) {
    const float bound = 1.0f / sqrtf((float)in);
    const weft_initialiser uniform = weft_init_uniform(-bound, bound);
    return wi_layer_parameter(graph, layer, what, &uniform, rank, (const int64_t[]){rows, in});
}

static bool make_parameters(weft_adaptive_softmax *a, const weft_adaptive_softmax_options *options) {
    char name[WI_LAYER_NAME], what[32];
    const double divisor = options->divisor > 0 ? (double)options->divisor : 4;
    const int64_t head = a->tails[0].begin + a->count;
    wi_layer_name(name, a->layer.graph, "adaptive_softmax", options->name);
    a->head_weight = parameter(a->layer.graph, name, "head.weight", 2, head, a->layer.width);
    if (options->head_bias)
        a->head_bias = parameter(a->layer.graph, name, "head.bias", 1, head, a->layer.width);
    for (int i = 0; i < a->count; i++) {
        tail *const t = &a->tails[i];
        const int64_t narrow = (int64_t)((double)a->layer.width / wi_math_pow(divisor, i + 1));
        if (narrow < 1) {
            wi_graph_fail(a->layer.graph, WEFT_ERROR_ARGUMENT,
                "weft_adaptive_softmax: cluster %d would have the width %" PRId64
                " / %g^%d, which is below 1; use fewer cutoffs or a smaller divisor",
                i, a->layer.width, divisor, i + 1);
            return false;
        }
        snprintf(what, sizeof what, "tail.%d.0.weight", i);
        t->narrow = parameter(a->layer.graph, name, what, 2, narrow, a->layer.width);
        snprintf(what, sizeof what, "tail.%d.1.weight", i);
        t->weight = parameter(a->layer.graph, name, what, 2, t->end - t->begin, narrow);
    }
    return weft_graph_status(a->layer.graph) == WEFT_OK;
}

/* ---- the caller's parameters ---- */

/* Checks that a weight is f32 (rows, columns), or (rows) if columns is 0. number: its index in the caller's array
 * `what`, or -1 if `what` is not an array. */
static bool check_weight(const weft_adaptive_softmax *a, const char *what, int number,
    const weft_tensor *weight, int64_t rows, int64_t columns) {
    const wi_shape wanted = {.rank = columns ? 2 : 1, .dims = {rows, columns}};
    char text[WI_SHAPE_TEXT], text_wanted[WI_SHAPE_TEXT], name[48];
    snprintf(name, sizeof name, number < 0 ? "%s" : "%s[%d]", what, number);
    if (!weight || weight->graph != a->layer.graph) {
        wi_graph_fail(a->layer.graph, WEFT_ERROR_ARGUMENT, "weft_adaptive_softmax_with: %s is %s", name,
            weight ? "of another graph" : "NULL");
        return false;
    }
    if (weight->dtype == WEFT_F32 && wi_shape_equal(&weight->shape, &wanted)) return true;
    wi_graph_fail(a->layer.graph, WEFT_ERROR_SHAPE,
        "weft_adaptive_softmax_with: %s is %s %s, expected f32 %s", name, weft_dtype_name(weight->dtype),
        wi_shape_print(weight->graph, &weight->shape, text),
        wi_shape_print(weight->graph, &wanted, text_wanted));
    return false;
}

static bool take_weights(weft_adaptive_softmax *a, const weft_adaptive_softmax_weights *w) {
    const int64_t head = a->tails[0].begin + a->count;
    if (!check_weight(a, "head_weight", -1, w->head_weight, head, a->layer.width) ||
        (w->head_bias && !check_weight(a, "head_bias", -1, w->head_bias, head, 0)))
        return false;
    a->head_weight = w->head_weight, a->head_bias = w->head_bias;
    for (int i = 0; i < a->count; i++) {
        tail *const t = &a->tails[i];
        t->narrow = w->projections ? w->projections[i] : NULL;
        t->weight = w->tail_weights ? w->tail_weights[i] : NULL;
        const int64_t narrow = weft_tensor_dimension(t->narrow, 0);
        if (!check_weight(a, "projections", i, t->narrow, narrow, a->layer.width) ||
            !check_weight(a, "tail_weights", i, t->weight, t->end - t->begin, narrow))
            return false;
    }
    return true;
}

/* ---- the layer ---- */

/* Returns a layer without parameters; NULL: an error was recorded in the graph. */
static weft_adaptive_softmax *make_layer(weft_graph *graph, int64_t width, int64_t classes,
    const int64_t *cutoffs, size_t count, const weft_adaptive_softmax_options *options) {
    if (!check(graph, width, classes, cutoffs, count, options)) return NULL;
    weft_adaptive_softmax *const a = wi_arena_take(&graph->arena, sizeof *a);
    if (!a) {
        wi_graph_fail_recorded(graph, WEFT_ERROR_MEMORY);
        return NULL;
    }
    *a = (weft_adaptive_softmax){
        .layer = {graph, "weft_adaptive_softmax", WI_LABEL_ADAPTIVE_SOFTMAX, width, classes},
        .count = (int)count};
    for (size_t i = 0; i < count; i++)
        a->tails[i] = (tail){.begin = cutoffs[i],
            .end = i + 1 < count ? cutoffs[i + 1] : classes,
            .capacity = options->capacities ? options->capacities[i] : 1};
    return a;
}

static weft_adaptive_softmax *build_layer(weft_graph *graph, int64_t width, int64_t classes,
    const int64_t *cutoffs, size_t count, const weft_adaptive_softmax_options *given) {
    weft_adaptive_softmax_options options;
    if (!graph || !WI_GRAPH_OPTIONS(
                      graph, &options, given, "weft_adaptive_softmax", WEFT_ADAPTIVE_SOFTMAX_OPTIONS_INIT))
        return NULL;
    weft_adaptive_softmax *const a = make_layer(graph, width, classes, cutoffs, count, &options);
    return a && make_parameters(a, &options) ? a : NULL;
}

weft_adaptive_softmax *weft_adaptive_softmax_layer(weft_graph *graph, int64_t width, int64_t classes,
    const int64_t *cutoffs, size_t count, const weft_adaptive_softmax_options *given) {
    wi_call_begin(graph, "weft_adaptive_softmax_layer");
    weft_adaptive_softmax *const made = build_layer(graph, width, classes, cutoffs, count, given);
    wi_call_end(graph, NULL);
    return made;
}

static weft_adaptive_softmax *build_with(int64_t classes, const int64_t *cutoffs, size_t count,
    const weft_adaptive_softmax_weights *weights, const weft_adaptive_softmax_options *given) {
    weft_adaptive_softmax_options options;
    weft_tensor *head = weights ? weights->head_weight : NULL;
    weft_graph *const graph = wi_inputs_graph("weft_adaptive_softmax_with", &head, 1);
    if (!graph || !WI_GRAPH_OPTIONS(graph, &options, given, "weft_adaptive_softmax_with",
                      WEFT_ADAPTIVE_SOFTMAX_OPTIONS_INIT))
        return NULL;
    if (options.name || options.divisor != 0 || options.head_bias) {
        wi_graph_fail(graph, WEFT_ERROR_ARGUMENT,
            "weft_adaptive_softmax_with: the options name, divisor and head_bias must not be set when the "
            "parameters are given");
        return NULL;
    }
    weft_adaptive_softmax *const a =
        make_layer(graph, weft_tensor_dimension(head, -1), classes, cutoffs, count, &options);
    return a && take_weights(a, weights) ? a : NULL;
}

weft_adaptive_softmax *weft_adaptive_softmax_with(int64_t classes, const int64_t *cutoffs, size_t count,
    const weft_adaptive_softmax_weights *weights, const weft_adaptive_softmax_options *given) {
    weft_graph *const graph = weft_tensor_graph(weights ? weights->head_weight : NULL);
    wi_call_begin(graph, "weft_adaptive_softmax_with");
    weft_adaptive_softmax *const made = build_with(classes, cutoffs, count, weights, given);
    wi_call_end(graph, NULL);
    return made;
}

/* ---- shared by training and inference ---- */

static weft_tensor *head_of(const weft_adaptive_softmax *a, weft_tensor *rows) {
    return weft_linear_with(rows, a->head_weight, a->head_bias);
}
static weft_tensor *tail_of(const tail *t, weft_tensor *rows) {
    return weft_linear_with(weft_linear_with(rows, t->narrow, NULL), t->weight, NULL);
}

/* ---- the loss ---- */

static weft_tensor *number(weft_tensor *labels, int64_t value) {
    return weft_number(labels, (double)value);
}
static weft_tensor *at_least(weft_tensor *labels, int64_t value) {
    return weft_less_equal(number(labels, value), labels);
}

/* The labels for the head: a label of tail i becomes the head's index of that tail. A label beyond all classes
 * becomes an index beyond the head's logits, so that it is not counted as a class. */
static weft_tensor *head_labels(const weft_adaptive_softmax *a, weft_tensor *labels) {
    const int64_t own = a->tails[0].begin;
    weft_tensor *result = labels;
    for (int i = 0; i < a->count; i++)
        result = weft_where(at_least(labels, a->tails[i].begin), number(labels, own + i), result);
    return weft_where(at_least(labels, a->layer.classes), number(labels, own + a->count), result);
}

static weft_tensor *summed_losses(weft_tensor *logits, weft_tensor *labels) {
    const weft_class_loss_options options = {WEFT_CLASS_LOSS_OPTIONS_INIT, .reduction = WEFT_LOSS_SUM,
        .ignore = true, .ignored_label = WI_LABEL_IGNORED};
    return weft_cross_entropy_loss(logits, labels, &options);
}

/* The number of rows for which the tail is computed; like `rows`, negative for a multiple of the batch size. */
static int64_t room(const tail *t, int64_t rows) {
    const int64_t many = rows < 0 ? -rows : rows;
    if (t->capacity >= 1) return rows;
    /* a capacity of 7.0f / 18 may be rounded up, but of 18 rows it must give 7, not 8 */
    int64_t most = (int64_t)ceil((double)t->capacity * (double)many * (1 - 1e-6));
    if (most > many) most = many;
    return rows < 0 ? -most : most;
}

static weft_tensor *tail_loss(const tail *t, weft_tensor *x, weft_tensor *labels, int64_t rows) {
    char text[WI_SHAPE_TEXT];
    weft_tensor *inside =
        weft_logical_and(at_least(labels, t->begin), weft_less(labels, number(labels, t->end)));
    weft_tensor *own =
        weft_where(inside, weft_sub(labels, number(labels, t->begin)), number(labels, WI_LABEL_IGNORED));
    const int64_t most = room(t, rows);
    if (most != rows && wi_is_symbolic(rows))
        return wi_graph_fail(x->graph, WEFT_ERROR_UNSUPPORTED,
            "weft_adaptive_softmax: a capacity is %g, expected 1 because plans choose the number of rows of "
            "%s",
            (double)t->capacity, wi_shape_print(x->graph, &x->shape, text));
    if (most != rows) {
        weft_tensor *chosen = wi_chosen_rows(weft_cast(inside, WEFT_I32), most);
        x = weft_index_select(x, 0, chosen);
        own = weft_index_select(own, 0, chosen);
    }
    return summed_losses(tail_of(t, x), own);
}

static weft_tensor *build_adaptive_softmax_loss(
    weft_adaptive_softmax *softmax, weft_tensor *x, weft_tensor *labels) {
    weft_tensor *inputs[] = {x, labels};
    if (!softmax || !wi_inputs_graph("weft_adaptive_softmax", inputs, 2)) return NULL;
    int64_t rows;
    weft_tensor *const flat = wi_class_rows(&softmax->layer, x, &rows);
    labels = flat ? wi_class_labels(&softmax->layer, x, labels, rows) : NULL;
    if (!labels) return NULL;
    weft_tensor *total = summed_losses(head_of(softmax, flat), head_labels(softmax, labels));
    for (int i = 0; i < softmax->count; i++)
        total = weft_add(total, tail_loss(&softmax->tails[i], flat, labels, rows));
    return wi_class_mean(total, labels);
}

weft_tensor *weft_adaptive_softmax_loss(weft_adaptive_softmax *softmax, weft_tensor *x, weft_tensor *labels) {
    return WI_CALL(x, "weft_adaptive_softmax_loss", build_adaptive_softmax_loss(softmax, x, labels));
}

/* ---- log-probabilities of all classes ---- */

static weft_tensor *build_adaptive_softmax_log_prob(weft_adaptive_softmax *softmax, weft_tensor *x) {
    int64_t rows;
    weft_tensor *flat = softmax && x ? wi_class_rows(&softmax->layer, x, &rows) : NULL;
    if (!flat) return NULL;
    const int64_t own = softmax->tails[0].begin;
    weft_tensor *head = weft_log_softmax(head_of(softmax, flat), 1), *parts[WEFT_MAX_CLUSTERS + 1];
    parts[0] = weft_slice(head, 1, 0, own);
    for (int i = 0; i < softmax->count; i++) {
        weft_tensor *within = weft_log_softmax(tail_of(&softmax->tails[i], flat), 1);
        parts[i + 1] = weft_add(within, weft_slice(head, 1, own + i, own + i + 1));
    }
    weft_tensor *all = weft_concat(parts, (size_t)softmax->count + 1, 1);
    wi_shape shape = x->shape;
    shape.dims[shape.rank - 1] = softmax->layer.classes;
    return all ? weft_reshape_shape(all, shape.rank, shape.dims) : NULL;
}

weft_tensor *weft_adaptive_softmax_log_prob(weft_adaptive_softmax *softmax, weft_tensor *x) {
    return WI_CALL(x, "weft_adaptive_softmax_log_prob", build_adaptive_softmax_log_prob(softmax, x));
}
