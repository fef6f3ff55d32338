/* Contexts with processes (contract in waited_processes.h). */
#include "support/waited_processes.h"
#include "cl/compile_processes.h"
#include "cl/context.h"

#include <string.h>
#include <time.h>

enum { LONGEST = 120 /* seconds that a process may take beside others */, PER_SECOND = 50 };

weft_context *waited_processes_open(const char *folder, scratch_log *log) {
    weft_context *const context = test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT,
        .cache_dir = folder, .log = scratch_log_line, .log_user = log, .compile_processes = 1});
    if (wi_context_device(context)->processes) return context;
    print_message("skipped: no process compiles for this driver, or for a device of one unit\n");
    weft_context_release(context);
    skip();
    return NULL;
}

void waited_processes_wait(weft_context *context, const scratch_log *log) {
    const struct timespec pause = {.tv_nsec = 1000000000 / PER_SECOND};
    for (int i = 0; i < LONGEST * PER_SECOND && !strstr(log->text, "weft-compile ended"); i++) {
        nanosleep(&pause, NULL);
        wi_compile_processes_reap(wi_context_device(context));
    }
}
