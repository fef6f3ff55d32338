/* What a program shows on stderr while its kernels are compiled, which takes seconds to minutes the first time. */
#ifndef PROGRESS_H
#define PROGRESS_H

#include <stddef.h>

/* For weft_context_options.progress. On a terminal one line that counts, and is gone when they are there. Elsewhere a line
 * every five seconds, and none where they are there before that. */
void show_compiling(void *user, size_t done, size_t total, const char *what);

#endif
