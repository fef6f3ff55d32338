/* What a program shows while its kernels are compiled, which takes seconds the first time. */
#ifndef PROGRESS_H
#define PROGRESS_H

#include <stddef.h>

/* For weft_context_options.progress: a line, once in a program. Drivers that keep compiled kernels themselves are asked to
 * compile them every time, so the line does not promise that it takes long. */
void show_compiling(void *user, size_t done, size_t total, const char *what);

#endif
