/* Whether a file can be written, for files that weft_output_check is not for. */
#ifndef WI_OUTPUT_CHECK_H
#define WI_OUTPUT_CHECK_H

#include "base/status.h"

/* Of a file that is opened where it is and may be a device or a pipe, as logs are. */
weft_status wi_line_output_check(const char *path);

#endif
