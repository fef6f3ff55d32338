/* The beginning of text files (contract in text_file.h). */
#include "base/text_file.h"
#include "base/file_guess.h"
#include <string.h>

weft_status wi_text_file_begin(const char *path, const char *bytes, size_t size, size_t *begin) {
    WI_TRY(wi_file_refuse_pointer(path, bytes, size));
    *begin = size >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    if (size >= 2 && (memcmp(bytes, "\xff\xfe", 2) == 0 || memcmp(bytes, "\xfe\xff", 2) == 0))
        WI_FAIL(WEFT_ERROR_FORMAT,
            "'%s' is UTF-16 text; convert the file to UTF-8 or another encoding that extends ASCII", path);
    return WEFT_OK;
}
