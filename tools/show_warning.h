/* What the library's log says to those who run a command: warnings, one line each on stderr. */
#ifndef SHOW_WARNING_H
#define SHOW_WARNING_H

#include "progress.h"
#include <weft/device.h>

#define SHOWN_WARNING "weft: warning: " /* how its lines begin */

/* A weft_log_function: shows a warning, each only once, and nothing else. */
void show_warning(void *user, weft_log_level level, const char *line);

/* The context options of every command. */
#define TOOL_CONTEXT_OPTIONS_INIT PROGRAM_CONTEXT_OPTIONS_INIT, .log = show_warning

#endif
