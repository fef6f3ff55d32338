/* Tests whether a file can be written, if the file is not replaced as a whole. */
#ifndef WI_OUTPUT_CHECK_H
#define WI_OUTPUT_CHECK_H

#include "base/status.h"

/* Tests a file that is opened in place, such as a log. The file may be a device or a pipe. Error: WEFT_ERROR_FILE. */
weft_status wi_line_output_check(const char *path);
/* Tests whether files can be written to the folder, or the folder can be created; changes nothing. Error:
 * WEFT_ERROR_FILE. */
weft_status wi_folder_output_check(const char *folder);
/* Is the file in a folder that does not exist yet, and that is this folder or above it? folder may be NULL. */
bool wi_is_in_new_folder(const char *path, const char *folder);

#endif
