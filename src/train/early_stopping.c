/* Watching a value from epoch to epoch (contract in early_stopping.h). */
#include "train/early_stopping.h"
#include "base/platform.h"
#include "cl/context.h"
#include "graph/sizes.h"
#include <math.h>
#include <stdio.h>
#include <weft/io.h>

static weft_status unknown_monitor(const wi_report *report, const char *monitor) {
    char names[512] = "";
    size_t used = 0;
    for (size_t i = 0; i < report->count && used < sizeof names; i++)
        used += (size_t)snprintf(
            names + used, sizeof names - used, "%s'%s'", i ? ", " : "", report->values[i].name);
    WI_FAIL(WEFT_ERROR_ARGUMENT, "early_stopping: there is no value '%.80s' to monitor; available: %s",
        monitor, names);
}

weft_status wi_watch_init(
    wi_watch *watch, weft_graph *graph, const weft_early_stopping *options, const wi_report *report) {
    watch->options = *options;
    if (options->patience == WEFT_ZERO)
        watch->options.patience = 1; /* stops after the first epoch without an improvement */
    watch->graph = graph;
    watch->best = (double)NAN;
    watch->best_epoch = SIZE_MAX;
    watch->active = options->monitor || options->patience || options->keep_best || options->restore_best ||
                    options->best_file;
    if ((unsigned)options->mode > WEFT_MODE_MAX)
        WI_FAIL(
            WEFT_ERROR_ARGUMENT, "early_stopping: mode is %d, which is not a weft_mode", (int)options->mode);
    WI_TRY(WI_CHECK_NUMBERS("early_stopping", {"patience", (double)options->patience},
        {"minimum_change", options->minimum_change}));
    if (!(options->minimum_change >= 0.0 && options->minimum_change < (double)INFINITY))
        WI_FAIL(WEFT_ERROR_ARGUMENT, "early_stopping: minimum_change is %g, expected 0 or more",
            options->minimum_change);
    if (options->monitor) {
        watch->value = wi_report_find(report, options->monitor);
        if (watch->value == SIZE_MAX) return unknown_monitor(report, options->monitor);
    } else {
        watch->value = wi_report_find(report, "validation_loss");
        if (watch->value == SIZE_MAX) watch->value = wi_report_find(report, "loss");
    }
    watch->down =
        options->mode == WEFT_MODE_AUTO ? report->values[watch->value].down : options->mode == WEFT_MODE_MIN;
    return WEFT_OK;
}

void wi_watch_clear(wi_watch *watch) {
    wi_snapshot_clear(&watch->snapshot);
}

weft_status wi_watch_prepare(wi_watch *watch) {
    if (!watch->options.keep_best && !watch->options.restore_best) return WEFT_OK;
    return wi_snapshot_prepare(&watch->snapshot, watch->graph);
}

weft_status wi_watch_begin(wi_watch *watch, bool goes_on) {
    if (goes_on) return WEFT_OK;
    watch->best = (double)NAN;
    watch->best_epoch = SIZE_MAX;
    watch->waited = 0;
    return wi_watch_prepare(watch);
}

bool wi_watch_is_over(const wi_watch *watch) {
    return watch->active && watch->options.patience && watch->waited >= watch->options.patience;
}

static bool is_better(const wi_watch *watch, double value) {
    if (isnan(value)) return false;
    if (isnan(watch->best)) return true;
    const double change = watch->options.minimum_change;
    return watch->down ? value < watch->best - change : value > watch->best + change;
}

weft_status wi_watch_epoch(wi_watch *watch, size_t epoch, const wi_report *report, bool *stop) {
    if (!watch->active) return WEFT_OK;
    const double value = report->values[watch->value].value;
    if (!is_better(watch, value)) {
        watch->waited++;
        if (wi_watch_is_over(watch)) *stop = true;
        return WEFT_OK;
    }
    watch->best = value;
    watch->best_epoch = epoch;
    watch->waited = 0;
    if (watch->snapshot.data) WI_TRY(wi_snapshot_take(&watch->snapshot));
    return watch->options.best_file ? weft_weights_save(watch->graph, watch->options.best_file) : WEFT_OK;
}

weft_status wi_watch_end(wi_watch *watch) {
    if (!watch->options.restore_best || !watch->snapshot.taken) return WEFT_OK;
    char line[WI_ERROR_LINE];
    wi_error_save(line, sizeof line);
    WI_TRY(wi_snapshot_restore(&watch->snapshot));
    wi_error_restore(line);
    return WEFT_OK;
}
