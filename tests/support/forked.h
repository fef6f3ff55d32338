/* Runs checks in a child of fork(). cmocka's assertions cannot be used there, because they would jump into the parent's test. */
#ifndef FORKED_H
#define FORKED_H

#include <stdbool.h>

/* Runs work(user) in a child, which ends by _exit. Returns whether work returned 0 within this number of seconds. */
bool forked_run(int (*work)(void *user), void *user, unsigned seconds);
/* Prints the condition that does not hold and Weft's last error line to stderr; returns 1. */
int forked_failed(const char *file, int line, const char *what);

/* For functions that return an int: returns 1 from the function if the condition does not hold. */
#define FORKED_CHECK(condition)                                                                              \
    do {                                                                                                     \
        if (!(condition)) return forked_failed(__FILE__, __LINE__, #condition);                              \
    } while (0)

#endif
