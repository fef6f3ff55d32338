/* Contexts whose plans are compiled by a process, too. */
#ifndef WAITED_PROCESSES_H
#define WAITED_PROCESSES_H

#include "support/fixture.h"
#include "support/scratch.h"

/* Opens a context with one process, a log and this folder for Weft's cache. Skips the test, with a reason, where no process would be
 * started. */
weft_context *waited_processes_open(const char *folder, scratch_log *log);
/* Waits until the log says that a process has ended. */
void waited_processes_wait(weft_context *context, const scratch_log *log);

#endif
