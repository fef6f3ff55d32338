/* Recognises contents that a failed download leaves in place of the expected file: a pointer of Git LFS, or a web page.
 * `path` is for the error message. */
#ifndef WI_FILE_GUESS_H
#define WI_FILE_GUESS_H

#include "base/status.h"

/* WEFT_ERROR_FORMAT if the contents are a pointer of Git LFS. For files of any format. */
weft_status wi_file_refuse_pointer(const char *path, const char *bytes, size_t size);
/* WEFT_ERROR_FORMAT also if the contents are HTML or XML. For files whose format can be neither. */
weft_status wi_file_refuse_page(const char *path, const char *bytes, size_t size);

#endif
