/* What stands in place of a file that was not fetched: a pointer of Git LFS, or the page of a server. */
#ifndef WI_FILE_GUESS_H
#define WI_FILE_GUESS_H

#include "base/status.h"

/* For every file. WEFT_ERROR_FORMAT: a pointer of Git LFS. */
weft_status wi_file_refuse_pointer(const char *path, const char *bytes, size_t size);
/* For files that are no texts, or no pages: that, and an HTML or XML page. */
weft_status wi_file_refuse_page(const char *path, const char *bytes, size_t size);

#endif
