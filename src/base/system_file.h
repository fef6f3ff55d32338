/* Open files of the operating system, as file descriptors: what platform.h, file_read.h and others are built on. Files
 * whose names end with _posix.c and _windows.c implement this; CMake compiles those of one system.
 *
 * A function that fails returns false or a negative number, and errno says why. Calls that a signal interrupts are
 * repeated. On Windows, paths are UTF-8 and may have up to WI_PATH_CAPACITY characters. */
#ifndef WI_SYSTEM_FILE_H
#define WI_SYSTEM_FILE_H

#include "base/platform.h"

typedef enum wi_opening {
    WI_OPEN_READ,    /* never waits for another process that writes to a pipe */
    WI_OPEN_WAITING, /* reads; a pipe waits for its writer */
    WI_OPEN_KEPT,    /* as WI_OPEN_READ; fails if the path is a symbolic link */
    WI_OPEN_NEW,     /* writes; fails if the path exists */
    WI_OPEN_PRIVATE, /* as WI_OPEN_NEW; only the user may read and write the file */
    WI_OPEN_APPEND,  /* writes at the end of the file, which is created if needed */
    WI_OPEN_EMPTIED  /* as WI_OPEN_APPEND; what the file held is removed */
} wi_opening;

int wi_open(const char *path, wi_opening opening);
void wi_close(int file);
bool wi_look(int file, wi_path_info *info);
bool wi_look_at(const char *path, wi_path_info *info); /* follows links */
/* The number of bytes read, 0 at the end of the file. */
int64_t wi_read_some(int file, void *buffer, size_t bytes);
/* Reads from this offset of a regular file. Threads may do so at once. The file's position afterwards is not defined. */
int64_t wi_read_at(int file, uint64_t offset, void *buffer, size_t bytes);
bool wi_write_all(int file, const void *data, size_t bytes);
bool wi_truncate(int file, uint64_t bytes);
bool wi_sync(int file); /* waits until the disk has the file */
/* Locks a file for this process, which keeps the lock until it closes the file. False: another process has the lock.
 * If the file system has no locks, or an error occurs, the result is `otherwise`. */
bool wi_lock(int file, bool otherwise);
/* Whether the open file still has a name; true after an error. */
bool wi_has_name(int file);
bool wi_move_file(const char *from, const char *to); /* replaces `to` */
bool wi_unlink(const char *path);
bool wi_make_folder(const char *path, bool only_user);
/* Gives the new file the mode of the target that it will replace, if the target exists. Windows: does nothing. */
bool wi_keep_mode(int file, const char *target);
bool wi_is_link(const char *path);
/* wi_trusted_file_check (trusted_file.h) of an open file. path is for the error message. */
weft_status wi_trusted_check_opened(int file, const char *path);
/* WEFT_ERROR_FILE unless the open file is a regular file. path is for the error message. */
weft_status wi_file_check_regular(int file, const char *path, wi_path_info *info);
/* The text of a value of errno. */
void wi_error_text(int error, char *text, size_t capacity);

#endif
