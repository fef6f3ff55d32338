/* Damaged versions of a good file for a reader that must survive them all: every prefix, and random changes.
 */
#ifndef MUTATE_H
#define MUTATE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct mutate_counts {
    size_t tries, refused;
} mutate_counts;

/* Calls `read` for each prefix of the file, and for `changes` copies in which one to four bytes are replaced, removed,
 * doubled or swapped. read gets the bytes in memory of their exact size, so that a sanitizer finds reads past the end; it
 * returns whether the reader accepted the file. */
mutate_counts mutate_all(const char *good, size_t size, size_t changes,
    bool (*read)(void *user, const char *bytes, size_t size), void *user);
/* mutate_all with about `prefixes` prefixes instead of all. */
mutate_counts mutate_some(const char *good, size_t size, size_t prefixes, size_t changes,
    bool (*read)(void *user, const char *bytes, size_t size), void *user);

#endif
