/* What calls a driver that nobody knows runs in a child process: a driver that ends the process takes no more than that down, and
 * what it was at is known. */
#ifndef IN_CHILD_H
#define IN_CHILD_H

enum { IN_CHILD_TEXT = 2048 }; /* bytes of what a child says that it does */

typedef struct in_child_end {
    int signal;               /* that ended it; 0: none */
    int status;               /* its exit status */
    char said[IN_CHILD_TEXT]; /* its last line */
} in_child_end;

/* Runs run(data) in a child, and waits for its end; in this process where there can be no child. Nothing of OpenCL may have been
 * called before: drivers have threads, which a child lacks. */
void in_child(in_child_end *end, int (*run)(const void *data), const void *data);

/* Where a child ended since nobody reads what it prints (`weft check | head`), this process ends in the same way, without a word.
 * status: that of waitpid. */
void in_child_follow(int status);

/* A process's exit status, of a child or not: not 0 where what it printed could not be written, which is said. */
int in_child_written(int status);

/* The child's word on what it does from now on; "": nothing of a driver's. */
void in_child_say(const char *line);

#endif
