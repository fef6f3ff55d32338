/* The metrics of a pass, its accuracy among them: which tensors they read, which columns they compare with, what of them
 * counts, and their states. */
#ifndef WI_MEASURE_H
#define WI_MEASURE_H

#include "train/feed.h"
#include "train/metric.h"

enum { WI_MAX_MEASURES = WEFT_MAX_METRICS + 1, WI_MEASURE_TENSORS = 2 * WI_MAX_MEASURES };

/* What a trainer measures; the defaults are already in the metrics. */
typedef struct wi_measure_list {
    weft_context *context;
    const weft_metric *metrics; /* with output, target and name */
    size_t count;
    const wi_feed *feed; /* of the loss, which says what it counts; for wi_measures_init */
} wi_measure_list;

typedef struct wi_measure {
    weft_metric_state *state;
    const char *name, *target, *weights, *lengths; /* the caller's; columns of the dataset */
    size_t tensor;                                 /* index in tensors: outputs, or answers */
    size_t labels; /* index in tensors: the labels as the loss counts them; SIZE_MAX: those of the column */
    bool answers;  /* i32 classes are read, not outputs */
    int rank;      /* of the rows of an example, and their dimensions */
    int64_t dims[WEFT_MAX_RANK];
    size_t rows, width; /* of one example */
    bool values;        /* float targets of the output's shape */
    /* Set by wi_measures_bind; SIZE_MAX: there is none. */
    size_t column, weight_column, length_column;
    size_t rows_per_weight;
    weft_dtype dtype; /* of the target */
} wi_measure;

typedef struct wi_measures {
    wi_measure items[WI_MAX_MEASURES];
    size_t count;
    weft_tensor *tensors[WI_MEASURE_TENSORS]; /* that are read back, each once */
    size_t bytes[WI_MEASURE_TENSORS];         /* of one example */
    size_t tensor_count;
    size_t example_bytes; /* of all tensors */
} wi_measures;

/* Errors: an output that is not f32 (batch, ...), labels that the loss counts otherwise. Clear it afterwards in any case. */
weft_status wi_measures_init(wi_measures *measures, const wi_measure_list *list);
void wi_measures_clear(wi_measures *measures);
/* Finds the columns, and checks that they fit the outputs. */
weft_status wi_measures_bind(wi_measures *measures, const weft_dataset *dataset);
void wi_measures_reset(wi_measures *measures);
/* outputs: the tensors of `examples` examples, one after the other with room for `batch` each. columns: the dataset's, of
 * the same examples. */
weft_status wi_measures_add(wi_measures *measures, const unsigned char *outputs, const void *const *columns,
    size_t batch, size_t examples);

#endif
