/* What a child of fork() does, and what it checks. cmocka's assertions are no use there: they would jump into the parent's test. */
#ifndef FORKED_H
#define FORKED_H

#include <stdbool.h>

/* Runs work(user) in a child, which ends by _exit, and waits for it: whether it returned 0 in that many seconds. */
bool forked_run(int (*work)(void *user), void *user, unsigned seconds);
/* Says on stderr what did not hold, and with which line of Weft's; returns 1. */
int forked_failed(const char *file, int line, const char *what);

/* In a function that returns an int: 0, or 1 where something does not hold. */
#define FORKED_CHECK(condition)                                                                              \
    do {                                                                                                     \
        if (!(condition)) return forked_failed(__FILE__, __LINE__, #condition);                              \
    } while (0)

#endif
