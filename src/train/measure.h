/* The metrics of a pass, including the accuracy: the tensors that they read, the columns that they compare with, which
 * labels count, and their states. */
#ifndef WI_MEASURE_H
#define WI_MEASURE_H

#include "train/feed.h"
#include "train/mistakes.h"

enum { WI_MAX_MEASURES = WEFT_MAX_METRICS + 1, WI_MEASURE_TENSORS = 2 * WI_MAX_MEASURES };

/* The metrics of a trainer, with their defaults filled in. */
typedef struct wi_measure_list {
    weft_context *context;
    const weft_metric *metrics; /* with output, target and name */
    size_t count;
    const wi_feed *feed; /* inputs of the loss, with their masks and weights; only for wi_measures_init */
    /* Collects the examples that the last metric, the accuracy, counts as wrong, from the logits; NULL: they are not collected. */
    wi_mistakes *mistakes;
} wi_measure_list;

typedef struct wi_measure {
    weft_metric_state *state;
    const char *name, *target, *weights, *lengths; /* the caller's; the last three name columns */
    size_t tensor;                                 /* index in tensors: outputs, or answers */
    size_t labels; /* index in tensors: masked labels of the loss; SIZE_MAX: the column has the labels */
    bool answers;  /* the tensor has answered classes (i32) instead of outputs */
    int rank;      /* rank and dims: the axes of an output between batch and width */
    int64_t dims[WEFT_MAX_RANK];
    size_t rows, width; /* rows: per example; width: outputs per row */
    bool values;        /* targets are floats of the shape of the output, not labels */
    /* Set by wi_measures_bind; SIZE_MAX: there is none. */
    size_t column, weight_column, length_column;
    size_t rows_per_weight;
    weft_dtype dtype; /* of the target */
} wi_measure;

typedef struct wi_measures {
    wi_measure items[WI_MAX_MEASURES];
    size_t count;
    weft_tensor *tensors[WI_MEASURE_TENSORS]; /* that are read back, without duplicates */
    size_t bytes[WI_MEASURE_TENSORS];         /* of one example */
    size_t tensor_count;
    size_t example_bytes;  /* of all tensors */
    wi_mistakes *mistakes; /* those of the list */
} wi_measures;

/* The caller clears the measures, also after an error. WEFT_ERROR_SHAPE: an output that is not f32 (batch, ...);
 * WEFT_ERROR_ARGUMENT: a metric that counts other labels than the loss. */
weft_status wi_measures_init(wi_measures *measures, const wi_measure_list *list);
void wi_measures_clear(wi_measures *measures);
/* Finds the columns, and checks that they fit the outputs. Errors: WEFT_ERROR_ARGUMENT (a column is missing),
 * WEFT_ERROR_DTYPE, WEFT_ERROR_SHAPE. */
weft_status wi_measures_bind(wi_measures *measures, const weft_dataset *dataset);
void wi_measures_reset(wi_measures *measures);
/* Adds `examples` examples to the metrics. outputs: the values of the tensors one after the other, each with room for
 * `batch` examples. columns: the columns of the dataset for these examples. */
weft_status wi_measures_add(wi_measures *measures, const unsigned char *outputs, const void *const *columns,
    size_t batch, size_t examples);

#endif
