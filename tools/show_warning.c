/* See show_warning.h. */
#include "show_warning.h"
#include "base/platform.h"
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* What was said last, by the beginnings of its lines: a command that opens several contexts meets the same again. */
enum { KEPT = 32, LENGTH = 256 };

static bool is_new(const char *line) {
    static char said[KEPT][LENGTH];
    static size_t count;
    for (size_t i = 0; i < KEPT; i++)
        if (strncmp(said[i], line, LENGTH - 1) == 0) return false;
    snprintf(said[count++ % KEPT], LENGTH, "%s", line);
    return true;
}

void show_warning(void *user, weft_log_level level, const char *line) {
    static wi_mutex lock = WI_MUTEX_UNLOCKED;
    (void)user;
    if (level != WEFT_LOG_WARNING) return;
    wi_mutex_lock(&lock);
    if (is_new(line)) fprintf(stderr, SHOWN_WARNING "%s\n", line);
    wi_mutex_unlock(&lock);
}
