/* The metrics of a pass: which tensors they read, which columns they compare with, and their states. */
#ifndef WI_MEASURE_H
#define WI_MEASURE_H

#include "train/dataset.h"
#include "train/metric.h"

/* What a trainer measures; the defaults are already in the metrics. */
typedef struct wi_measure_list {
    weft_context *context;
    const weft_metric *metrics; /* with output, target and name */
    size_t count;
} wi_measure_list;

typedef struct wi_measure {
    weft_metric_state *state;
    const char *target;
    size_t tensor;      /* index in tensors */
    size_t rows, width; /* of one example */
    bool values;        /* float targets of the output's shape */
    size_t column;      /* of the dataset; set by wi_measures_bind */
    weft_dtype dtype;   /* of it */
} wi_measure;

typedef struct wi_measures {
    wi_measure items[WEFT_MAX_METRICS];
    size_t count;
    weft_tensor *tensors[WEFT_MAX_METRICS]; /* that are read back, each once */
    size_t bytes[WEFT_MAX_METRICS];         /* of one example */
    size_t tensor_count;
    size_t example_bytes; /* of all tensors */
} wi_measures;

/* Errors: an output that is not f32 (batch, ...). Clear it afterwards in any case. */
weft_status wi_measures_init(wi_measures *measures, const wi_measure_list *list);
void wi_measures_clear(wi_measures *measures);
/* Finds the targets' columns, and checks that they fit the outputs. */
weft_status wi_measures_bind(wi_measures *measures, const weft_dataset *dataset);
void wi_measures_reset(wi_measures *measures);
/* outputs: the tensors of `examples` examples, one after the other with room for `batch` each. targets[i]:
 * the i-th metric's column of the same examples. */
weft_status wi_measures_add(wi_measures *measures, const unsigned char *outputs, const void *const *targets,
    size_t batch, size_t examples);

#endif
