/* What the trainer knows of a metric besides its public face. */
#ifndef WI_METRIC_H
#define WI_METRIC_H

#include "base/memory.h"
#include <weft/train.h>

enum { WI_METRIC_NAME = 64 };

weft_status wi_metric_check(const weft_metric *metric);
/* Its name, or the default of its kind. */
void wi_metric_name(const weft_metric *metric, char name[WI_METRIC_NAME]);
bool wi_metric_takes_values(weft_metric_kind kind);  /* float targets of the outputs' shape, not labels */
bool wi_metric_needs_answers(weft_metric_kind kind); /* of the outputs only the class that is answered */
bool wi_metric_goes_down(weft_metric_kind kind);     /* less is better */
/* Rows to be added: as weft_metric_rows, whose checks have been made. */
typedef struct wi_metric_rows {
    size_t rows;
    const float *outputs;
    const int32_t *answers; /* classes, for metrics that need no more; NULL: those of outputs */
    const int32_t *labels;
    const float *targets, *weights;
    size_t rows_per_weight;
    const int32_t *lengths;
    size_t length;
} wi_metric_rows;
weft_status wi_metric_add(const char *call, weft_metric_state *state, const wi_metric_rows *rows);

/* All that a state has counted and summed, for checkpoints. */
double *wi_metric_sums(weft_metric_state *state, size_t *count);

#endif
