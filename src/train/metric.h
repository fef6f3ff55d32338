/* What the trainer knows of a metric besides its public face. */
#ifndef WI_METRIC_H
#define WI_METRIC_H

#include "base/memory.h"
#include <weft/train.h>

enum { WI_METRIC_NAME = 64 };

weft_status wi_metric_check(const weft_metric *metric);
/* Its name, or the default of its kind. */
void wi_metric_name(const weft_metric *metric, char name[WI_METRIC_NAME]);
bool wi_metric_takes_values(weft_metric_kind kind); /* float targets of the outputs' shape, not labels */
bool wi_metric_goes_down(weft_metric_kind kind);    /* less is better */
/* All that a state has counted and summed, for checkpoints. */
double *wi_metric_sums(weft_metric_state *state, size_t *count);

#endif
