/* Tests whether files can be written, before the work whose result goes to the file. */
#include "io/output_check.h"
#include "base/file_target.h"
#include "base/platform.h"
#include <errno.h>
#include <string.h>
#include <weft/io.h>

enum { MOST_PATH = 4096 };

weft_status weft_output_check(const char *path) {
    wi_file_writer *writer = NULL;
    if (!path || !*path)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_output_check: path is %s", path ? "empty" : "NULL");
    WI_TRY(wi_file_writer_begin(&writer, NULL, path));
    wi_file_writer_abandon(writer);
    return WEFT_OK;
}

weft_status wi_line_output_check(const char *path) {
    wi_path_info info;
    bool missing = false;
    const weft_status looked = wi_path_look(&info, path, &missing);
    if (missing) return weft_output_check(path);
    WI_TRY(looked);
    if (info.kind == WI_PATH_FOLDER) return wi_file_fail("write", path, EISDIR);
    return wi_path_can_be_written(path) ? WEFT_OK : wi_file_fail("write", path, EACCES);
}

/* Missing folders of the path will be created later, so the deepest folder that exists must be writable. */
weft_status wi_folder_output_check(const char *folder) {
    char path[MOST_PATH], above[MOST_PATH];
    const char *name = NULL;
    wi_path_info info;
    bool missing = true;
    if (!*folder || strlen(folder) >= sizeof path)
        return wi_file_fail("create folder", folder, *folder ? ENAMETOOLONG : ENOENT);
    strcpy(path, folder);
    for (;;) {
        const weft_status status = wi_path_look(&info, path, &missing);
        if (status == WEFT_OK) break;
        if (!missing) return status;
        wi_path_split(path, above, sizeof above, &name);
        strcpy(path, above);
    }
    if (info.kind == WI_PATH_FOLDER && wi_path_can_be_written(path)) return WEFT_OK;
    WI_FAIL(WEFT_ERROR_FILE, "cannot write the folder '%s': '%s' %s", folder, path,
        info.kind == WI_PATH_FOLDER ? "is read-only" : "is not a folder");
}

bool wi_is_in_new_folder(const char *path, const char *folder) {
    char own[MOST_PATH];
    const char *name = NULL;
    wi_path_info info;
    bool missing = false;
    if (!folder || strlen(path) >= sizeof own) return false;
    wi_path_split(path, own, sizeof own, &name);
    const size_t length = strlen(own);
    if (strncmp(folder, own, length) != 0 || (folder[length] && !wi_is_separator(folder[length])))
        return false;
    return wi_path_look(&info, own, &missing) != WEFT_OK && missing;
}
