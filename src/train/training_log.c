/* Logs of a training (contract in training_log.h). Numbers are written with 9 significant digits (rates,
 * which are f32, with 7) and a point, whatever the program's locale is. */
#include "train/training_log.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { EVENT_ROOM = 96 }; /* enough for a line's event, epoch and step */

void wi_training_log_init(
    wi_training_log *log, const weft_allocator *allocator, const weft_trainer_options *options) {
    *log = (wi_training_log){.allocator = allocator,
        .paths = {options->csv_log, options->json_log},
        .append = options->append_logs};
    wi_text_init(&log->line, allocator);
}

static void close_files(wi_training_log *log) {
    for (int i = 0; i < WI_LOGS; i++) {
        wi_line_file_close(log->files[i]);
        log->files[i] = NULL;
    }
    log->open = false;
}

void wi_training_log_clear(wi_training_log *log) {
    close_files(log);
    wi_text_clear(&log->line);
    *log = (wi_training_log){0};
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

/* A log that is continued must have the same columns. */
static weft_status check_header(wi_training_log *log, const char *path) {
    char *data = NULL;
    size_t bytes = 0;
    WI_TRY(wi_file_read(log->allocator, path, &data, &bytes));
    const char *const end = memchr(data, '\n', bytes);
    const bool same = end && (size_t)(end - data) == log->line.length &&
                      memcmp(data, log->line.data, log->line.length) == 0;
    wi_release(log->allocator, data);
    if (!same)
        WI_FAIL(WEFT_ERROR_FORMAT,
            "'%s' is a log with other columns than this training has, so nothing is appended; choose another "
            "file",
            path);
    return WEFT_OK;
}

static weft_status begin_csv(wi_training_log *log, const wi_report *report, bool empty) {
    csv_header(log, report);
    if (log->line.failed) return WEFT_ERROR_MEMORY;
    return empty ? end_line(log, WI_LOG_CSV) : check_header(log, log->paths[WI_LOG_CSV]);
}

/* ---- logs that continue after a checkpoint ---- */

weft_status wi_training_log_position(const wi_training_log *log, wi_log_position *position) {
    for (int i = 0; i < WI_LOGS; i++) {
        position->known[i] = log->files[i] != NULL;
        if (log->files[i]) WI_TRY(wi_line_file_size(log->files[i], &position->bytes[i]));
    }
    return WEFT_OK;
}

void wi_training_log_resume(wi_training_log *log, const wi_log_position *position) {
    close_files(log);
    log->append = true;
    log->resumed = *position;
}

/* Does the resumed training write this line again? The line of an epoch comes after that of its last step. */
static bool comes_again(const char *line, size_t bytes, int which, size_t step) {
    static const char *const forms[WI_LOGS] = {
        "%5[a-z],%*u,%zu,", "{\"event\":\"%5[a-z]\",\"epoch\":%*u,\"step\":%zu,"};
    char start[EVENT_ROOM] = "", event[8] = "";
    size_t at = 0;
    memcpy(start, line, bytes < sizeof start - 1 ? bytes : sizeof start - 1);
    if (sscanf(start, forms[which], event, &at) != 2) return false;
    return at > step || (at == step && strcmp(event, "epoch") == 0);
}

/* From byte `from` on, are there only lines that the resumed training writes again? The last line may be incomplete, if
 * the process was killed. */
static bool can_be_cut(const char *data, size_t bytes, size_t from, int which, size_t step) {
    if (from > 0 && data[from - 1] != '\n') return false;
    while (from < bytes) {
        const char *const end = memchr(data + from, '\n', bytes - from);
        if (!end) return true;
        if (!comes_again(data + from, (size_t)(end - data) - from, which, step)) return false;
        from = (size_t)(end - data) + 1;
    }
    return true;
}

/* Truncates a log to its length at the checkpoint. If the file is shorter, it is another log or has lost its end; then
 * it stays as it is, and lines are only appended. */
static weft_status cut_file(wi_training_log *log, int which) {
    const wi_log_position *const at = &log->resumed;
    char *data = NULL;
    size_t bytes = 0;
    if (!at->known[which]) return WEFT_OK;
    WI_TRY(wi_file_read(log->allocator, log->paths[which], &data, &bytes));
    const bool longer = bytes > at->bytes[which];
    const bool fits = !longer || can_be_cut(data, bytes, (size_t)at->bytes[which], which, at->step);
    wi_release(log->allocator, data);
    if (!fits)
        WI_FAIL(WEFT_ERROR_FORMAT,
            "'%s' is not the log of the resumed training: its lines from byte %zu on do not belong to steps "
            "after step %zu",
            log->paths[which], (size_t)at->bytes[which], at->step);
    return longer ? wi_line_file_cut(log->files[which], at->bytes[which]) : WEFT_OK;
}

static weft_status open_file(wi_training_log *log, int which, const wi_report *report) {
    bool empty = false;
    WI_TRY(wi_line_file_open(&log->files[which], log->allocator, log->paths[which], log->append, &empty));
    if (which == WI_LOG_CSV) WI_TRY(begin_csv(log, report, empty));
    return empty ? WEFT_OK : cut_file(log, which);
}

weft_status wi_training_log_open(wi_training_log *log, const wi_report *report) {
    if (log->open) return WEFT_OK;
    close_files(log); /* files that an earlier, failed call opened */
    for (int i = 0; i < WI_LOGS; i++)
        if (log->paths[i]) WI_TRY(open_file(log, i, report));
    log->resumed = (wi_log_position){0};
    log->open = true;
    return WEFT_OK;
}

/* ---- lines ---- */

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
    static void (*const forms[WI_LOGS])(wi_text *, const wi_log_event *, const wi_report *) = {
        csv_line, json_line};
    for (int i = 0; i < WI_LOGS; i++) {
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
