/* See progress.h. */
#include "progress.h"
#include <stdatomic.h>
#include <stdio.h>

static atomic_flag shown = ATOMIC_FLAG_INIT; /* any thread may compile */

void show_compiling(void *user, size_t done, size_t total, const char *what) {
    (void)user, (void)done, (void)total, (void)what;
    if (atomic_flag_test_and_set(&shown)) return;
    printf("preparing kernels; the first time they are compiled\n");
    fflush(stdout);
}
