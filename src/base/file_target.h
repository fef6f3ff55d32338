/* The file that a save replaces: symbolic links are followed. Errors of files. */
#ifndef WI_FILE_TARGET_H
#define WI_FILE_TARGET_H

#include "base/status.h"

/* Follows the symbolic links of `path`, and writes the path at their end to `target`. The file need not exist; if it
 * exists, it must be a regular file. Errors: WEFT_ERROR_FILE. */
weft_status wi_file_target(char *target, size_t capacity, const char *path);
/* Whether this is a name of a temporary file: it ends with ".NUMBER-NUMBER-NUMBER.tmp". */
bool wi_file_is_temporary(const char *name);
/* Returns WEFT_ERROR_FILE with the message "cannot DOING 'PATH': ERROR"; `error` is a value of errno. */
weft_status wi_file_fail(const char *doing, const char *path, int error);

#endif
