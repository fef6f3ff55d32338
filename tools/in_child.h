/* What calls a driver that nobody knows runs in a child process: a driver that ends the process takes no more than that down, and
 * what it was at is known. On Windows it runs in this process, which then says what it was at.
 *
 * in_child_posix.c and in_child_windows.c; in_child.c is the same on both. */
#ifndef IN_CHILD_H
#define IN_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { IN_CHILD_TEXT = 2048 }; /* bytes of what a child says that it does */

typedef struct in_child_end {
    int signal;               /* that ended it; 0: none */
    int status;               /* its exit status */
    char said[IN_CHILD_TEXT]; /* its last line */
} in_child_end;

/* Runs run(data) in a child, and waits for its end; in this process where there can be no child. Nothing of OpenCL may have been
 * called before: drivers have threads, which a child lacks. */
void in_child(in_child_end *end, int (*run)(const void *data), const void *data);

/* What the parent does with what a child writes. */
typedef struct in_child_watch {
    double (*patience)(
        const void *watched); /* seconds that the child may now be silent before it counts as hanging */
    void (*take)(void *watched, char byte);
    void *watched;
    bool hangs; /* the child was ended for that */
} in_child_watch;
/* As in_child, for a child that writes to the file descriptor `file`. On Windows run(data) is called in this process, and nobody
 * watches what it writes. */
void in_child_watched(
    in_child_end *end, int (*run)(const void *data, int file), const void *data, in_child_watch *watch);

/* Another process of this program. */
typedef struct in_child_program {
    FILE *output; /* what it writes to both streams */
    intptr_t process;
} in_child_program;
/* variables: count names and values in turn, for the process's environment; arguments end with NULL. False: errno says why. */
bool in_child_start(
    in_child_program *program, char *const *arguments, const char *const *variables, size_t count);
/* Closes the output and waits for the end. */
void in_child_wait(in_child_end *end, const in_child_program *program);
/* Runs a command of the shell, whose output is read from *output until in_child_wait. */
bool in_child_shell(in_child_program *program, const char *command);
/* The name of the operating system, its version and the processor's architecture. */
void in_child_system(char *text, size_t capacity);

/* A process's exit status, of a child or not: not 0 where what it printed could not be written, which is said. */
int in_child_written(int status);

/* The child's word on what it does from now on; "": nothing of a driver's. */
void in_child_say(const char *line);

#endif
