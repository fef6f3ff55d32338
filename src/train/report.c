/* Names and values of an epoch (contract in report.h). */
#include "train/report.h"
#include <stdio.h>
#include <string.h>

static const char *const prefixes[2] = {"", "validation_"};

size_t wi_report_find(const wi_report *report, const char *name) {
    for (size_t i = 0; name && i < report->count; i++)
        if (strcmp(report->values[i].name, name) == 0) return i;
    return SIZE_MAX;
}

static weft_status add(wi_report *report, const char *prefix, const char *name, bool down) {
    wi_report_value *const value = &report->values[report->count];
    *value = (wi_report_value){.down = down};
    snprintf(value->name, sizeof value->name, "%s%s", prefix, name);
    if (wi_report_find(report, value->name) != SIZE_MAX)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "trainer: two values are called '%s'; give the metric another name",
            value->name);
    report->count++;
    return WEFT_OK;
}

static bool is_replaced(const wi_report_options *options, bool with_metrics) {
    for (size_t m = 0; m < options->metric_count && with_metrics; m++)
        if (strcmp(options->metrics[m].name, "accuracy") == 0) return true;
    return false;
}

weft_status wi_report_init(wi_report *report, const wi_report_options *options) {
    report->count = 0;
    for (int validation = 0; validation < 1 + options->validation; validation++) {
        const char *const prefix = prefixes[validation];
        const bool with_metrics = validation || options->training_metrics;
        WI_TRY(add(report, prefix, "loss", true));
        if (options->accuracy && !is_replaced(options, with_metrics))
            WI_TRY(add(report, prefix, "accuracy", false));
        for (size_t m = 0; m < options->metric_count && with_metrics; m++)
            WI_TRY(
                add(report, prefix, options->metrics[m].name, wi_metric_goes_down(options->metrics[m].kind)));
    }
    return WEFT_OK;
}

void wi_report_set(wi_report *report, const char *name, double value) {
    const size_t index = wi_report_find(report, name);
    if (index != SIZE_MAX) report->values[index].value = value;
}

void wi_report_fill(wi_report *report, const weft_epoch *epoch, const weft_metric *metrics) {
    const double losses[2] = {epoch->loss, epoch->validation_loss};
    const double accuracies[2] = {epoch->accuracy, epoch->validation_accuracy};
    const double *const measured[2] = {epoch->training_metrics, epoch->validation_metrics};
    for (int validation = 0; validation < 2; validation++) {
        char name[WI_REPORT_NAME];
        snprintf(name, sizeof name, "%sloss", prefixes[validation]);
        wi_report_set(report, name, losses[validation]);
        snprintf(name, sizeof name, "%saccuracy", prefixes[validation]);
        wi_report_set(report, name, accuracies[validation]);
        for (size_t m = 0; m < epoch->metric_count; m++) { /* last, as a metric may replace the accuracy */
            snprintf(name, sizeof name, "%s%s", prefixes[validation], metrics[m].name);
            wi_report_set(report, name, measured[validation][m]);
        }
    }
}
