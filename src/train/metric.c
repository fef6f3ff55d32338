/* Metrics on the host. Each kind has sums in float64, to which rows of outputs are added, and a formula over the sums. A
 * row counts as much as its weight, or 1 without weights. The *answer* is the class that the outputs of a row predict.
 * The sums are:
 *
 *   accuracy, top-k         correct rows, rows
 *   perplexity              sum of -log softmax, rows
 *   precision, recall, F1   for each class: correct rows, answers, labels
 *   confusion               count of [label][answer]
 *   mean absolute error     sum of errors, numbers
 *   R²                      rows; for each column: mean, sum of squares about the mean (Welford 1962), squared error
 *
 * Definitions are those of scikit-learn with zero_division=0: a macro average is over the classes that occur, and R² of
 * a constant target is 1 if all outputs equal the target, and 0 otherwise. */
#include "train/metric.h"
#include "base/options.h"
#include "cl/context.h"
#include "graph/sizes.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { IGNORED_LABEL = -100 }; /* as in cross-entropy */

struct weft_metric_state {
    weft_context *context;
    weft_metric metric;
    size_t width, classes;
    int32_t ignored; /* the label that does not count */
    bool is_weighted;
    double *sums;
    size_t count; /* of sums */
};

/* ---- values ---- */

weft_metric weft_metric_accuracy(void) {
    return (weft_metric){.kind = WEFT_ACCURACY};
}
weft_metric weft_metric_top_k(int64_t k) {
    return (weft_metric){.kind = WEFT_TOP_K, .k = k};
}
weft_metric weft_metric_confusion(void) {
    return (weft_metric){.kind = WEFT_CONFUSION};
}
weft_metric weft_metric_precision(weft_average average) {
    return (weft_metric){.kind = WEFT_PRECISION, .average = average};
}
weft_metric weft_metric_recall(weft_average average) {
    return (weft_metric){.kind = WEFT_RECALL, .average = average};
}
weft_metric weft_metric_f1(weft_average average) {
    return (weft_metric){.kind = WEFT_F1, .average = average};
}
weft_metric weft_metric_mean_absolute_error(void) {
    return (weft_metric){.kind = WEFT_MEAN_ABSOLUTE_ERROR};
}
weft_metric weft_metric_r_squared(void) {
    return (weft_metric){.kind = WEFT_R_SQUARED};
}
weft_metric weft_metric_perplexity(void) {
    return (weft_metric){.kind = WEFT_PERPLEXITY};
}

bool wi_metric_takes_values(weft_metric_kind kind) {
    return kind == WEFT_MEAN_ABSOLUTE_ERROR || kind == WEFT_R_SQUARED;
}

bool wi_metric_goes_down(weft_metric_kind kind) {
    return kind == WEFT_MEAN_ABSOLUTE_ERROR || kind == WEFT_PERPLEXITY;
}

static bool is_per_class(weft_metric_kind kind) {
    return kind == WEFT_PRECISION || kind == WEFT_RECALL || kind == WEFT_F1;
}

weft_status wi_metric_check(const weft_metric *metric) {
    if (metric->kind < WEFT_ACCURACY || metric->kind > WEFT_PERPLEXITY)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "metric: kind is %d, not a weft_metric_kind", (int)metric->kind);
    if ((unsigned)metric->average > WEFT_AVERAGE_BINARY)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "metric: average is %d, not a weft_average", (int)metric->average);
    WI_TRY(WI_CHECK_NUMBERS(
        "metric", {"k", (double)metric->k}, {"ignored_label", (double)metric->ignored_label}));
    if (metric->kind == WEFT_TOP_K && metric->k < 1)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "metric: top-k: k is %" PRId64 ", expected 1 or more", metric->k);
    if (metric->name && (!*metric->name || strlen(metric->name) >= WI_METRIC_NAME))
        WI_FAIL(WEFT_ERROR_ARGUMENT, "metric: the name '%.80s' is not 1 to %d bytes long", metric->name,
            WI_METRIC_NAME - 1);
    return WEFT_OK;
}

void wi_metric_name(const weft_metric *metric, char name[WI_METRIC_NAME]) {
    static const char *const names[] = {"", "accuracy", "", "confusion", "precision", "recall", "f1",
        "mean_absolute_error", "r_squared", "perplexity"};
    if (metric->name)
        snprintf(name, WI_METRIC_NAME, "%s", metric->name);
    else if (metric->kind == WEFT_TOP_K)
        snprintf(name, WI_METRIC_NAME, "top_%" PRId64, metric->k);
    else
        snprintf(name, WI_METRIC_NAME, "%s", names[metric->kind]);
}

/* ---- states ---- */

static weft_status check_width(const weft_metric *metric, int64_t width) {
    const int64_t classes = width == 1 ? 2 : width;
    if (width < 1 || width > INT32_MAX)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_metric_create: width is %" PRId64 ", expected 1 to %d", width,
            INT32_MAX);
    if (metric->kind == WEFT_TOP_K && metric->k > classes)
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "weft_metric_create: top-k: k is %" PRId64 " of only %" PRId64 " classes", metric->k, classes);
    if (is_per_class(metric->kind) && metric->average == WEFT_AVERAGE_BINARY && classes != 2)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_metric_create: a binary average needs 2 classes, not %" PRId64,
            classes);
    if (metric->kind == WEFT_PERPLEXITY && width == 1)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_metric_create: perplexity needs a width of one logit per class");
    return WEFT_OK;
}

static size_t sum_count(const weft_metric_state *state) {
    if (is_per_class(state->metric.kind)) return 3 * state->classes;
    if (state->metric.kind == WEFT_R_SQUARED) return 1 + 3 * state->width;
    return 2;
}

static weft_status make_sums(weft_metric_state *state) {
    const weft_allocator *const allocator = state->context ? state->context->allocator : NULL;
    const bool square = state->metric.kind == WEFT_CONFUSION;
    state->count = square ? state->classes * state->classes : sum_count(state);
    state->sums = wi_allocate_array(allocator, state->count, sizeof *state->sums);
    return state->sums ? WEFT_OK : WEFT_ERROR_MEMORY;
}

weft_status weft_metric_create(
    weft_metric_state **state, weft_context *context, const weft_metric *metric, int64_t width) {
    if (!state) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_metric_create: state is NULL");
    *state = NULL;
    if (!metric) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_metric_create: metric is NULL");
    WI_TRY(wi_metric_check(metric));
    WI_TRY(check_width(metric, width));
    weft_metric_state *const made = wi_allocate(context ? context->allocator : NULL, sizeof *made);
    if (!made) return WEFT_ERROR_MEMORY;
    made->context = weft_context_retain(context);
    made->metric = (weft_metric){.kind = metric->kind, .average = metric->average, .k = metric->k};
    made->width = (size_t)width;
    made->ignored = metric->ignore ? metric->ignored_label : IGNORED_LABEL;
    made->classes = width == 1 ? 2 : (size_t)width;
    const weft_status status = make_sums(made);
    if (status != WEFT_OK) {
        weft_metric_release(made);
        return status;
    }
    *state = made;
    return WEFT_OK;
}

void weft_metric_release(weft_metric_state *state) {
    if (!state) return;
    weft_context *const context = state->context;
    wi_release(context ? context->allocator : NULL, state->sums);
    wi_release(context ? context->allocator : NULL, state);
    weft_context_release(context);
}

void weft_metric_reset(weft_metric_state *state) {
    for (size_t i = 0; state && i < state->count; i++) state->sums[i] = 0.0;
}

double *wi_metric_sums(weft_metric_state *state, size_t *count) {
    *count = state->count;
    return state->sums;
}

/* ---- rows with labels ---- */

/* PyTorch's order: NaN is larger than every number, and the first of equals comes first. */
static bool comes_before(float a, float b) {
    return isnan(a) ? !isnan(b) : a > b;
}

static size_t answer_of(const weft_metric_state *state, const float *row) {
    size_t best = 0;
    if (state->width == 1) return row[0] > 0.0f;
    for (size_t c = 1; c < state->width; c++)
        if (comes_before(row[c], row[best])) best = c;
    return best;
}

static bool in_top_k(const weft_metric_state *state, const float *row, size_t label) {
    int64_t before = 0;
    if (state->width == 1) return state->metric.k == 2 || answer_of(state, row) == label;
    for (size_t c = 0; c < state->width; c++)
        before += comes_before(row[c], row[label]) || (c < label && !comes_before(row[label], row[c]));
    return before < state->metric.k;
}

static double minus_log_softmax(const float *row, size_t width, size_t label) {
    double largest = (double)row[0], sum = 0.0;
    for (size_t c = 1; c < width; c++) largest = fmax(largest, (double)row[c]);
    for (size_t c = 0; c < width; c++) sum += exp((double)row[c] - largest);
    return log(sum) + largest - (double)row[label];
}

/* Adds a row with a label to the sums. row: the outputs, or NULL if only the answer is known. */
static void add_labelled(
    weft_metric_state *state, const float *row, size_t answer, size_t label, double weight) {
    double *const sums = state->sums;
    switch (state->metric.kind) {
    case WEFT_ACCURACY:
        sums[0] += answer == label ? weight : 0.0;
        sums[1] += weight;
        break;
    case WEFT_TOP_K:
        sums[0] += in_top_k(state, row, label) ? weight : 0.0;
        sums[1] += weight;
        break;
    case WEFT_PERPLEXITY:
        sums[0] += weight * minus_log_softmax(row, state->width, label);
        sums[1] += weight;
        break;
    case WEFT_CONFUSION: sums[label * state->classes + answer] += weight; break;
    case WEFT_PRECISION:
    case WEFT_RECALL:
    case WEFT_F1:
        sums[3 * label] += answer == label ? weight : 0.0;
        sums[3 * answer + 1] += weight;
        sums[3 * label + 2] += weight;
        break;
    case WEFT_MEAN_ABSOLUTE_ERROR:
    case WEFT_R_SQUARED: break;
    }
}

bool wi_metric_needs_answers(weft_metric_kind kind) {
    return kind == WEFT_ACCURACY || kind == WEFT_CONFUSION || is_per_class(kind);
}

/* ---- rows with float targets ---- */

/* Welford's update with weights (West 1979). */
static void add_to_r_squared(weft_metric_state *state, const float *row, const float *target, double weight) {
    const double rows = state->sums[0] += weight;
    for (size_t c = 0; c < state->width; c++) {
        double *const column = state->sums + 1 + 3 * c;
        const double value = (double)target[c], change = value - column[0], error = (double)row[c] - value;
        column[0] += change * weight / rows;
        column[1] += weight * change * (value - column[0]);
        column[2] += weight * error * error;
    }
}

static void add_values(weft_metric_state *state, const float *row, const float *target, double weight) {
    if (state->metric.kind == WEFT_R_SQUARED) {
        add_to_r_squared(state, row, target, weight);
        return;
    }
    for (size_t c = 0; c < state->width; c++)
        state->sums[0] += weight * fabs((double)row[c] - (double)target[c]);
    state->sums[1] += weight * (double)state->width;
}

/* ---- adding rows ---- */

static double weight_of(const wi_metric_rows *rows, size_t i) {
    if (rows->lengths && (int64_t)(i % rows->length) >= rows->lengths[i / rows->length]) return 0.0;
    return rows->weights ? (double)rows->weights[i / rows->rows_per_weight] : 1.0;
}

static weft_status check_weights(const char *call, const wi_metric_rows *rows) {
    for (size_t i = 0; rows->weights && i < rows->rows; i++)
        if (!(rows->weights[i / rows->rows_per_weight] >= 0.0f) ||
            isinf(rows->weights[i / rows->rows_per_weight]))
            WI_FAIL(WEFT_ERROR_ARGUMENT, "%s: the weight of row %zu is %g, expected 0 or more and finite",
                call, i, (double)rows->weights[i / rows->rows_per_weight]);
    for (size_t i = 0; rows->lengths && i < rows->rows / rows->length; i++)
        if (rows->lengths[i] < 0 || (size_t)rows->lengths[i] > rows->length)
            WI_FAIL(WEFT_ERROR_ARGUMENT, "%s: length %zu is %" PRId32 ", not in 0..%zu", call, i,
                rows->lengths[i], rows->length);
    return WEFT_OK;
}

/* Labels after the length of their sequence may have any value. */
static weft_status check_labels(
    const char *call, const weft_metric_state *state, const wi_metric_rows *rows) {
    const int32_t *const labels = rows->labels;
    for (size_t i = 0; labels && i < rows->rows; i++) {
        if (labels[i] == state->ignored || (labels[i] >= 0 && (size_t)labels[i] < state->classes)) continue;
        if (rows->lengths && (int64_t)(i % rows->length) >= rows->lengths[i / rows->length]) continue;
        WI_FAIL(WEFT_ERROR_ARGUMENT, "%s: the label of row %zu is %" PRId32 ", not in 0..%zu", call, i,
            labels[i], state->classes - 1);
    }
    return WEFT_OK;
}

static void add_row(weft_metric_state *state, const wi_metric_rows *rows, size_t i) {
    const double weight = weight_of(rows, i);
    if (weight == 0.0 || (rows->labels && rows->labels[i] == state->ignored)) return;
    const float *const row = rows->outputs ? rows->outputs + i * state->width : NULL;
    const float *const target = rows->targets ? rows->targets + i * state->width : NULL;
    if (wi_metric_takes_values(state->metric.kind)) {
        add_values(state, row, target, weight);
        return;
    }
    const size_t label = rows->labels ? (size_t)rows->labels[i] : (size_t)(target[0] > 0.5f);
    const size_t answer = rows->answers ? (size_t)rows->answers[i] : answer_of(state, row);
    add_labelled(state, row, answer, label, weight);
}

weft_status wi_metric_add(const char *call, weft_metric_state *state, const wi_metric_rows *rows) {
    WI_TRY(check_weights(call, rows));
    WI_TRY(check_labels(call, state, rows));
    state->is_weighted = state->is_weighted || rows->weights;
    for (size_t i = 0; i < rows->rows; i++) add_row(state, rows, i);
    return WEFT_OK;
}

static weft_status check_rows(
    const char *call, const weft_metric_state *state, size_t rows, const void *outputs, const void *targets) {
    if (!state || (rows && (!outputs || !targets)))
        WI_FAIL(WEFT_ERROR_ARGUMENT, "%s: state, outputs and targets must not be NULL", call);
    return WEFT_OK;
}

static weft_status check_targets(const char *call, const weft_metric_state *state, bool labels) {
    if (labels && wi_metric_takes_values(state->metric.kind))
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "%s: mean absolute error and R² take no labels; use targets, or weft_metric_update_values", call);
    if (!labels && !wi_metric_takes_values(state->metric.kind) && state->width != 1)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "%s: a metric of %zu classes needs labels; use weft_metric_update", call,
            state->classes);
    return WEFT_OK;
}

weft_status weft_metric_add(weft_metric_state *state, const weft_metric_rows *given) {
    static const char call[] = "weft_metric_add";
    weft_metric_rows rows;
    WI_TRY(WI_OPTIONS(&rows, given, call, WEFT_METRIC_ROWS_INIT));
    const void *const targets = rows.labels ? (const void *)rows.labels : rows.targets;
    WI_TRY(check_rows(call, state, rows.rows, rows.outputs, targets));
    if (rows.labels && rows.targets)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "%s: labels and targets are both given; give one of them", call);
    if (targets) WI_TRY(check_targets(call, state, rows.labels != NULL));
    if (rows.lengths && (rows.length == 0 || rows.rows % rows.length))
        WI_FAIL(WEFT_ERROR_ARGUMENT, "%s: %zu rows cannot be divided into sequences of length %zu", call,
            rows.rows, rows.length);
    const wi_metric_rows own = {
        rows.rows, rows.outputs, NULL, rows.labels, rows.targets, rows.weights, 1, rows.lengths, rows.length};
    return wi_metric_add(call, state, &own);
}

weft_status weft_metric_update(
    weft_metric_state *state, size_t rows, const float *outputs, const int32_t *labels) {
    WI_TRY(check_rows("weft_metric_update", state, rows, outputs, labels));
    WI_TRY(check_targets("weft_metric_update", state, true));
    const wi_metric_rows own = {.rows = rows, .outputs = outputs, .labels = labels};
    return wi_metric_add("weft_metric_update", state, &own);
}

weft_status weft_metric_update_values(
    weft_metric_state *state, size_t rows, const float *outputs, const float *targets) {
    WI_TRY(check_rows("weft_metric_update_values", state, rows, outputs, targets));
    WI_TRY(check_targets("weft_metric_update_values", state, false));
    const wi_metric_rows own = {.rows = rows, .outputs = outputs, .targets = targets};
    return wi_metric_add("weft_metric_update_values", state, &own);
}

/* ---- results ---- */

static double quotient(double a, double b) {
    return b == 0.0 ? 0.0 : a / b;
}

/* counts: correct rows, answers and labels of one class, or the sums over all classes. */
static double score(weft_metric_kind kind, const double *counts) {
    if (kind == WEFT_PRECISION) return quotient(counts[0], counts[1]);
    if (kind == WEFT_RECALL) return quotient(counts[0], counts[2]);
    return quotient(2.0 * counts[0], counts[1] + counts[2]);
}

static double class_average(const weft_metric_state *state) {
    const weft_average average = state->metric.average;
    double all[3] = {0.0}, sum = 0.0, weights = 0.0;
    for (size_t c = 0; c < state->classes; c++) {
        const double *const counts = state->sums + 3 * c;
        for (size_t i = 0; i < 3; i++) all[i] += counts[i];
        const double weight = average == WEFT_AVERAGE_WEIGHTED ? counts[2] : counts[1] + counts[2] > 0.0;
        sum += weight * score(state->metric.kind, counts);
        weights += weight;
    }
    if (all[2] == 0.0) return (double)NAN;
    if (average == WEFT_AVERAGE_MICRO) return score(state->metric.kind, all);
    if (average == WEFT_AVERAGE_BINARY) return score(state->metric.kind, state->sums + 3);
    return sum / weights;
}

static double confusion_accuracy(const weft_metric_state *state) {
    double right = 0.0, all = 0.0;
    for (size_t i = 0; i < state->count; i++) {
        all += state->sums[i];
        right += i % (state->classes + 1) == 0 ? state->sums[i] : 0.0;
    }
    return right / all;
}

static double r_squared_of(const weft_metric_state *state, size_t column) {
    const double *const sums = state->sums + 1 + 3 * column;
    if (state->is_weighted ? state->sums[0] == 0.0 : state->sums[0] < 2.0) return (double)NAN;
    if (sums[1] == 0.0) return sums[2] == 0.0 ? 1.0 : 0.0;
    return 1.0 - sums[2] / sums[1];
}

weft_status weft_metric_result(const weft_metric_state *state, double *value) {
    if (!state || !value)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_metric_result: state and value must not be NULL");
    switch (state->metric.kind) {
    case WEFT_ACCURACY:
    case WEFT_TOP_K:
    case WEFT_MEAN_ABSOLUTE_ERROR: *value = state->sums[0] / state->sums[1]; break;
    case WEFT_PERPLEXITY: *value = exp(state->sums[0] / state->sums[1]); break;
    case WEFT_CONFUSION: *value = confusion_accuracy(state); break;
    case WEFT_PRECISION:
    case WEFT_RECALL:
    case WEFT_F1: *value = class_average(state); break;
    case WEFT_R_SQUARED:
        *value = 0.0;
        for (size_t c = 0; c < state->width; c++) *value += r_squared_of(state, c) / (double)state->width;
        break;
    }
    return WEFT_OK;
}

weft_status weft_metric_values(
    const weft_metric_state *state, double *values, size_t capacity, size_t *count) {
    if (!state || !count || (!values && capacity))
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_metric_values: state, values and count must not be NULL");
    const weft_metric_kind kind = state->metric.kind;
    *count = 1;
    if (kind == WEFT_CONFUSION) *count = state->count;
    if (kind == WEFT_R_SQUARED) *count = state->width;
    if (is_per_class(kind)) *count = state->classes;
    if (*count == 1 && capacity) return weft_metric_result(state, values);
    for (size_t i = 0; i < *count && i < capacity; i++)
        values[i] = kind == WEFT_CONFUSION   ? state->sums[i]
                    : kind == WEFT_R_SQUARED ? r_squared_of(state, i)
                                             : score(kind, state->sums + 3 * i);
    return WEFT_OK;
}
