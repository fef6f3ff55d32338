/* CSV and JSON-lines logs of a training: whole lines, each written at once. A log that goes on after a checkpoint loses the
 * lines that were written after that, since they come again. */
#ifndef WI_TRAINING_LOG_H
#define WI_TRAINING_LOG_H

#include "base/platform.h"
#include "train/report.h"

enum { WI_LOG_CSV, WI_LOG_JSON, WI_LOGS };

/* Where the logs stood at a checkpoint. */
typedef struct wi_log_position {
    size_t step;
    bool known[WI_LOGS]; /* the checkpoint says so: that log was written */
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

/* paths outlive the log. Opens nothing yet. */
void wi_training_log_init(
    wi_training_log *log, const weft_allocator *allocator, const weft_trainer_options *options);
void wi_training_log_clear(wi_training_log *log);
weft_status wi_training_log_position(const wi_training_log *log, wi_log_position *position);
/* From here on the files go on as they were at this position, when they are opened again. */
void wi_training_log_resume(wi_training_log *log, const wi_log_position *position);
/* Opens the files unless they are open, and writes the CSV header. Errors, which name the path, leave a file as it was. */
weft_status wi_training_log_open(wi_training_log *log, const wi_report *report);
weft_status wi_training_log_write(wi_training_log *log, const wi_log_event *event, const wi_report *report);

#endif
