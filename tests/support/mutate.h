/* Damaged versions of a good file for a reader that must survive them all: every prefix, and random changes.
 */
#ifndef MUTATE_H
#define MUTATE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct mutate_counts {
    size_t tries, refused;
} mutate_counts;

/* read gets bytes in memory of their exact size, so that a sanitizer sees reads past the end; it checks what
 * it may and says whether the file was taken. `changes` files with one to four bytes replaced, removed,
 * doubled or swapped, besides the prefixes. */
mutate_counts mutate_all(const char *good, size_t size, size_t changes,
    bool (*read)(void *user, const char *bytes, size_t size), void *user);
/* The same with about so many prefixes. */
mutate_counts mutate_some(const char *good, size_t size, size_t prefixes, size_t changes,
    bool (*read)(void *user, const char *bytes, size_t size), void *user);

#endif
