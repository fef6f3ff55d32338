/* Programs that the library starts, and where it finds them. */
#ifndef WI_CHILD_H
#define WI_CHILD_H

#include "base/status.h"

/* A running program. A program that has ended is only known until somebody has waited for it, as a handler of SIGCHLD
 * may do; it then counts as ended. */
typedef struct wi_child {
    long process; /* 0: none, or it has ended */
} wi_child;

/* Finds a file that belongs to Weft, such as a plug-in. It is installed in the folder weft/ beside libweft; in Weft's build folder it is
 * beside libweft. A program that is linked with the static library looks from its own folder. False: there is none. */
bool wi_find_beside(char *path, size_t capacity, const char *name);
/* Starts a program. arguments: beginning with the program's name, and ending with NULL. The program reads these bytes
 * from standard input, which is a file without a name; what it prints is discarded. False: it was not started, and
 * errno says why. On Windows it is never started. */
bool wi_child_start(
    wi_child *child, const char *path, const char *const *arguments, const void *input, size_t bytes);
/* Whether the program has ended, which is reported once. *result: its exit status; a negative number if a signal ended
 * it, or if its status is not known. */
bool wi_child_has_ended(wi_child *child, int *result);
/* Ends the program without waiting for its work, if it still runs. */
void wi_child_end(wi_child *child);

#endif
