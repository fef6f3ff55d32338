/* Tests whether a file can be written, if the file is not replaced as a whole. */
#ifndef WI_OUTPUT_CHECK_H
#define WI_OUTPUT_CHECK_H

#include "base/status.h"

/* For a file that is opened in place, such as a log, and may be a device or a pipe. Error: WEFT_ERROR_FILE. */
weft_status wi_line_output_check(const char *path);

#endif
