/* Shared by several tests: temporary folders, an allocator that fails on demand, and a log function that stores the lines. */
#ifndef SCRATCH_H
#define SCRATCH_H

#include <stdatomic.h>
#include <weft/device.h>

/* Makes an empty folder and returns its path; scratch_remove deletes it with its content and frees the path.
 */
char *scratch_make(void);
void scratch_remove(char *folder);
/* A cmocka test whose *state is the path of such a folder. */
#define SCRATCH_TEST(test) cmocka_unit_test_setup_teardown(test, scratch_setup, scratch_teardown)
int scratch_setup(void **state);
int scratch_teardown(void **state);
/* folder + "/" + name; valid until the next call. */
const char *scratch_path(const char *folder, const char *name);
/* The number of files in a folder whose names contain part; -1: the folder cannot be read. Copies the path of
 * the last of them to path (4096 bytes) unless that is NULL. */
int scratch_count(const char *folder, const char *part, char *path);

/* Counts allocations. After fail_after allocations every further one fails, or, with `once`, only the next one; -1: none
 * fails. */
typedef struct scratch_allocator {
    atomic_long made, live, fail_after;
    atomic_bool once; /* initially false */
    weft_allocator hooks;
} scratch_allocator;

void scratch_allocator_init(scratch_allocator *allocator, long fail_after);

/* A log function; user is a scratch_log. Stores the lines, with line breaks, as far as there is room. */
typedef struct scratch_log {
    char text[16384];
    int warnings;
} scratch_log;

void scratch_log_line(void *user, weft_log_level level, const char *line);

/* Opens a context with the folder as its cache, whose log is stored in *log (NULL: no log). The test fails if this fails. */
weft_context *scratch_context(const char *folder, scratch_log *log);

#endif
