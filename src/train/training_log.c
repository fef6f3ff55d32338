/* Logs of a training (contract in training_log.h). Numbers are written with 9 significant digits (rates,
 * which are f32, with 7) and a point, whatever the program's locale is. */
#include "train/training_log.h"
#include <math.h>
#include <string.h>

enum { CSV, JSON, FILES };

void wi_training_log_init(
    wi_training_log *log, const weft_allocator *allocator, const weft_trainer_options *options) {
    *log = (wi_training_log){.allocator = allocator,
        .paths = {options->csv_log, options->json_log},
        .append = options->append_logs};
    wi_text_init(&log->line, allocator);
}

void wi_training_log_clear(wi_training_log *log) {
    for (int i = 0; i < FILES; i++) wi_line_file_close(log->files[i]);
    wi_text_clear(&log->line);
    *log = (wi_training_log){0};
}

bool wi_training_log_wanted(const wi_training_log *log) {
    return log->paths[CSV] || log->paths[JSON];
}

static void begin_line(wi_training_log *log) {
    log->line.length = 0;
}

static weft_status end_line(wi_training_log *log, int which) {
    wi_text_append(&log->line, "\n");
    if (log->line.failed) return WEFT_ERROR_MEMORY;
    return wi_line_file_write(log->files[which], log->line.data, log->line.length);
}

/* RFC 4180: quoted when it holds a separator, a quote or a line break. */
static void csv_name(wi_text *line, const char *name) {
    if (!strpbrk(name, ",\"\r\n")) {
        wi_text_append(line, ",%s", name);
        return;
    }
    wi_text_append(line, ",\"");
    for (; *name; name++) wi_text_append(line, *name == '"' ? "\"\"" : "%c", *name);
    wi_text_append(line, "\"");
}

static void csv_header(wi_training_log *log, const wi_report *report) {
    begin_line(log);
    wi_text_append(&log->line, "event,epoch,step");
    for (size_t i = 0; i < report->count; i++) csv_name(&log->line, report->values[i].name);
    wi_text_append(&log->line, ",learning_rate,seconds");
}

/* A log that goes on has the same columns. */
static weft_status check_header(wi_training_log *log, const char *path) {
    char *data = NULL;
    size_t bytes = 0;
    WI_TRY(wi_file_read(log->allocator, path, &data, &bytes));
    const char *const end = memchr(data, '\n', bytes);
    const bool same = end && (size_t)(end - data) == log->line.length &&
                      memcmp(data, log->line.data, log->line.length) == 0;
    wi_release(log->allocator, data);
    if (!same)
        WI_FAIL(WEFT_ERROR_FORMAT, "'%s': its columns are not those of this training; not appended to", path);
    return WEFT_OK;
}

static weft_status begin_csv(wi_training_log *log, const wi_report *report, bool empty) {
    csv_header(log, report);
    if (log->line.failed) return WEFT_ERROR_MEMORY;
    return empty ? end_line(log, CSV) : check_header(log, log->paths[CSV]);
}

weft_status wi_training_log_open(wi_training_log *log, const wi_report *report) {
    for (int i = 0; i < FILES && !log->open; i++) {
        bool empty = false;
        wi_line_file_close(log->files[i]); /* of an attempt that failed */
        log->files[i] = NULL;
        if (!log->paths[i]) continue;
        WI_TRY(wi_line_file_open(&log->files[i], log->allocator, log->paths[i], log->append, &empty));
        if (i == CSV) WI_TRY(begin_csv(log, report, empty));
    }
    log->open = true;
    return WEFT_OK;
}

static void csv_line(wi_text *line, const wi_log_event *event, const wi_report *report) {
    wi_text_append(line, "%s,%zu,%zu", event->is_step ? "step" : "epoch", event->epoch, event->step);
    for (size_t i = 0; i < report->count; i++)
        wi_text_append(
            line, isnan(report->values[i].value) && event->is_step ? "," : ",%.9g", report->values[i].value);
    wi_text_append(line, ",%.7g,%.3f", event->learning_rate, event->seconds);
}

static void json_name(wi_text *line, const char *name) {
    wi_text_append(line, ",\"");
    for (; *name; name++) {
        if ((unsigned char)*name < ' ')
            wi_text_append(line, "\\u%04x", (unsigned)*name);
        else
            wi_text_append(line, *name == '"' || *name == '\\' ? "\\%c" : "%c", *name);
    }
    wi_text_append(line, "\":");
}

static void json_value(wi_text *line, const char *name, int digits, double value) {
    json_name(line, name);
    if (isfinite(value))
        wi_text_append(line, "%.*g", digits, value);
    else
        wi_text_append(line, "null");
}

static void json_line(wi_text *line, const wi_log_event *event, const wi_report *report) {
    wi_text_append(line, "{\"event\":\"%s\",\"epoch\":%zu,\"step\":%zu", event->is_step ? "step" : "epoch",
        event->epoch, event->step);
    for (size_t i = 0; i < report->count; i++)
        json_value(line, report->values[i].name, 9, report->values[i].value);
    json_value(line, "learning_rate", 7, event->learning_rate);
    wi_text_append(line, ",\"seconds\":%.3f}", event->seconds);
}

weft_status wi_training_log_write(wi_training_log *log, const wi_log_event *event, const wi_report *report) {
    static void (*const forms[FILES])(wi_text *, const wi_log_event *, const wi_report *) = {
        csv_line, json_line};
    for (int i = 0; i < FILES; i++) {
        if (!log->files[i]) continue;
        wi_locale locale;
        begin_line(log);
        wi_locale_enter(&locale);
        forms[i](&log->line, event, report);
        wi_locale_leave(&locale);
        WI_TRY(end_line(log, i));
    }
    return WEFT_OK;
}
