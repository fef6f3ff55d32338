/* Data files, which are read in parts, where the parts are needed, so that they take little memory.
 *
 * Parts are read by calls of the operating system, not by mapping, because a mapped file that shrinks, or a disk that
 * fails, ends the program. Any number of threads may read a file at once, each with a separate window. */
#ifndef WI_DATA_FILE_H
#define WI_DATA_FILE_H

#include "base/file_read.h"

typedef struct wi_data_file {
    const weft_allocator *allocator;
    char *path;
    int file; /* the descriptor; -1: not open, or the content is in memory */
    char *
        content; /* of a file that cannot be read at an offset, such as a pipe; NULL: read from the descriptor */
    uint64_t bytes;
} wi_data_file;

/* Opens a file for reading, if the rules allow its kind. After an error the file is closed. Errors: WEFT_ERROR_FILE,
 * WEFT_ERROR_MEMORY. */
weft_status wi_data_file_open(wi_data_file *file, const wi_file_rules *rules, const char *path);
/* Reads exactly this range. Errors: WEFT_ERROR_FILE; WEFT_ERROR_FORMAT: the file has become shorter. */
weft_status wi_data_file_read(const wi_data_file *file, uint64_t offset, void *target, size_t bytes);
void wi_data_file_close(wi_data_file *file); /* a zeroed or closed file is allowed */

/* A part of a file in memory. Zeroed before the first use. */
typedef struct wi_file_window {
    char *bytes; /* a NUL follows them */
    uint64_t begin;
    size_t count, capacity;
} wi_file_window;

enum { WI_WINDOW_STEP = 1 << 18 }; /* bytes that are read at a time */

/* *at: the bytes of the file from `offset` on; *count: their number, at least `wanted` or all up to the end of the file.
 * They are valid until the next call. step: the least number of bytes to read at once. */
weft_status wi_file_window_at(wi_file_window *window, const wi_data_file *file, uint64_t offset,
    size_t wanted, size_t step, const char **at, size_t *count);
void wi_file_window_clear(wi_file_window *window, const weft_allocator *allocator);

#endif
