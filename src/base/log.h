/* One log line to the embedder's callback; the library itself never prints. */
#ifndef WI_LOG_H
#define WI_LOG_H

#include "base/status.h"

typedef struct wi_log {
    weft_log_function function; /* NULL: silent */
    void *user;
} wi_log;

void wi_log_line(const wi_log *log, weft_log_level level, const char *format, ...) WI_PRINTF(3, 4);

#endif
