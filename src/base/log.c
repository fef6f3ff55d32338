/* Log lines (contract in log.h). */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

void wi_log_line(const wi_log *log, weft_log_level level, const char *format, ...) {
    if (!log->function) return;
    char line[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    for (char *c = line; *c != '\0'; c++) {
        if (*c == '\n' || *c == '\r') *c = ' ';
    }
    log->function(log->user, level, line);
}
