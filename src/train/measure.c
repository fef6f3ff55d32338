/* Adds outputs of the graph and columns of a dataset to metrics (contract in measure.h). */
#include "train/measure.h"
#include "graph/weft_graph.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- the tensors that are read back ---- */

/* Returns the output with the classes on its last axis. If a loss compares the output with the labels, the classes are
 * on axis 1 and are moved; otherwise they are on the last axis already. */
static weft_tensor *classes_last(const weft_metric *metric, const wi_feed_input *labels) {
    weft_tensor *const output = metric->output;
    const bool moved = labels && labels->scores == output && weft_tensor_rank(output) > 2 &&
                       !wi_metric_takes_values(metric->kind);
    return moved ? weft_move_axis(output, 1, -1) : output;
}

/* Checks that the output is f32 (batch, ..., width), and sets the sizes of the item. */
static weft_status measure_shape(wi_measure *item, const weft_metric *metric, const weft_tensor *output) {
    const int rank = weft_tensor_rank(output);
    bool good =
        weft_tensor_dtype(output) == WEFT_F32 && rank >= 1 && weft_tensor_dimension(output, 0) == WEFT_BATCH;
    bool symbolic = false;
    for (int axis = 0; axis < rank; axis++) symbolic = symbolic || wi_axis_is_symbolic(output, axis);
    if (symbolic) {
        char text[WI_SHAPE_TEXT];
        WI_FAIL(WEFT_ERROR_SHAPE,
            "trainer: the output of the metric '%s' has the shape %s, expected no variable size except the "
            "batch",
            metric->name, wi_shape_print(output->graph, &output->shape, text));
    }
    item->rows = 1;
    for (int axis = 1; axis < rank && good; axis++) {
        good = weft_tensor_dimension(output, axis) > 0;
        if (axis + 1 == rank) continue;
        item->dims[item->rank++] = weft_tensor_dimension(output, axis);
        item->rows *= (size_t)weft_tensor_dimension(output, axis);
    }
    if (!good)
        WI_FAIL(WEFT_ERROR_SHAPE, "trainer: the metric '%s' needs an f32 output of shape (batch, ...)",
            metric->name);
    item->width = rank > 1 ? (size_t)weft_tensor_dimension(output, rank - 1) : 1;
    return WEFT_OK;
}

/* i32: the class with the largest output, as torch.argmax; if the width is 1, class 1 for outputs above 0. */
static weft_tensor *answers_of(const wi_measure *item, weft_tensor *output) {
    const int64_t last[] = {-1, WEFT_END};
    if (item->width > 1) return weft_argmax_axes(output, last, false);
    return weft_cast(weft_less(weft_number(output, 0), output), WEFT_I32);
}

static size_t find_tensor(wi_measures *measures, weft_tensor *tensor, size_t bytes) {
    for (size_t i = 0; i < measures->tensor_count; i++)
        if (measures->tensors[i] == tensor) return i;
    measures->tensors[measures->tensor_count] = tensor;
    measures->bytes[measures->tensor_count] = bytes;
    measures->example_bytes += bytes;
    return measures->tensor_count++;
}

/* ---- which labels count ---- */

static const char *ignored_text(int64_t ignored, char text[24]) {
    if (ignored == INT64_MIN) return "none";
    snprintf(text, 24, "%" PRId64, ignored);
    return text;
}

/* By default a metric ignores the label that the loss over the same labels ignores. If the metric names another label
 * to be ignored, that is an error. */
static weft_status follow_loss(weft_metric *metric, const wi_feed_input *labels) {
    char text[24];
    if (!labels || !labels->scores) return WEFT_OK;
    if (metric->ignore && !labels->differs && labels->counted_ignored != metric->ignored_label)
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "trainer: the metric '%s' ignores the label %" PRId32
            " of '%s', but the loss ignores %s: they would count different labels",
            metric->name, metric->ignored_label, metric->target, ignored_text(labels->counted_ignored, text));
    if (metric->ignore || labels->differs || labels->counted_ignored == INT64_MIN) return WEFT_OK;
    metric->ignore = true;
    metric->ignored_label = (int32_t)labels->counted_ignored;
    return WEFT_OK;
}

/* The lengths of a metric must be the mask through which the loss reads the labels. A loss without a mask must ignore a
 * label, with which the labels after the lengths may be filled. */
static weft_status check_lengths(const weft_metric *metric, const wi_feed_input *labels) {
    if (!metric->lengths || !labels || !labels->scores || labels->differs) return WEFT_OK;
    const char *const mask = labels->mask ? weft_tensor_name(labels->mask) : NULL;
    const bool unmasked = !mask && labels->counted == labels->tensor;
    if (mask ? strcmp(mask, metric->lengths) == 0 : !unmasked || labels->counted_ignored != INT64_MIN)
        return WEFT_OK;
    WI_FAIL(WEFT_ERROR_ARGUMENT,
        "trainer: the metric '%s' counts the labels '%s' by the lengths '%s', but the loss counts %s%s%s: "
        "they would count different labels",
        metric->name, metric->target, metric->lengths, mask ? "them by '" : "all of them", mask ? mask : "",
        mask ? "'" : "");
}

/* The weights of a metric must be those of the loss over the same target, if the loss has any. */
static weft_status check_weights(const weft_metric *metric, const wi_feed_input *target) {
    if (!metric->weights || !target || !target->weights || target->weights_differ) return WEFT_OK;
    const char *const name = weft_tensor_name(target->weights);
    if (strcmp(name, metric->weights) == 0) return WEFT_OK;
    WI_FAIL(WEFT_ERROR_ARGUMENT,
        "trainer: the metric '%s' weights '%s' by '%s', but the loss weights it by '%s': they would weight "
        "the same examples differently",
        metric->name, metric->target, metric->weights, name);
}

/* If the loss reads the labels through a mask, the masked labels are read back for the metric. */
static void read_counted(wi_measures *measures, wi_measure *item, const wi_feed_input *labels) {
    item->labels = SIZE_MAX;
    if (item->values || !labels || !labels->scores || labels->differs || labels->counted == labels->tensor)
        return;
    item->labels = find_tensor(measures, labels->counted, item->rows * sizeof(int32_t));
}

static weft_status init_item(wi_measures *measures, const wi_measure_list *list, size_t index) {
    weft_metric metric = list->metrics[index];
    const wi_feed_input *const labels = list->feed ? wi_feed_find(list->feed, metric.target) : NULL;
    weft_tensor *const output = classes_last(&metric, labels);
    wi_measure *const item = &measures->items[index];
    if (!output) return weft_graph_status(weft_tensor_graph(metric.output));
    *item = (wi_measure){.name = metric.name,
        .target = metric.target,
        .weights = metric.weights,
        .lengths = metric.lengths,
        .values = wi_metric_takes_values(metric.kind),
        .answers = wi_metric_needs_answers(metric.kind) && !(list->mistakes && index + 1 == list->count)};
    WI_TRY(measure_shape(item, &metric, output));
    WI_TRY(follow_loss(&metric, item->values ? NULL : labels));
    WI_TRY(check_lengths(&metric, item->values ? NULL : labels));
    WI_TRY(check_weights(&metric, labels));
    weft_tensor *const read = item->answers ? answers_of(item, output) : output;
    if (!read) return weft_graph_status(output->graph);
    item->tensor =
        find_tensor(measures, read, item->rows * (item->answers ? 1 : item->width) * sizeof(float));
    read_counted(measures, item, labels);
    WI_TRY(weft_metric_create(&item->state, list->context, &metric, (int64_t)item->width));
    measures->count = index + 1;
    return WEFT_OK;
}

weft_status wi_measures_init(wi_measures *measures, const wi_measure_list *list) {
    *measures = (wi_measures){.mistakes = list->mistakes};
    for (size_t i = 0; i < list->count; i++) WI_TRY(init_item(measures, list, i));
    return WEFT_OK;
}

void wi_measures_clear(wi_measures *measures) {
    for (size_t i = 0; i < measures->count; i++) weft_metric_release(measures->items[i].state);
    *measures = (wi_measures){0};
}

/* ---- columns ---- */

static weft_status find_column(
    const wi_measure *item, const weft_dataset *dataset, const char *what, const char *name, size_t *column) {
    size_t c = 0;
    while (c < dataset->count && strcmp(dataset->columns[c].name, name) != 0) c++;
    if (c == dataset->count)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "trainer: the %s '%s' of the metric '%s' is not a column of the dataset",
            what, name, item->name);
    *column = c;
    return WEFT_OK;
}

static weft_status check_dtype(const wi_measure *item, const weft_column *column) {
    const bool labels = !item->values && column->dtype == WEFT_I32;
    const bool values = (item->values || item->width == 1) && column->dtype == WEFT_F32;
    if (labels || values) return WEFT_OK;
    WI_FAIL(WEFT_ERROR_DTYPE, "trainer: the target '%s' of the metric '%s' is %s, expected %s", item->target,
        item->name, weft_dtype_name(column->dtype), item->values ? "f32" : "i32 labels");
}

/* Compares shapes without their axes of size 1, as losses do. */
static bool same_dims(const weft_column *column, const int64_t *dims, int rank) {
    int c = 0, d = 0;
    for (;;) {
        while (c < column->rank && column->dims[c] == 1) c++;
        while (d < rank && dims[d] == 1) d++;
        if (c == column->rank || d == rank) return c == column->rank && d == rank;
        if (column->dims[c++] != dims[d++]) return false;
    }
}

static weft_status check_shape(const wi_measure *item, const weft_column *column) {
    char expected[WI_SHAPE_TEXT], got[WI_SHAPE_TEXT];
    int64_t dims[WEFT_MAX_RANK];
    int rank = item->rank;
    memcpy(dims, item->dims, sizeof dims);
    if (item->values) dims[rank++] = (int64_t)item->width;
    if (same_dims(column, dims, rank)) return WEFT_OK;
    wi_shape wanted = {.rank = rank + 1, .dims = {WEFT_BATCH}},
             given = {.rank = column->rank + 1, .dims = {WEFT_BATCH}};
    for (int i = 0; i < rank; i++) wanted.dims[i + 1] = dims[i];
    for (int i = 0; i < column->rank; i++) given.dims[i + 1] = column->dims[i];
    WI_FAIL(WEFT_ERROR_SHAPE, "trainer: the target '%s' of the metric '%s' is %s, but its output needs %s",
        item->target, item->name, wi_shape_print(NULL, &given, got), wi_shape_print(NULL, &wanted, expected));
}

static size_t numbers_of(const weft_column *column) {
    return wi_column_bytes(column) / weft_dtype_size(column->dtype);
}

static weft_status bind_weights(wi_measure *item, const weft_dataset *dataset) {
    item->weight_column = SIZE_MAX;
    if (!item->weights) return WEFT_OK;
    WI_TRY(find_column(item, dataset, "column of weights", item->weights, &item->weight_column));
    const weft_column *const column = &dataset->columns[item->weight_column];
    const size_t numbers = numbers_of(column);
    if (column->dtype != WEFT_F32 || (numbers != 1 && !same_dims(column, item->dims, item->rank)))
        WI_FAIL(WEFT_ERROR_SHAPE,
            "trainer: the weights '%s' of the metric '%s' have %zu numbers of %s per example, expected f32 "
            "and one number, or one for each of the %zu rows of the target",
            item->weights, item->name, numbers, weft_dtype_name(column->dtype), item->rows);
    item->rows_per_weight = item->rows / numbers;
    return WEFT_OK;
}

static weft_status bind_lengths(wi_measure *item, const weft_dataset *dataset) {
    item->length_column = SIZE_MAX;
    if (!item->lengths) return WEFT_OK;
    WI_TRY(find_column(item, dataset, "column of lengths", item->lengths, &item->length_column));
    const weft_column *const column = &dataset->columns[item->length_column];
    if (column->dtype == WEFT_I32 && numbers_of(column) == 1) return WEFT_OK;
    WI_FAIL(WEFT_ERROR_SHAPE, "trainer: the lengths '%s' of the metric '%s' must be one i32 per example",
        item->lengths, item->name);
}

static weft_status bind_item(wi_measure *item, const weft_dataset *dataset) {
    WI_TRY(find_column(item, dataset, "target", item->target, &item->column));
    const weft_column *const column = &dataset->columns[item->column];
    WI_TRY(check_dtype(item, column));
    WI_TRY(check_shape(item, column));
    item->dtype = column->dtype;
    WI_TRY(bind_weights(item, dataset));
    return bind_lengths(item, dataset);
}

weft_status wi_measures_bind(wi_measures *measures, const weft_dataset *dataset) {
    for (size_t i = 0; i < measures->count; i++) WI_TRY(bind_item(&measures->items[i], dataset));
    return WEFT_OK;
}

void wi_measures_reset(wi_measures *measures) {
    for (size_t i = 0; i < measures->count; i++) weft_metric_reset(measures->items[i].state);
}

/* ---- adding ---- */

static wi_metric_rows rows_of(const wi_measure *item, const unsigned char *const *tensors,
    const void *const *columns, size_t examples) {
    const void *const read = tensors[item->tensor], *const target = columns[item->column];
    const bool labels = item->dtype == WEFT_I32;
    return (wi_metric_rows){.rows = examples * item->rows,
        .outputs = item->answers ? NULL : read,
        .answers = item->answers ? read : NULL,
        .labels = !labels                    ? NULL
                  : item->labels == SIZE_MAX ? target
                                             : (const void *)tensors[item->labels],
        .targets = labels ? NULL : target,
        .weights = item->weight_column == SIZE_MAX ? NULL : columns[item->weight_column],
        .rows_per_weight = item->rows_per_weight,
        .lengths = item->length_column == SIZE_MAX ? NULL : columns[item->length_column],
        .length = item->rows};
}

weft_status wi_measures_add(wi_measures *measures, const unsigned char *outputs, const void *const *columns,
    size_t batch, size_t examples) {
    const unsigned char *tensors[WI_MEASURE_TENSORS];
    for (size_t t = 0; t < measures->tensor_count; t++) {
        tensors[t] = outputs;
        outputs += measures->bytes[t] * batch;
    }
    for (size_t i = 0; i < measures->count; i++) {
        const wi_metric_rows rows = rows_of(&measures->items[i], tensors, columns, examples);
        WI_TRY(wi_metric_add("trainer", measures->items[i].state, &rows));
        if (measures->mistakes && i + 1 == measures->count)
            wi_mistakes_add(measures->mistakes, &rows, columns);
    }
    return WEFT_OK;
}
