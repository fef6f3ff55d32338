/* What programs show of their progress: while kernels are compiled, which takes seconds to minutes the first time, and at the end. */
#ifndef PROGRESS_H
#define PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <weft/train.h>

/* On stderr, for weft_context_options.progress. On a terminal one line that counts, and is gone when they are there. Elsewhere a line
 * every five seconds, and none where they are there before that. */
void show_compiling(void *user, size_t done, size_t total, const char *what);
/* ", 0.052 ms a step", or for an object of JSON ", \"step_ms\": 0.0520"; "" where no step was made, as in a training that goes on after
 * its end. It stays until the next call. */
const char *step_time(const weft_training_info *info, bool json);

#endif
