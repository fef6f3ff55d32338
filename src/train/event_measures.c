/* Histograms and precision-recall curves (contract in event_measures.h). */
#include "train/event_measures.h"
#include <inttypes.h>
#include <math.h>

bool wi_event_histogram_fill(wi_event_histogram *histogram, const float *values, size_t count) {
    float least = INFINITY, most = -INFINITY;
    *histogram = (wi_event_histogram){.buckets = WI_EVENT_BUCKETS};
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(values[i])) continue;
        least = values[i] < least ? values[i] : least;
        most = values[i] > most ? values[i] : most;
    }
    if (least > most) return false;
    if (least == most) histogram->buckets = 1;
    histogram->least = (double)least;
    histogram->most = (double)most;
    const double width = (histogram->most - histogram->least) / (double)histogram->buckets;
    for (size_t i = 0; i < histogram->buckets; i++)
        histogram->limits[i] = histogram->least + width * (double)(i + 1);
    histogram->limits[histogram->buckets - 1] = histogram->most;
    for (size_t i = 0; i < count; i++) {
        const double value = (double)values[i];
        if (!isfinite(value)) continue;
        const size_t bucket = width > 0 ? (size_t)((value - histogram->least) / width) : 0;
        histogram->counts[bucket < histogram->buckets ? bucket : histogram->buckets - 1] += 1;
        histogram->count += 1;
        histogram->sum += value;
        histogram->sum_of_squares += value * value;
    }
    return true;
}

/* A score predicts class 1 at thresholds up to itself: TensorBoard's curves count scores of the threshold as class 1. */
static size_t thresholds_below(float score) {
    const size_t last = WI_EVENT_THRESHOLDS - 1;
    return (size_t)floorf(score * (float)last);
}

weft_status wi_event_pr_curve_fill(
    wi_event_pr_curve *curve, const float *scores, const int32_t *labels, size_t count) {
    double totals[2] = {0}, at[2][WI_EVENT_THRESHOLDS] = {{0}}, seen[2] = {0};
    for (size_t i = 0; i < count; i++) {
        if (!(scores[i] >= 0 && scores[i] <= 1) || labels[i] < 0 || labels[i] > 1)
            WI_FAIL(WEFT_ERROR_ARGUMENT,
                "weft_events_pr_curve: example %zu has the score %g and the label %" PRId32
                ", expected a score in [0, 1] and the label 0 or 1",
                i, (double)scores[i], labels[i]);
        at[labels[i]][thresholds_below(scores[i])] += 1;
        totals[labels[i]] += 1;
    }
    for (size_t t = WI_EVENT_THRESHOLDS; t-- > 0;) {
        for (int label = 0; label < 2; label++) seen[label] += at[label][t];
        const double predicted = seen[0] + seen[1];
        curve->values[WI_PR_TRUE_POSITIVES][t] = (float)seen[1];
        curve->values[WI_PR_FALSE_POSITIVES][t] = (float)seen[0];
        curve->values[WI_PR_TRUE_NEGATIVES][t] = (float)(totals[0] - seen[0]);
        curve->values[WI_PR_FALSE_NEGATIVES][t] = (float)(totals[1] - seen[1]);
        curve->values[WI_PR_PRECISION][t] = (float)(predicted > 0 ? seen[1] / predicted : 0.0);
        curve->values[WI_PR_RECALL][t] = (float)(totals[1] > 0 ? seen[1] / totals[1] : 0.0);
    }
    return WEFT_OK;
}
