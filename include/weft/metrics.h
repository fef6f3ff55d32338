/* weft/metrics.h: accuracies and other values that describe outputs beside what was expected. */
#ifndef WEFT_METRICS_H
#define WEFT_METRICS_H

#include <weft/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- metrics: values that describe what is measured; for a trainer, or for arrays of the host ---- */
typedef enum weft_metric_kind {
    WEFT_ACCURACY = 1, /* right / all; an output is right if its maximum (the first of equals) is at the
                          label; of width 1 if it is above 0 and the label 1, or neither */
    WEFT_TOP_K,        /* outputs whose k largest include the label / all */
    WEFT_CONFUSION,    /* matrix[label][answer] of counts; as a single number the accuracy */
    WEFT_PRECISION,    /* per class: right answers / answers of that class */
    WEFT_RECALL,       /* per class: right answers / labels of that class */
    WEFT_F1,           /* per class: 2·right / (answers + labels of that class) */
    WEFT_MEAN_ABSOLUTE_ERROR, /* mean of |output - target| over all numbers */
    WEFT_R_SQUARED,           /* 1 - sum (output - target)² / sum (target - mean)²; mean over the columns */
    WEFT_PERPLEXITY           /* exp(mean of -log softmax(outputs)[label]) */
} weft_metric_kind;

/* How precision, recall and F1 of the classes are averaged; a quotient 0 / 0 counts as 0. */
typedef enum weft_average {
    WEFT_AVERAGE_MACRO,    /* mean over the classes that occur as label or answer */
    WEFT_AVERAGE_MICRO,    /* of the sums of all counts; with one label per example it is the accuracy */
    WEFT_AVERAGE_WEIGHTED, /* mean weighted by the number of labels of each class */
    WEFT_AVERAGE_BINARY    /* class 1 of two classes */
} weft_average;

typedef struct weft_metric {
    weft_metric_kind kind;
    weft_average average; /* precision, recall, F1 */
    int64_t k;            /* top-k; at least 1 */
    /* Rows with the label ignored_label are skipped; default: those with -100. For a trainer the default is what the loss
     * over the same labels ignores (see `logits`). */
    bool ignore;
    int32_t ignored_label;
    /* For a trainer: */
    /* f32 (batch, ..., width); default: the option `output`, else `logits`. Of width 1, and for perplexity, logits: what
     * weft_sigmoid or weft_softmax gives is WEFT_ERROR_ARGUMENT. */
    weft_tensor *output;
    const char *target; /* column of the dataset; default: the option `labels` */
    /* f32 column, one number of 0 or more for each row or each example; default: the option `weights`, else 1 each. For a trainer
     * other weights than those of the loss over the same target are WEFT_ERROR_ARGUMENT. */
    const char *weights;
    /* i32 column, one number for each example: its first so many rows count; default: the option `lengths`, else all do. For a
     * trainer other lengths than those of the loss over the same labels are WEFT_ERROR_ARGUMENT, and so are lengths beside a loss
     * that counts all labels; a loss that ignores a label may have it behind the lengths. */
    const char *lengths;
    const char *name; /* in logs and for early stopping; default "accuracy", "top_5", "confusion",
                            "precision", "recall", "f1", "mean_absolute_error", "r_squared", "perplexity" */
} weft_metric;

/* One metric of each kind, all other fields at their defaults. */
WEFT_API weft_metric weft_metric_accuracy(void);
WEFT_API weft_metric weft_metric_top_k(int64_t k);
WEFT_API weft_metric weft_metric_confusion(void);
WEFT_API weft_metric weft_metric_precision(weft_average average);
WEFT_API weft_metric weft_metric_recall(weft_average average);
WEFT_API weft_metric weft_metric_f1(weft_average average);
WEFT_API weft_metric weft_metric_mean_absolute_error(void);
WEFT_API weft_metric weft_metric_r_squared(void);
WEFT_API weft_metric weft_metric_perplexity(void);

/* The counts and sums of one metric, in float64. context: provides the allocator, may be NULL. width: outputs
 * per row (classes; 1: one logit, class 1 if it is above 0). Errors: WEFT_ERROR_ARGUMENT. */
typedef struct weft_metric_state weft_metric_state;
WEFT_API weft_status weft_metric_create(
    weft_metric_state **state, weft_context *context, const weft_metric *metric, int64_t width);
WEFT_API void weft_metric_release(weft_metric_state *state); /* NULL is allowed */
/* Rows of outputs, with what they are compared with and how much each counts. */
typedef struct weft_metric_rows {
    size_t struct_size;
    size_t rows;
    const float *outputs;  /* (rows, width) */
    const int32_t *labels; /* (rows) in [0, classes), or the label that is ignored */
    /* (rows, width) instead of labels, for mean absolute error and R². For the other metrics of width 1 a target above 0.5
     * is class 1. */
    const float *targets;
    /* (rows), 0 or more; default NULL: 1 each. Counts and sums become sums of weights. */
    const float *weights;
    /* (rows / length), in [0, length]: of each sequence of `length` rows the first so many count; default NULL: all. */
    const int32_t *lengths;
    size_t length; /* with lengths: rows of a sequence, which divides rows */
} weft_metric_rows;
#define WEFT_METRIC_ROWS_INIT .struct_size = sizeof(weft_metric_rows)
/* Adds rows. A label or length out of range, or a weight that is negative or not finite, is WEFT_ERROR_ARGUMENT, which
 * names its row, and nothing is added. */
WEFT_API weft_status weft_metric_add(weft_metric_state *state, const weft_metric_rows *rows);
/* The same of rows with labels, all of which count but the ignored ones. Not for mean absolute error and R². */
WEFT_API weft_status weft_metric_update(
    weft_metric_state *state, size_t rows, const float *outputs, const int32_t *labels);
/* The same of rows with f32 targets. */
WEFT_API weft_status weft_metric_update_values(
    weft_metric_state *state, size_t rows, const float *outputs, const float *targets);
/* The metric of all rows since the reset; NaN if there were none (R²: fewer than two). */
WEFT_API weft_status weft_metric_result(const weft_metric_state *state, double *value);
/* All numbers of a metric: precision, recall and F1 per class, the confusion matrix row by row, R² per
 * column, one number for the others. Writes at most capacity of them; *count is their number. values may be
 * NULL with capacity 0 to get it. */
WEFT_API weft_status weft_metric_values(
    const weft_metric_state *state, double *values, size_t capacity, size_t *count);
WEFT_API void weft_metric_reset(weft_metric_state *state); /* NULL is allowed */

#ifdef __cplusplus
}
#endif
#endif
