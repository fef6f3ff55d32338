/* Calls of the system that fail on demand, where Weft or one of its parsers makes them: files, folders and threads. */
#ifndef FAULT_FILES_H
#define FAULT_FILES_H

#include <stdbool.h>
#include <stddef.h>

enum { FAULT_SHORT = -1 }; /* fewer bytes than were asked for, and no error */

typedef struct fault_call {
    const char *name;
    const int *errors; /* numbers of errno, or FAULT_SHORT; ended by 0 */
} fault_call;

size_t fault_files_calls(const fault_call **calls);
/* The nth of these calls from now on fails; 0: none does. */
void fault_files_arm(size_t call, long nth, int error);
bool fault_files_hit(void);
long fault_files_count(size_t call); /* since it was armed */

#endif
