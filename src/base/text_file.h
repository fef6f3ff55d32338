/* The beginning of text files: byte order marks, and contents that are not text. */
#ifndef WI_TEXT_FILE_H
#define WI_TEXT_FILE_H

#include "base/status.h"

/* *begin: offset of the text, which is 3 after a UTF-8 byte order mark and otherwise 0. WEFT_ERROR_FORMAT if the file
 * is UTF-16, or a pointer of Git LFS; path is for the error message. */
weft_status wi_text_file_begin(const char *path, const char *bytes, size_t size, size_t *begin);

#endif
