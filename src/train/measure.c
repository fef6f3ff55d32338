/* From outputs of the graph and columns of a dataset to metrics (contract in measure.h). */
#include "train/measure.h"
#include "graph/nodes.h"
#include <inttypes.h>
#include <string.h>

/* f32 (batch, ..., width) */
static weft_status measure_shape(wi_measure *item, const weft_metric *metric) {
    const weft_tensor *const output = metric->output;
    const int rank = weft_tensor_rank(output);
    bool good =
        weft_tensor_dtype(output) == WEFT_F32 && rank >= 1 && weft_tensor_dimension(output, 0) == WEFT_BATCH;
    if (output->has_length && wi_shape_has_length(&output->shape, output->graph->length_symbol)) {
        char text[WI_SHAPE_TEXT];
        WI_FAIL(WEFT_ERROR_SHAPE,
            "trainer: the metric '%s' is of %s; it takes no size that plans give but the batch", metric->name,
            wi_shape_print(&output->shape, text));
    }
    item->rows = 1;
    for (int axis = 1; axis < rank && good; axis++) {
        good = weft_tensor_dimension(output, axis) > 0;
        if (axis + 1 < rank) item->rows *= (size_t)weft_tensor_dimension(output, axis);
    }
    if (!good)
        WI_FAIL(WEFT_ERROR_SHAPE, "trainer: the metric '%s' needs an f32 output of shape (batch, ...)",
            metric->name);
    item->width = rank > 1 ? (size_t)weft_tensor_dimension(output, rank - 1) : 1;
    return WEFT_OK;
}

static size_t find_tensor(wi_measures *measures, weft_tensor *tensor, size_t bytes) {
    for (size_t i = 0; i < measures->tensor_count; i++)
        if (measures->tensors[i] == tensor) return i;
    measures->tensors[measures->tensor_count] = tensor;
    measures->bytes[measures->tensor_count] = bytes;
    measures->example_bytes += bytes;
    return measures->tensor_count++;
}

weft_status wi_measures_init(wi_measures *measures, const wi_measure_list *list) {
    *measures = (wi_measures){0};
    for (size_t i = 0; i < list->count; i++) {
        const weft_metric *const metric = &list->metrics[i];
        wi_measure *const item = &measures->items[i];
        WI_TRY(measure_shape(item, metric));
        item->target = metric->target;
        item->values = wi_metric_takes_values(metric->kind);
        item->tensor = find_tensor(measures, metric->output, item->rows * item->width * sizeof(float));
        WI_TRY(weft_metric_create(&item->state, list->context, metric, (int64_t)item->width));
        measures->count = i + 1;
    }
    return WEFT_OK;
}

void wi_measures_clear(wi_measures *measures) {
    for (size_t i = 0; i < measures->count; i++) weft_metric_release(measures->items[i].state);
    *measures = (wi_measures){0};
}

static weft_status bind_target(wi_measure *item, const weft_dataset *dataset) {
    size_t c = 0;
    while (c < dataset->count && strcmp(dataset->columns[c].name, item->target) != 0) c++;
    if (c == dataset->count)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "trainer: a metric's target '%s' is not a column of the dataset",
            item->target);
    const weft_column *const column = &dataset->columns[c];
    const bool labels = !item->values && column->dtype == WEFT_I32;
    const bool values = (item->values || item->width == 1) && column->dtype == WEFT_F32;
    if (!labels && !values)
        WI_FAIL(WEFT_ERROR_DTYPE, "trainer: a metric's target '%s' is %s, expected %s", item->target,
            weft_dtype_name(column->dtype), item->values ? "f32" : "i32 labels");
    const size_t expected = item->rows * (item->values ? item->width : 1);
    const size_t numbers = wi_column_bytes(column) / weft_dtype_size(column->dtype);
    if (numbers != expected)
        WI_FAIL(WEFT_ERROR_SHAPE,
            "trainer: a metric's target '%s' has %zu numbers an example, its output needs %zu", item->target,
            numbers, expected);
    item->column = c;
    item->dtype = column->dtype;
    return WEFT_OK;
}

weft_status wi_measures_bind(wi_measures *measures, const weft_dataset *dataset) {
    for (size_t i = 0; i < measures->count; i++) WI_TRY(bind_target(&measures->items[i], dataset));
    return WEFT_OK;
}

void wi_measures_reset(wi_measures *measures) {
    for (size_t i = 0; i < measures->count; i++) weft_metric_reset(measures->items[i].state);
}

weft_status wi_measures_add(wi_measures *measures, const unsigned char *outputs, const void *const *targets,
    size_t batch, size_t examples) {
    const unsigned char *tensors[WEFT_MAX_METRICS];
    for (size_t t = 0; t < measures->tensor_count; t++) {
        tensors[t] = outputs;
        outputs += measures->bytes[t] * batch;
    }
    for (size_t i = 0; i < measures->count; i++) {
        const wi_measure *const item = &measures->items[i];
        const float *const values = (const void *)tensors[item->tensor];
        const size_t rows = examples * item->rows;
        if (item->dtype == WEFT_I32)
            WI_TRY(weft_metric_update(item->state, rows, values, targets[i]));
        else
            WI_TRY(weft_metric_update_values(item->state, rows, values, targets[i]));
    }
    return WEFT_OK;
}
