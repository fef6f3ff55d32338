/* Git LFS pointers and web pages in place of files (contract in file_guess.h). */
#include "base/file_guess.h"
#include <string.h>
#include <strings.h>

static bool begins_with(const char *bytes, size_t size, const char *text) {
    const size_t length = strlen(text);
    return size >= length && strncasecmp(bytes, text, length) == 0;
}

weft_status wi_file_refuse_pointer(const char *path, const char *bytes, size_t size) {
    if (begins_with(bytes, size, "version https://git-lfs.github.com/spec/"))
        WI_FAIL(WEFT_ERROR_FORMAT, "'%s' is only a Git LFS pointer; run 'git lfs pull' to download the file",
            path);
    return WEFT_OK;
}

weft_status wi_file_refuse_page(const char *path, const char *bytes, size_t size) {
    static const char *const pages[] = {"<!doctype html", "<html", "<head"};
    size_t at = begins_with(bytes, size, "\xef\xbb\xbf") ? 3 : 0;
    WI_TRY(wi_file_refuse_pointer(path, bytes, size));
    while (at < size && bytes[at] && strchr(" \t\r\n", bytes[at])) at++;
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++)
        if (begins_with(bytes + at, size - at, pages[i]))
            WI_FAIL(WEFT_ERROR_FORMAT,
                "'%s' is an HTML page, so the download of the file has failed; download it again", path);
    if (begins_with(bytes + at, size - at, "<?xml"))
        WI_FAIL(WEFT_ERROR_FORMAT,
            "'%s' is an XML document, so the download of the file has failed; download it again", path);
    return WEFT_OK;
}
