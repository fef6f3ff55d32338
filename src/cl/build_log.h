/* Build logs of OpenCL compilers. */
#ifndef WI_BUILD_LOG_H
#define WI_BUILD_LOG_H

#include "cl/opened_device.h"

/* *log: the driver's log of a failed build, or the name of `error` if the log is empty. The caller releases it with
 * wi_release. Errors: WEFT_ERROR_MEMORY. */
weft_status wi_build_log_read(char **log, const wi_device *device, cl_program built, cl_int error);
/* Sends each line of the log to the log callback; `what` begins each of them. */
void wi_build_log_show(const wi_device *device, const char *what, const char *log);
/* Whether the log says that the source is wrong: a line has the word "error" and a position in a source. Other
 * failures, such as a full disk, lack of memory or a missing linker, may not occur again. */
bool wi_build_log_is_verdict(const char *log);

#endif
