/* The numbers of histograms and precision-recall curves. */
#ifndef WI_EVENT_MEASURES_H
#define WI_EVENT_MEASURES_H

#include "train/event_sink.h"

/* Counts the finite values in buckets of equal width. False: there are none. */
bool wi_event_histogram_fill(wi_event_histogram *histogram, const float *values, size_t count);
/* WEFT_ERROR_ARGUMENT: a score or label is out of range. */
weft_status wi_event_pr_curve_fill(
    wi_event_pr_curve *curve, const float *scores, const int32_t *labels, size_t count);

#endif
