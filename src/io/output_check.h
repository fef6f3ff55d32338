/* Tests whether a file can be written, if the file is not replaced as a whole. */
#ifndef WI_OUTPUT_CHECK_H
#define WI_OUTPUT_CHECK_H

#include "base/status.h"

/* Tests a file that is opened in place, such as a log. The file may be a device or a pipe. Error: WEFT_ERROR_FILE. */
weft_status wi_line_output_check(const char *path);

#endif
