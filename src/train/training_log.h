/* CSV and JSON-lines logs of a training: whole lines, each written at once. */
#ifndef WI_TRAINING_LOG_H
#define WI_TRAINING_LOG_H

#include "base/platform.h"
#include "train/report.h"

typedef struct wi_training_log {
    const weft_allocator *allocator;
    const char *paths[2]; /* CSV, JSON lines; NULL: none */
    bool append, open;
    wi_line_file *files[2];
    wi_text line;
} wi_training_log;

typedef struct wi_log_event {
    bool is_step;
    size_t epoch, step; /* from 1 */
    double learning_rate, seconds;
} wi_log_event;

/* paths outlive the log. Opens nothing yet. */
void wi_training_log_init(
    wi_training_log *log, const weft_allocator *allocator, const weft_trainer_options *options);
void wi_training_log_clear(wi_training_log *log);
bool wi_training_log_wanted(const wi_training_log *log);
/* Opens the files unless they are open, and writes the CSV header. Errors name the path. */
weft_status wi_training_log_open(wi_training_log *log, const wi_report *report);
weft_status wi_training_log_write(wi_training_log *log, const wi_log_event *event, const wi_report *report);

#endif
