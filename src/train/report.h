/* The values that an epoch gives, by name: what logs write down and what early stopping can watch. */
#ifndef WI_REPORT_H
#define WI_REPORT_H

#include "train/metric.h"

enum { WI_REPORT_VALUES = 4 + 2 * WEFT_MAX_METRICS, WI_REPORT_NAME = WI_METRIC_NAME + 16 };

typedef struct wi_report_value {
    char name[WI_REPORT_NAME]; /* "loss", "validation_f1" */
    bool down;                 /* less is better */
    double value;
} wi_report_value;

typedef struct wi_report {
    wi_report_value values[WI_REPORT_VALUES];
    size_t count;
} wi_report;

typedef struct wi_report_options {
    bool accuracy, training_metrics, validation;
    const weft_metric *metrics; /* named */
    size_t metric_count;
} wi_report_options;

/* Loss, accuracy and metrics of the training, then the same of the validation, as far as there are any. A
 * metric called "accuracy" replaces the accuracy of the logits. Errors: two values of one name. */
weft_status wi_report_init(wi_report *report, const wi_report_options *options);
/* SIZE_MAX when there is none; name may be NULL. */
size_t wi_report_find(const wi_report *report, const char *name);
void wi_report_set(wi_report *report, const char *name, double value); /* a name that is not there is fine */
void wi_report_fill(wi_report *report, const weft_epoch *epoch, const weft_metric *metrics);

#endif
