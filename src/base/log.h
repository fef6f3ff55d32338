/* Log lines for the embedder's callback; the library itself prints nothing. */
#ifndef WI_LOG_H
#define WI_LOG_H

#include "base/status.h"

typedef struct wi_log {
    weft_log_function function; /* NULL: no log */
    void *user;
} wi_log;

/* Calls the callback with one line of at most 2047 bytes, in which line breaks are replaced by spaces. */
void wi_log_line(const wi_log *log, weft_log_level level, const char *format, ...) WI_PRINTF(3, 4);

#endif
