/* The machine, the process number and the time of day, which are part of the names and contents of event files. */
#ifndef WI_HOST_H
#define WI_HOST_H

#include <stddef.h>

/* Writes the name of the machine, "localhost" if it is not known, in letters, digits, "-" and ".". */
void wi_host_name(char *name, size_t capacity);
long wi_process_number(void);
double wi_day_seconds(void); /* since 1970, UTC; may go back */

#endif
