/* CSV and JSON-lines logs of a training. Each line is written as a whole. A log that continues after a checkpoint loses
 * the lines that were written after the checkpoint, because the resumed training writes them again. */
#ifndef WI_TRAINING_LOG_H
#define WI_TRAINING_LOG_H

#include "base/platform.h"
#include "train/report.h"

enum { WI_LOG_CSV, WI_LOG_JSON, WI_LOGS };

/* The lengths of the logs at a checkpoint. */
typedef struct wi_log_position {
    size_t step;         /* finished steps */
    bool known[WI_LOGS]; /* the log was written, and `bytes` is its length */
    uint64_t bytes[WI_LOGS];
} wi_log_position;

typedef struct wi_training_log {
    const weft_allocator *allocator;
    const char *paths[WI_LOGS]; /* NULL: none */
    bool append, open;
    wi_log_position resumed;
    wi_line_file *files[WI_LOGS];
    wi_text line;
} wi_training_log;

typedef struct wi_log_event {
    bool is_step;
    size_t epoch, step; /* from 1 */
    double learning_rate, seconds;
} wi_log_event;

/* Opens no file yet. The paths of the options must outlive the log. */
void wi_training_log_init(
    wi_training_log *log, const weft_allocator *allocator, const weft_trainer_options *options);
void wi_training_log_clear(wi_training_log *log);
weft_status wi_training_log_position(const wi_training_log *log, wi_log_position *position);
/* Closes the files; when they are opened again, they continue from this position. */
void wi_training_log_resume(wi_training_log *log, const wi_log_position *position);
/* Opens the files unless they are open, and writes the header of a new CSV file. Errors name the path; a file is not
 * changed if it cannot be continued. */
weft_status wi_training_log_open(wi_training_log *log, const wi_report *report);
weft_status wi_training_log_write(wi_training_log *log, const wi_log_event *event, const wi_report *report);

#endif
