/* A test in a process of its own, of what may not end. */
#ifndef CHILD_TEST_H
#define CHILD_TEST_H

/* Runs it over a folder of its own, before this process opens a device: drivers do not survive a fork. What it returns; -1: it did not end in
 * so many seconds, or was ended by a signal. */
int child_test(int (*test)(const char *folder), unsigned seconds);

#endif
