/* Files that nobody but the user can have written. What runs as code is read only from such.
 *
 * The user is the effective one, root like any other: root does not use the files of its users, and they not root's. */
#ifndef WI_TRUSTED_FILE_H
#define WI_TRUSTED_FILE_H

#include "base/memory.h"

/* A file or folder must be the user's own, and neither its group nor others may write to it; links are followed.
 * Errors: WEFT_ERROR_FILE, whose line says what is wrong. *unseen (may be NULL): nothing is there, or it cannot be
 * looked at. */
weft_status wi_trusted_file_check(const char *path, bool *unseen);
/* Reads a whole regular file that passes the check, which is made on the opened file. *data is NUL-terminated after
 * *bytes bytes; release it with wi_release. */
weft_status wi_trusted_file_read(
    const weft_allocator *allocator, const char *path, char **data, size_t *bytes);
/* Reads a file that the library keeps in its own folder: the same check, and no symbolic link is followed, since the library
 * writes none. *data is NULL if there is no file. Errors: WEFT_ERROR_FILE; *distrusted: the file is a link, or somebody else
 * can have written it. */
weft_status wi_kept_file_read(
    const weft_allocator *allocator, const char *path, char **data, size_t *bytes, bool *distrusted);
/* Whether something is there that belongs to another user. */
bool wi_file_is_others(const char *path);

#endif
