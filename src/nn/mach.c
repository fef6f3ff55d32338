/* MACH, merged-average classifiers via hashing (T. Medini, Q. Huang, Y. Wang, V. Mohan, A. Shrivastava, "Extreme
 * classification in log memory using count-min sketch", NeurIPS 2019): small classifiers of hashed labels.
 *
 * The two tables of random numbers that define the hash functions are arrays in the graph's arena, from which mach_top.c hashes
 * all classes. The first loss also makes them constants of the graph, which the device reads to hash labels. */
#include "nn/mach.h"
#include "base/splitmix.h"
#include "nn/layer_parameters.h"
#include <inttypes.h>
#include <math.h>
#include <weft/losses.h>
#include <weft/nn.h>

enum { MOST_GROUPS = 4096, MOST_BUCKETS = 1 << 24 };

static bool check(const wi_class_layer *layer, int64_t groups, int64_t buckets) {
    if (!wi_class_layer_good(layer)) return false;
    if (groups >= 1 && groups <= MOST_GROUPS && buckets >= 2 && buckets <= MOST_BUCKETS) return true;
    wi_graph_fail(layer->graph, WEFT_ERROR_ARGUMENT,
        "weft_mach: groups is %" PRId64 " and buckets is %" PRId64 ", expected 1 to %d, and 2 to %d", groups,
        buckets, MOST_GROUPS, MOST_BUCKETS);
    return false;
}

/* ---- hash functions ---- */

static int64_t root_of(int64_t classes) {
    int64_t root = (int64_t)sqrt((double)classes);
    while (root * root < classes) root++;
    return root;
}

/* Uniform in 0 .. buckets - 1, except for a bias of buckets / 2^32. */
static int32_t draw_bucket(uint64_t *state, int64_t buckets) {
    return (int32_t)((wi_splitmix(state) >> 32) * (uint64_t)buckets >> 32);
}

static bool make_hashes(weft_mach *m, uint64_t seed) {
    weft_graph *const graph = m->layer.graph;
    const size_t count = (size_t)(m->root * m->groups);
    m->low = wi_arena_take(&graph->arena, count * sizeof *m->low);
    m->high = wi_arena_take(&graph->arena, count * sizeof *m->high);
    if (!m->low || !m->high) {
        wi_graph_fail_recorded(graph, WEFT_ERROR_MEMORY);
        return false;
    }
    for (size_t i = 0; i < count; i++) m->low[i] = draw_bucket(&seed, m->buckets);
    for (size_t i = 0; i < count; i++) m->high[i] = draw_bucket(&seed, m->buckets);
    return true;
}

int64_t weft_mach_bucket(const weft_mach *mach, int64_t group, int64_t label) {
    if (!mach || group < 0 || group >= mach->groups || label < 0 || label >= mach->layer.classes) return -1;
    const int64_t low = mach->low[label % mach->root * mach->groups + group];
    return (low + mach->high[label / mach->root * mach->groups + group]) % mach->buckets;
}

/* ---- the layer ---- */

static bool make_parameters(weft_mach *m, const weft_mach_options *options) {
    char name[WI_LAYER_NAME];
    const float bound = 1.0f / sqrtf((float)m->layer.width);
    const weft_initialiser uniform = weft_init_uniform(-bound, bound);
    const int64_t dims[] = {m->groups * m->buckets, m->layer.width};
    wi_layer_name(name, m->layer.graph, "mach", options->name);
    m->weight = wi_layer_parameter(m->layer.graph, name, "weight", &uniform, 2, dims);
    if (m->weight && !options->no_bias)
        m->bias = wi_layer_parameter(m->layer.graph, name, "bias", &uniform, 1, dims);
    return m->weight && (m->bias || options->no_bias);
}

static weft_mach *build_layer(weft_graph *graph, int64_t width, int64_t classes, int64_t groups,
    int64_t buckets, const weft_mach_options *given) {
    weft_mach_options options;
    if (!graph || !WI_GRAPH_OPTIONS(graph, &options, given, "weft_mach_layer", WEFT_MACH_OPTIONS_INIT))
        return NULL;
    const wi_class_layer layer = {graph, "weft_mach", WI_LABEL_MACH, width, classes};
    if (!check(&layer, groups, buckets)) return NULL;
    weft_mach *const m = wi_arena_take(&graph->arena, sizeof *m);
    if (!m) {
        wi_graph_fail_recorded(graph, WEFT_ERROR_MEMORY);
        return NULL;
    }
    *m = (weft_mach){.layer = layer, .groups = groups, .buckets = buckets, .root = root_of(classes)};
    return make_hashes(m, options.seed) && make_parameters(m, &options) ? m : NULL;
}

weft_mach *weft_mach_layer(weft_graph *graph, int64_t width, int64_t classes, int64_t groups, int64_t buckets,
    const weft_mach_options *options) {
    wi_call_begin(graph, "weft_mach_layer");
    weft_mach *const made = build_layer(graph, width, classes, groups, buckets, options);
    wi_call_end(graph, NULL);
    return made;
}

/* ---- training ---- */

static bool make_tables(weft_mach *m) {
    const int64_t dims[] = {m->root, m->groups};
    if (!m->low_table) m->low_table = weft_array(m->layer.graph, WEFT_I32, m->low, 2, dims);
    if (!m->high_table) m->high_table = weft_array(m->layer.graph, WEFT_I32, m->high, 2, dims);
    return m->low_table && m->high_table;
}

/* i32 (rows, groups): the bucket of each label in each group; labels are 0 .. classes - 1. Rounding makes the quotient exact: it is a
 * whole number below 2^15, which f32 computes with an error of less than 2^-7. */
static weft_tensor *buckets_of(const weft_mach *m, weft_tensor *labels) {
    weft_tensor *const low = weft_remainder_number(labels, (double)m->root);
    weft_tensor *const quotient =
        weft_div_number(weft_cast(weft_sub(labels, low), WEFT_F32), (double)m->root);
    weft_tensor *const high = weft_cast(weft_round(weft_keep_f32(quotient)), WEFT_I32);
    weft_tensor *const sum =
        weft_add(weft_index_select(m->low_table, 0, low), weft_index_select(m->high_table, 0, high));
    return weft_remainder_number(sum, (double)m->buckets);
}

static weft_tensor *logits_of(const weft_mach *m, weft_tensor *rows) {
    return weft_linear_with(rows, m->weight, m->bias);
}

/* The loss. An ignored label is mapped to bucket -100, which cross-entropy ignores, and a label out of range to a bucket out of range, whose
 * loss is NaN. */
static weft_tensor *build_loss(weft_mach *m, weft_tensor *x, weft_tensor *labels) {
    weft_tensor *const inputs[] = {x, labels};
    if (!m || !wi_inputs_graph("weft_mach", inputs, 2)) return NULL;
    int64_t rows;
    weft_tensor *const flat = wi_class_rows(&m->layer, x, &rows);
    labels = flat ? wi_class_labels(&m->layer, x, labels, rows) : NULL;
    if (!labels || !make_tables(m)) return NULL;
    weft_tensor *const inside = wi_class_inside(&m->layer, labels);
    weft_tensor *const known = weft_where(inside, labels, weft_number(labels, 0));
    weft_tensor *const ignored = weft_equal_number(labels, WI_LABEL_IGNORED);
    weft_tensor *const otherwise =
        weft_where(ignored, weft_number(labels, WI_LABEL_IGNORED), weft_number(labels, (double)m->buckets));
    weft_tensor *const buckets =
        weft_where(weft_unsqueeze(inside, 1), buckets_of(m, known), weft_unsqueeze(otherwise, 1));
    const int64_t all = rows * m->groups;
    const weft_class_loss_options options = {WEFT_CLASS_LOSS_OPTIONS_INIT, .reduction = WEFT_LOSS_SUM,
        .ignore = true, .ignored_label = WI_LABEL_IGNORED};
    weft_tensor *const logits = weft_reshape_shape(logits_of(m, flat), 2, (const int64_t[]){all, m->buckets});
    weft_tensor *const total =
        weft_cross_entropy_loss(logits, weft_reshape_shape(buckets, 1, &all), &options);
    return wi_class_mean(total, labels);
}

weft_tensor *weft_mach_loss(weft_mach *mach, weft_tensor *x, weft_tensor *labels) {
    return WI_CALL(x, "weft_mach_loss", build_loss(mach, x, labels));
}

static weft_tensor *build_probabilities(weft_mach *m, weft_tensor *x) {
    int64_t rows;
    weft_tensor *const flat = m && x ? wi_class_rows(&m->layer, x, &rows) : NULL;
    if (!flat) return NULL;
    wi_shape shape = x->shape;
    if (shape.rank == WEFT_MAX_RANK)
        return wi_graph_fail(m->layer.graph, WEFT_ERROR_SHAPE,
            "weft_mach_probabilities: x has %d axes, expected fewer", shape.rank);
    shape.dims[shape.rank - 1] = m->groups;
    shape.dims[shape.rank++] = m->buckets;
    return weft_softmax(weft_reshape_shape(logits_of(m, flat), shape.rank, shape.dims), -1);
}

weft_tensor *weft_mach_probabilities(weft_mach *mach, weft_tensor *x) {
    return WI_CALL(x, "weft_mach_probabilities", build_probabilities(mach, x));
}
