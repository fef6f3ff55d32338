/* Reading whole files into memory.
 *
 * Every function gives *bytes bytes of contents in *data, with a NUL after them; the caller releases *data with
 * wi_release. Errors: WEFT_ERROR_FILE, WEFT_ERROR_MEMORY. */
#ifndef WI_FILE_READ_H
#define WI_FILE_READ_H

#include "base/memory.h"

/* Reads a regular file. A folder, pipe or device is an error at once, without waiting for a writer. */
weft_status wi_file_read(const weft_allocator *allocator, const char *path, char **data, size_t *bytes);
/* Which files may be read (any_files and file_limit of weft_context_options). */
typedef struct wi_file_rules {
    const weft_allocator *allocator;
    bool any;     /* pipes and devices may be read, too */
    size_t limit; /* bytes, for pipes, devices and unpacked files; 0: the defaults */
} wi_file_rules;
/* Opens a file for reading if the rules allow its kind. *file is the descriptor, or -1 after an error. */
weft_status wi_file_open_by(const wi_file_rules *rules, const char *path, int *file);
weft_status wi_file_read_by(const wi_file_rules *rules, const char *path, char **data, size_t *bytes);
/* Reads from the descriptor's position to the end, and leaves the descriptor open. path is for the error message. */
weft_status wi_file_read_opened(
    int file, const wi_file_rules *rules, const char *path, char **data, size_t *bytes);
/* The most bytes to which a gzip file of `bytes` bytes may unpack. */
uint64_t wi_file_unpacked_limit(const wi_file_rules *rules, uint64_t bytes);

#endif
