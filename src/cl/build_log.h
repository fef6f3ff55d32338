/* What a compiler says of a program. */
#ifndef WI_BUILD_LOG_H
#define WI_BUILD_LOG_H

#include "cl/opened_device.h"

/* The driver's log of a build that failed with this error, or the error's name where it gives none. Release it with
 * wi_release. Errors: WEFT_ERROR_MEMORY. */
weft_status wi_build_log_read(char **log, const wi_device *device, cl_program built, cl_int error);
/* To the log callback, which takes single lines. */
void wi_build_log_show(const wi_device *device, const char *what, const char *log);
/* Whether a compiler refuses the source: a line has the word error and a position in a text. What else makes a build
 * fail (a full disk, too little memory, a linker that is missing) may pass. */
bool wi_build_log_is_verdict(const char *log);

#endif
