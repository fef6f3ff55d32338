/* Opening files, and finding the file that a save replaces: symbolic links are followed, and the new file gets the mode
 * of the replaced file. */
#ifndef WI_FILE_TARGET_H
#define WI_FILE_TARGET_H

#include "base/status.h"

/* Follows the symbolic links of `path`, and writes the path at their end to `target`. The file need not exist; if it
 * exists, it must be a regular file. Errors: WEFT_ERROR_FILE. */
weft_status wi_file_target(char *target, size_t capacity, const char *path);
/* Gives the new file the mode of the target that it will replace, if the target exists. False: errno says why. */
bool wi_file_keep_mode(int file, const char *target);
/* Whether this is a name of a temporary file: it ends with ".NUMBER-NUMBER-NUMBER.tmp". */
bool wi_file_is_temporary(const char *name);
/* Returns WEFT_ERROR_FILE with the message "cannot DOING 'PATH': ERROR"; `error` is a value of errno. */
weft_status wi_file_fail(const char *doing, const char *path, int error);
/* open() and fsync(), repeated while a signal interrupts them. */
int wi_open(const char *path, int flags, unsigned mode);
int wi_sync(int file);

#endif
