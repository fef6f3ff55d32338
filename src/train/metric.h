/* Metrics for the trainer, besides the public functions. */
#ifndef WI_METRIC_H
#define WI_METRIC_H

#include "base/memory.h"
#include <weft/train.h>

enum { WI_METRIC_NAME = 64 };

weft_status wi_metric_check(const weft_metric *metric); /* WEFT_ERROR_ARGUMENT: a field out of range */
/* name: the name of the metric, or the default of its kind. */
void wi_metric_name(const weft_metric *metric, char name[WI_METRIC_NAME]);
bool wi_metric_takes_values(weft_metric_kind kind);  /* compares with floats, not with labels */
bool wi_metric_needs_answers(weft_metric_kind kind); /* needs only the predicted class of each row */
bool wi_metric_goes_down(weft_metric_kind kind);     /* a lower value is better */
/* The arguments of weft_metric_rows after its checks. A metric that needs only the predicted classes may get these as
 * `answers`, with outputs NULL. */
typedef struct wi_metric_rows {
    size_t rows;
    const float *outputs;
    const int32_t *answers; /* predicted classes, if wi_metric_needs_answers; NULL: computed from outputs */
    const int32_t *labels;
    const float *targets, *weights;
    size_t rows_per_weight;
    const int32_t *lengths;
    size_t length;
} wi_metric_rows;
weft_status wi_metric_add(const char *call, weft_metric_state *state, const wi_metric_rows *rows);

/* The sums of a state, *count numbers, which checkpoints save and restore. */
double *wi_metric_sums(weft_metric_state *state, size_t *count);

#endif
