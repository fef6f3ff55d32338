/* Reading and replacing tuning files (contract in tuning_file.h). */
#include "cl/tuning_file.h"
#include "base/platform.h"
#include "base/trusted_file.h"
#include <string.h>

static weft_status read_kept(char **old, const weft_allocator *allocator, const char *path) {
    char error[WI_ERROR_LINE];
    bool distrusted;
    size_t bytes;
    wi_error_save(error, sizeof error);
    const weft_status status = wi_kept_file_read(allocator, path, old, &bytes, &distrusted);
    if (distrusted) wi_error_restore(error);
    return distrusted ? WEFT_OK : status;
}

static weft_status read_named(char **old, const weft_allocator *allocator, const char *path) {
    static const char word[] = WI_TUNING_FIRST_WORD, line[] = WI_TUNING_FIRST_LINE;
    size_t bytes;
    if (!wi_file_exists(path)) return WEFT_OK;
    WI_TRY(wi_file_read(allocator, path, old, &bytes));
    if (bytes == 0 || strncmp(*old, line, sizeof line - 1) == 0) return WEFT_OK;
    const bool newer = strncmp(*old, word, sizeof word - 1) == 0;
    wi_release(allocator, *old);
    *old = NULL;
    WI_FAIL(WEFT_ERROR_FORMAT, "'%s' is %s and is not overwritten", path,
        newer ? "a tuning file of another version of the format" : "not a tuning file");
}

weft_status wi_tuning_file_read(char **old, const weft_allocator *allocator, const char *path, bool named) {
    *old = NULL;
    return named ? read_named(old, allocator, path) : read_kept(old, allocator, path);
}

weft_status wi_tuning_file_write(const char *path, bool named, const wi_text *text) {
    wi_file_writer *writer = NULL;
    WI_TRY(named ? wi_file_writer_begin(&writer, text->allocator, path)
                 : wi_file_writer_begin_private(&writer, text->allocator, path));
    return wi_file_writer_finish(writer, text->data, text->length);
}
