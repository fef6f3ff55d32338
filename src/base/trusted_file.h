/* Files that nobody but the user can have written. What is executed as code is read only from such files.
 *
 * The user is the effective user. root is a user like others: root does not use files of users, and users do not use
 * root's. */
#ifndef WI_TRUSTED_FILE_H
#define WI_TRUSTED_FILE_H

#include "base/memory.h"

/* Checks that a file or folder belongs to the user, and that neither its group nor others may write to it; links are
 * followed. Errors: WEFT_ERROR_FILE. *unseen (may be NULL): nothing is there, or its state cannot be read. */
weft_status wi_trusted_file_check(const char *path, bool *unseen);
/* Opens a regular file, checks the opened file as above, and reads it whole. *data has a NUL after *bytes bytes; the
 * caller releases it with wi_release. Errors: WEFT_ERROR_FILE, WEFT_ERROR_MEMORY. */
weft_status wi_trusted_file_read(
    const weft_allocator *allocator, const char *path, char **data, size_t *bytes);
/* As wi_trusted_file_read, for files in the library's own folder. A symbolic link is an error, because the library
 * creates none. If there is no file, *data is NULL and the call succeeds. *distrusted: the error is that the file is a
 * link, or that others can have written it. */
weft_status wi_kept_file_read(
    const weft_allocator *allocator, const char *path, char **data, size_t *bytes, bool *distrusted);
/* Whether a file or folder is there that belongs to another user. */
bool wi_file_is_others(const char *path);

#endif
