/* Sampled softmax (S. Jean, K. Cho, R. Memisevic, Y. Bengio, "On using very large target vocabulary for neural machine
 * translation", ACL 2015): the logits of the labels and of a few drawn classes.
 *
 * The loss is that of classifying the label among the drawn classes and itself. Subtracting the logarithm of the expected
 * count from each logit, the label's included, makes the minimum of this loss the logits of the full softmax, up to a number
 * that is the same for all classes. The factor `samples` of the expected count cancels.
 *
 * A uniform number has 24 bits, and would reach only some of more than 2^24 classes. A second uniform number therefore
 * moves each draw by a small part of its value, which spreads it over the classes that the first one cannot distinguish. */
#include "nn/sampled_softmax.h"
#include "nn/class_labels.h"
#include "nn/layer_parameters.h"
#include <inttypes.h>
#include <math.h>
#include <weft/classes.h>
#include <weft/losses.h>
#include <weft/nn.h>

enum { MOST_SAMPLES = 1 << 24 };
/* Uniform draws of more classes than SPREAD are moved by up to SPREAD classes: of 2^30 classes, two neighbouring 24-bit
 * numbers are 64 classes apart, so that each class is reached from about 1024 of them. */
enum { SPREAD = 1 << 16 };

struct weft_sampled_softmax {
    wi_class_layer layer;
    int64_t samples;
    weft_class_proposal proposal;
    weft_tensor *weight, *bias; /* (classes, width), (classes, 1); bias may be NULL */
};

/* ---- parameters ---- */

static bool check(weft_graph *graph, const wi_class_layer *layer, int64_t samples,
    const weft_sampled_softmax_options *options) {
    if (!wi_class_layer_good(layer)) return false;
    if (samples < 1 || samples > MOST_SAMPLES) {
        wi_graph_fail(graph, WEFT_ERROR_ARGUMENT,
            "weft_sampled_softmax: samples is %" PRId64 ", expected 1 to %d", samples, MOST_SAMPLES);
        return false;
    }
    if (options->proposal == WEFT_PROPOSAL_LOG_UNIFORM || options->proposal == WEFT_PROPOSAL_UNIFORM)
        return true;
    wi_graph_fail(graph, WEFT_ERROR_ARGUMENT,
        "weft_sampled_softmax: proposal is %d, expected WEFT_PROPOSAL_LOG_UNIFORM or WEFT_PROPOSAL_UNIFORM",
        (int)options->proposal);
    return false;
}

/* The caller's parameter, marked for updates by rows; NULL: an error was recorded. */
static weft_tensor *given_weight(
    const wi_class_layer *layer, weft_tensor *weight, const weft_sampled_softmax_options *options) {
    const wi_shape wanted = {.rank = 2, .dims = {layer->classes, layer->width}};
    char text[WI_SHAPE_TEXT], text_wanted[WI_SHAPE_TEXT];
    if (options->initialiser || weight->graph != layer->graph || weight->op != &wi_op_parameter)
        return wi_graph_fail(layer->graph, WEFT_ERROR_ARGUMENT, "%s: %s", layer->name,
            options->initialiser ? "the option initialiser must not be set when the weight is given"
            : weight->graph != layer->graph ? "the weight belongs to another graph"
                                            : "the weight must be a parameter");
    if (weight->dtype != WEFT_F32 || !wi_shape_equal(&weight->shape, &wanted))
        return wi_graph_fail(layer->graph, WEFT_ERROR_SHAPE, "%s: the weight is %s %s, expected f32 %s",
            layer->name, weft_dtype_name(weight->dtype), wi_shape_print(weight->graph, &weight->shape, text),
            wi_shape_print(weight->graph, &wanted, text_wanted));
    weight->variable->sparse = true;
    return weight;
}

static weft_tensor *created(const wi_class_layer *layer, const char *name, const char *what, int64_t width,
    const weft_initialiser *initialiser) {
    weft_tensor *const made = wi_layer_parameter(
        layer->graph, name, what, initialiser, 2, (const int64_t[]){layer->classes, width});
    if (made) made->variable->sparse = true;
    return made;
}

static bool make_parameters(weft_sampled_softmax *s, const weft_sampled_softmax_options *options) {
    char name[WI_LAYER_NAME];
    const float bound = 1.0f / sqrtf((float)s->layer.width);
    const weft_initialiser uniform = weft_init_uniform(-bound, bound), zeros = weft_zeros();
    wi_layer_name(name, s->layer.graph, "sampled_softmax", options->name);
    s->weight = options->weight ? given_weight(&s->layer, options->weight, options)
                                : created(&s->layer, name, "weight", s->layer.width,
                                      options->initialiser ? options->initialiser : &uniform);
    if (s->weight && options->bias) s->bias = created(&s->layer, name, "bias", 1, &zeros);
    return s->weight && (s->bias || !options->bias);
}

static weft_sampled_softmax *build_layer(weft_graph *graph, int64_t width, int64_t classes, int64_t samples,
    const weft_sampled_softmax_options *given) {
    weft_sampled_softmax_options options;
    if (!graph || !WI_GRAPH_OPTIONS(graph, &options, given, "weft_sampled_softmax_layer",
                      WEFT_SAMPLED_SOFTMAX_OPTIONS_INIT))
        return NULL;
    const wi_class_layer layer = {graph, "weft_sampled_softmax", WI_LABEL_SAMPLED_SOFTMAX, width, classes};
    if (!check(graph, &layer, samples, &options)) return NULL;
    weft_sampled_softmax *const s = wi_arena_take(&graph->arena, sizeof *s);
    if (!s) {
        wi_graph_fail_recorded(graph, WEFT_ERROR_MEMORY);
        return NULL;
    }
    *s = (weft_sampled_softmax){.layer = layer, .samples = samples, .proposal = options.proposal};
    return make_parameters(s, &options) ? s : NULL;
}

weft_sampled_softmax *weft_sampled_softmax_layer(weft_graph *graph, int64_t width, int64_t classes,
    int64_t samples, const weft_sampled_softmax_options *options) {
    wi_call_begin(graph, "weft_sampled_softmax_layer");
    weft_sampled_softmax *const made = build_layer(graph, width, classes, samples, options);
    wi_call_end(graph, NULL);
    return made;
}

/* ---- draws ---- */

/* The inverse of the distribution function, (classes + 1)^u - 1. A draw of at least 2048 is moved by up to a 2048th of its
 * value to either side. Neighbouring 24-bit numbers are at most a 2^19th of the value apart. */
static weft_tensor *draw_log_uniform(weft_graph *graph, int64_t classes, int64_t samples) {
    weft_tensor *const u = weft_uniform(graph, 0, 1, 1, &samples);
    weft_tensor *const move = weft_uniform(graph, -0x1p-11f, 0x1p-11f, 1, &samples);
    weft_tensor *const x = weft_keep_f32(weft_exp(weft_mul_number(u, log1p((double)classes))));
    weft_tensor *const moved =
        weft_add(weft_cast(x, WEFT_I32), weft_cast(weft_keep_f32(weft_mul(x, move)), WEFT_I32));
    /* moved is the class + 1; a class beyond the last one is reflected at the last one */
    weft_tensor *const beyond = weft_abs(weft_sub(weft_number(moved, (double)classes), moved));
    return weft_maximum_number(weft_sub(weft_number(beyond, (double)(classes - 1)), beyond), 0);
}

static weft_tensor *draw_uniform(weft_graph *graph, int64_t classes, int64_t samples) {
    weft_tensor *const u = weft_keep_f32(weft_uniform(graph, 0, (float)classes, 1, &samples));
    weft_tensor *drawn = weft_cast(u, WEFT_I32), *const end = weft_number(drawn, (double)classes);
    if (classes > SPREAD)
        drawn =
            weft_add(drawn, weft_cast(weft_keep_f32(weft_uniform(graph, 0, SPREAD, 1, &samples)), WEFT_I32));
    return weft_where(weft_less(drawn, end), drawn, weft_sub(drawn, end));
}

weft_tensor *wi_sampled_classes(
    weft_graph *graph, int64_t classes, int64_t samples, weft_class_proposal proposal) {
    return (proposal == WEFT_PROPOSAL_UNIFORM ? draw_uniform : draw_log_uniform)(graph, classes, samples);
}

/* log p(c) + log log(classes + 1), where p is log-uniform: the second term is the same for all classes, and cancels. */
static weft_tensor *log_share(weft_tensor *classes) {
    weft_tensor *const rank = weft_add_number(weft_cast(classes, WEFT_F32), 1);
    return weft_keep_f32(weft_log(weft_log1p(weft_reciprocal(rank))));
}

static weft_tensor *corrected(const weft_sampled_softmax *s, weft_tensor *logits, weft_tensor *classes) {
    return s->proposal == WEFT_PROPOSAL_UNIFORM ? logits : weft_sub(logits, log_share(classes));
}

/* ---- the loss ---- */

/* The bias of the classes (n) → (n); NULL: there is none. */
static weft_tensor *bias_of(const weft_sampled_softmax *s, weft_tensor *classes) {
    return s->bias ? weft_reshape_shape(
                         weft_embedding_with(s->bias, classes), 1, (const int64_t[]){classes->shape.dims[0]})
                   : NULL;
}

/* The corrected logits of each row's label: (rows). */
static weft_tensor *label_logits(const weft_sampled_softmax *s, weft_tensor *x, weft_tensor *labels) {
    weft_tensor *const bias = bias_of(s, labels);
    weft_tensor *const products = weft_mul(x, weft_embedding_with(s->weight, labels));
    weft_tensor *const z = weft_sum(products, 1);
    return corrected(s, bias ? weft_add(z, bias) : z, labels);
}

/* log of the sum over the drawn classes of exp(corrected logit), without those that are the row's label: (rows). If all are,
 * the number is finite, because the gradient of a sum of zeros would be NaN. */
static weft_tensor *drawn_logits(
    const weft_sampled_softmax *s, weft_tensor *x, weft_tensor *labels, weft_tensor *drawn) {
    weft_tensor *const z =
        weft_linear_with(x, weft_embedding_with(s->weight, drawn), bias_of(s, drawn)); /* (rows, samples) */
    weft_tensor *const hits = weft_equal(weft_unsqueeze(labels, 1), weft_unsqueeze(drawn, 0));
    return weft_logsumexp(weft_masked_fill(corrected(s, z, drawn), hits, -1e30), 1);
}

weft_tensor *wi_sampled_softmax_loss_of(
    weft_sampled_softmax *s, weft_tensor *x, weft_tensor *labels, weft_tensor *drawn) {
    weft_tensor *const inputs[] = {x, labels};
    if (!s || !wi_inputs_graph("weft_sampled_softmax", inputs, 2)) return NULL;
    int64_t rows;
    weft_tensor *const flat = wi_class_rows(&s->layer, x, &rows);
    labels = flat ? wi_class_labels(&s->layer, x, labels, rows) : NULL;
    if (!labels || !drawn) return NULL;
    weft_tensor *const inside = wi_class_inside(&s->layer, labels);
    weft_tensor *const known = weft_where(inside, labels, weft_number(labels, 0));
    weft_tensor *const losses =
        weft_softplus(weft_sub(drawn_logits(s, flat, known, drawn), label_logits(s, flat, known)));
    weft_tensor *const ignored = weft_equal_number(labels, WI_LABEL_IGNORED);
    weft_tensor *const otherwise =
        weft_where(ignored, weft_number(losses, 0), weft_number(losses, (double)NAN));
    return wi_class_mean(weft_sum(weft_where(inside, losses, otherwise)), labels);
}

static weft_tensor *build_loss(weft_sampled_softmax *s, weft_tensor *x, weft_tensor *labels) {
    if (!s) return NULL;
    weft_tensor *const drawn = wi_sampled_classes(s->layer.graph, s->layer.classes, s->samples, s->proposal);
    return wi_sampled_softmax_loss_of(s, x, labels, drawn);
}

weft_tensor *weft_sampled_softmax_loss(weft_sampled_softmax *softmax, weft_tensor *x, weft_tensor *labels) {
    return WI_CALL(x, "weft_sampled_softmax_loss", build_loss(softmax, x, labels));
}

/* ---- the logits of all classes ---- */

static weft_tensor *build_logits(weft_sampled_softmax *s, weft_tensor *x) {
    int64_t rows;
    weft_tensor *const flat = s && x ? wi_class_rows(&s->layer, x, &rows) : NULL;
    if (!flat) return NULL;
    weft_tensor *const bias =
        s->bias ? weft_reshape_shape(weft_stop_gradient(s->bias), 1, &s->layer.classes) : NULL;
    weft_tensor *const all = weft_linear_with(flat, weft_stop_gradient(s->weight), bias);
    wi_shape shape = x->shape;
    shape.dims[shape.rank - 1] = s->layer.classes;
    return all ? weft_reshape_shape(all, shape.rank, shape.dims) : NULL;
}

weft_tensor *weft_sampled_softmax_logits(weft_sampled_softmax *softmax, weft_tensor *x) {
    return WI_CALL(x, "weft_sampled_softmax_logits", build_logits(softmax, x));
}
