/* See progress.h. */
#include "progress.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { QUIET_SECONDS = 5 };

static double clock_seconds(void) {
    struct timespec now = {0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void print_count(size_t done, size_t total, const char *what) {
    if (total == 1)
        fprintf(stderr, "preparing %s", what);
    else
        fprintf(stderr, "preparing: %zu of %zu %s", done, total, what);
}

static void show_on_terminal(size_t done, size_t total, const char *what) {
    fprintf(stderr, "\r\033[K");
    if (done < total) print_count(done, total, what);
}

static void show_by_lines(size_t done, size_t total, const char *what) {
    static double last; /* of the operation: its begin, or its last line */
    const double now = clock_seconds();
    if (done > 0 && now - last < QUIET_SECONDS) return;
    if (done > 0) print_count(done, total, what), fprintf(stderr, "\n");
    last = now;
}

const char *step_time(const weft_training_info *info, bool json) {
    static char text[48];
    const double milliseconds = 1e3 * info->median_step_seconds;
    text[0] = 0;
    if (milliseconds > 0)
        snprintf(text, sizeof text, json ? ", \"step_ms\": %.4f" : ", %.3f ms a step", milliseconds);
    return text;
}

void show_compiling(void *user, size_t done, size_t total, const char *what) {
    static atomic_flag busy = ATOMIC_FLAG_INIT; /* contexts of several threads: one of them is shown */
    (void)user;
    if (atomic_flag_test_and_set(&busy)) return;
    (isatty(STDERR_FILENO) ? show_on_terminal : show_by_lines)(done, total, what);
    atomic_flag_clear(&busy);
}
