/* Reading whole files, and which of them. */
#ifndef WI_FILE_READ_H
#define WI_FILE_READ_H

#include "base/memory.h"

/* Reads a whole regular file. *data is NUL-terminated after *bytes bytes; release it with wi_release. Anything else
 * (a folder, a pipe, a device) is an error at once. */
weft_status wi_file_read(const weft_allocator *allocator, const char *path, char **data, size_t *bytes);
/* Which files a caller allows, see weft_context_options. */
typedef struct wi_file_rules {
    const weft_allocator *allocator;
    bool any;     /* pipes and devices, too */
    size_t limit; /* of what does not tell its length; 0: the default */
} wi_file_rules;
weft_status wi_file_read_by(const wi_file_rules *rules, const char *path, char **data, size_t *bytes);
/* The rest of an opened file, which stays open; path is for the error. */
weft_status wi_file_read_opened(
    int file, const wi_file_rules *rules, const char *path, char **data, size_t *bytes);
/* The most bytes that a gzip file of that size may become. */
uint64_t wi_file_unpacked_limit(const wi_file_rules *rules, uint64_t bytes);

#endif
