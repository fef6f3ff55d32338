/* weft/metrics.h: metrics, which compare the outputs of a network with labels or targets. */
#ifndef WEFT_METRICS_H
#define WEFT_METRICS_H

#include <weft/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- metrics: measured by a trainer, or from arrays on the host ----
 * The predicted class of a row of outputs is the index of the largest output, the first of equal ones. A row of width
 * 1 is one logit of two classes: it predicts class 1 if it is above 0. */
typedef enum weft_metric_kind {
    WEFT_ACCURACY = 1,        /* rows whose predicted class is the label / all rows */
    WEFT_TOP_K,               /* rows whose k largest outputs include the label / all rows */
    WEFT_CONFUSION,           /* matrix[label][predicted class] of counts; as a single number the accuracy */
    WEFT_PRECISION,           /* per class: right predictions / predictions of this class */
    WEFT_RECALL,              /* per class: right predictions / labels of this class */
    WEFT_F1,                  /* per class: 2·right predictions / (predictions + labels of this class) */
    WEFT_MEAN_ABSOLUTE_ERROR, /* mean of |output - target| over all outputs */
    WEFT_R_SQUARED,           /* 1 - sum (output - target)² / sum (target - mean)²; mean over the columns */
    WEFT_PERPLEXITY           /* exp(mean of -log softmax(outputs)[label]) */
} weft_metric_kind;

/* How precision, recall and F1 of the classes are averaged; a quotient 0 / 0 counts as 0. */
typedef enum weft_average {
    WEFT_AVERAGE_MACRO,    /* mean over the classes that occur as a label or a prediction */
    WEFT_AVERAGE_MICRO,    /* the formula with counts summed over all classes, which gives the accuracy */
    WEFT_AVERAGE_WEIGHTED, /* mean weighted by the number of labels of each class */
    WEFT_AVERAGE_BINARY    /* only class 1 of two classes */
} weft_average;

typedef struct weft_metric {
    weft_metric_kind kind;
    weft_average average; /* precision, recall, F1 */
    int64_t k;            /* top-k; at least 1 */
    /* true: rows with the label ignored_label are skipped. Default: rows with the label -100 are skipped; in a
     * trainer, rows with the label that the loss over the same labels ignores. */
    bool ignore;
    int32_t ignored_label;
    /* The following fields are for a trainer. Where defaults name options, they are those of weft_trainer_options. */
    /* f32 (batch, ..., width); default: the option `output`, otherwise `logits`. Outputs of width 1, and those of
     * perplexity, must be logits: the result of weft_sigmoid or weft_softmax is WEFT_ERROR_ARGUMENT. */
    weft_tensor *output;
    const char *target; /* column of the dataset; default: the option `labels` */
    /* Column f32, one number of 0 or more for each row or each example; default: the option `weights`, otherwise 1.
     * Other weights than those of the loss over the same target are WEFT_ERROR_ARGUMENT. */
    const char *weights;
    /* Column i32, one number for each example: how many of its first rows count; default: the option `lengths`,
     * otherwise all rows. WEFT_ERROR_ARGUMENT: the loss over the same labels has other lengths or counts all labels. A
     * loss without lengths that ignores a label is allowed: labels beyond the lengths may be the ignored one. */
    const char *lengths;
    const char *name; /* in logs and for early stopping; default "accuracy", "top_5", "confusion",
                            "precision", "recall", "f1", "mean_absolute_error", "r_squared", "perplexity" */
} weft_metric;

/* A metric of each kind, with all other fields at their defaults. */
WEFT_API weft_metric weft_metric_accuracy(void);
WEFT_API weft_metric weft_metric_top_k(int64_t k);
WEFT_API weft_metric weft_metric_confusion(void);
WEFT_API weft_metric weft_metric_precision(weft_average average);
WEFT_API weft_metric weft_metric_recall(weft_average average);
WEFT_API weft_metric weft_metric_f1(weft_average average);
WEFT_API weft_metric weft_metric_mean_absolute_error(void);
WEFT_API weft_metric weft_metric_r_squared(void);
WEFT_API weft_metric weft_metric_perplexity(void);

/* The counts and sums of one metric, in float64. context: provides the allocator; may be NULL. width: outputs per row
 * (the number of classes, or 1). Errors: WEFT_ERROR_ARGUMENT. */
typedef struct weft_metric_state weft_metric_state;
WEFT_API weft_status weft_metric_create(
    weft_metric_state **state, weft_context *context, const weft_metric *metric, int64_t width);
WEFT_API void weft_metric_release(weft_metric_state *state); /* NULL is allowed */
/* Rows of outputs, their labels or targets, and their weights. */
typedef struct weft_metric_rows {
    size_t struct_size;
    size_t rows;
    const float *outputs;  /* (rows, width) */
    const int32_t *labels; /* (rows), in [0, classes), or the label that is ignored */
    /* (rows, width), for mean absolute error and R², which have no labels. Other metrics of width 1 take targets, too:
     * a target above 0.5 is class 1. */
    const float *targets;
    const float *weights; /* (rows), 0 or more: how much each row counts; default NULL: 1 */
    /* (rows / length), in [0, length]: how many of the first rows of each sequence count; default NULL: all. */
    const int32_t *lengths;
    size_t length; /* with lengths: the number of rows of a sequence, a divisor of rows */
} weft_metric_rows;
#define WEFT_METRIC_ROWS_INIT .struct_size = sizeof(weft_metric_rows)
/* Adds rows. A label or length out of range, or a weight that is negative or not finite, is WEFT_ERROR_ARGUMENT: the
 * line names the row, and nothing is added. */
WEFT_API weft_status weft_metric_add(weft_metric_state *state, const weft_metric_rows *rows);
/* weft_metric_add for rows that have labels, but no weights and no lengths. Not for mean absolute error and R². */
WEFT_API weft_status weft_metric_update(
    weft_metric_state *state, size_t rows, const float *outputs, const int32_t *labels);
/* weft_metric_add for rows that have f32 targets, but no weights and no lengths. */
WEFT_API weft_status weft_metric_update_values(
    weft_metric_state *state, size_t rows, const float *outputs, const float *targets);
/* The metric of all rows since the last reset; NaN if there were none (R² without weights: fewer than two). */
WEFT_API weft_status weft_metric_result(const weft_metric_state *state, double *value);
/* All values of a metric: precision, recall and F1 per class, the confusion matrix row by row, R² per column, one
 * number for the other metrics. Writes at most `capacity` values, and sets *count to their number. values NULL with
 * capacity 0: only sets *count. */
WEFT_API weft_status weft_metric_values(
    const weft_metric_state *state, double *values, size_t capacity, size_t *count);
WEFT_API void weft_metric_reset(weft_metric_state *state); /* NULL is allowed */

#ifdef __cplusplus
}
#endif
#endif
