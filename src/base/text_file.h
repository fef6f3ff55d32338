/* What a text in a file begins with. */
#ifndef WI_TEXT_FILE_H
#define WI_TEXT_FILE_H

#include "base/status.h"

/* *begin: where the text begins, after a UTF-8 byte order mark if it has one. WEFT_ERROR_FORMAT: UTF-16, or a pointer of Git
 * LFS. */
weft_status wi_text_file_begin(const char *path, const char *bytes, size_t size, size_t *begin);

#endif
