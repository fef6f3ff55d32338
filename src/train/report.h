/* The values of an epoch by name, for logs and early stopping. */
#ifndef WI_REPORT_H
#define WI_REPORT_H

#include "train/metric.h"

enum { WI_REPORT_VALUES = 4 + 2 * WEFT_MAX_METRICS, WI_REPORT_NAME = WI_METRIC_NAME + 16 };

typedef struct wi_report_value {
    char name[WI_REPORT_NAME]; /* "loss", "validation_f1" */
    bool down;                 /* a lower value is better */
    double value;
} wi_report_value;

typedef struct wi_report {
    wi_report_value values[WI_REPORT_VALUES];
    size_t count;
} wi_report;

typedef struct wi_report_options {
    bool accuracy, training_metrics, validation;
    const weft_metric *metrics; /* with names */
    size_t metric_count;
} wi_report_options;

/* Sets the names: loss, accuracy and metrics of training, then those of validation, as far as the options have them. A
 * metric with the name "accuracy" replaces the accuracy of the logits. WEFT_ERROR_ARGUMENT: two values of one name. */
weft_status wi_report_init(wi_report *report, const wi_report_options *options);
/* The index of a value; SIZE_MAX: there is none. name may be NULL. */
size_t wi_report_find(const wi_report *report, const char *name);
void wi_report_set(wi_report *report, const char *name, double value); /* an unknown name is ignored */
void wi_report_fill(wi_report *report, const weft_epoch *epoch, const weft_metric *metrics);

#endif
