/* Reading files that nobody but the user can have written (contract in trusted_file.h). */
#include "base/trusted_file.h"
#include "base/file_read.h"
#include "base/file_target.h"
#include "base/system_file.h"

#include <errno.h>

static weft_status read_opened(
    int file, const weft_allocator *allocator, const char *path, char **data, size_t *bytes) {
    wi_path_info info;
    if (!wi_look(file, &info)) return wi_file_fail("open", path, errno);
    if (info.kind != WI_PATH_FILE) WI_FAIL(WEFT_ERROR_FILE, "'%s' is not a regular file", path);
    return wi_file_read_opened(file, &(wi_file_rules){.allocator = allocator}, path, data, bytes);
}

weft_status wi_trusted_file_read(
    const weft_allocator *allocator, const char *path, char **data, size_t *bytes) {
    const int file = wi_open(path, WI_OPEN_READ);
    if (file < 0) return wi_file_fail("open", path, errno);
    weft_status status = wi_trusted_check_opened(file, path);
    if (status == WEFT_OK) status = read_opened(file, allocator, path, data, bytes);
    wi_close(file);
    return status;
}

weft_status wi_kept_file_read(
    const weft_allocator *allocator, const char *path, char **data, size_t *bytes, bool *distrusted) {
    *data = NULL;
    *bytes = 0;
    *distrusted = false;
    const int file = wi_open(path, WI_OPEN_KEPT), error = errno;
    if (file < 0 && error == ENOENT) return WEFT_OK;
    *distrusted =
        file < 0 && wi_is_link(path); /* opening a link fails with different errors on different systems */
    if (*distrusted) WI_FAIL(WEFT_ERROR_FILE, "'%s' is a symbolic link", path);
    if (file < 0) return wi_file_fail("open", path, error);
    weft_status status = wi_trusted_check_opened(file, path);
    *distrusted = status != WEFT_OK;
    if (status == WEFT_OK) status = read_opened(file, allocator, path, data, bytes);
    wi_close(file);
    return status;
}
