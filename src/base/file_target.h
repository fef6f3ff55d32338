/* Opening files, and which of them a save replaces: links are followed, and what is replaced keeps its mode. */
#ifndef WI_FILE_TARGET_H
#define WI_FILE_TARGET_H

#include "base/status.h"

/* The path of the file that a path stands for, through symbolic links, in a buffer. The file need not exist; what exists
 * must be a regular file. Errors: WEFT_ERROR_FILE. */
weft_status wi_file_target(char *target, size_t capacity, const char *path);
/* Gives a new file that is to replace the target the target's mode, if there is one. False: errno says why not. */
bool wi_file_keep_mode(int file, const char *target);
/* Whether a name is of a temporary file: it ends with ".NUMBER-NUMBER-NUMBER.tmp". */
bool wi_file_is_temporary(const char *name);
/* WEFT_ERROR_FILE with "cannot open 'path': " and what errno was. */
weft_status wi_file_fail(const char *doing, const char *path, int error);
/* open and fsync, again while a signal interrupts them. */
int wi_open(const char *path, int flags, unsigned mode);
int wi_sync(int file);

#endif
