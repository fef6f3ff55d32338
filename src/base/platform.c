/* What is the same on all operating systems (contract in platform.h). */
#include "base/platform.h"
#include "base/file_target.h"
#include "base/system_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

weft_status wi_file_remove(const char *path) {
    return wi_unlink(path) || errno == ENOENT ? WEFT_OK : wi_file_fail("remove", path, errno);
}

void wi_path_split(const char *path, char *folder, size_t capacity, const char **name) {
    const size_t root = wi_path_root(path);
    size_t end = strlen(path);
    while (end > root && !wi_is_separator(path[end - 1])) end--;
    const size_t length = end > root ? end - 1 : root;
    snprintf(folder, capacity, "%.*s", length ? (int)length : 1, length ? path : ".");
    *name = path + end;
}

/* 0 if the path is a folder, otherwise a value of errno. */
static int folder_error(const char *path) {
    wi_path_info info;
    if (!wi_look_at(path, &info)) return errno;
    return info.kind == WI_PATH_FOLDER ? 0 : EEXIST;
}

static weft_status make_folder(const char *path, bool only_user) {
    const int error = wi_make_folder(path, only_user) ? 0 : errno;
    const int found = error ? folder_error(path) : 0;
    return found ? wi_file_fail("create folder", path, error == EEXIST ? found : error) : WEFT_OK;
}

weft_status wi_directory_create(const char *path, bool only_user) {
    char part[WI_PATH_CAPACITY];
    const size_t length = strlen(path);
    if (folder_error(path) == 0) return WEFT_OK;
    if (length == 0 || length >= sizeof part) return wi_file_fail("create folder", path, ENAMETOOLONG);
    memcpy(part, path, length + 1);
    for (size_t i = wi_path_root(path) + 1; i <= length; i++) {
        if (!wi_is_separator(path[i]) && path[i] != '\0') continue;
        part[i] = '\0';
        WI_TRY(make_folder(part, only_user));
        part[i] = path[i];
    }
    return WEFT_OK;
}

weft_status wi_path_look(wi_path_info *info, const char *path, bool *missing) {
    const bool found = wi_look_at(path, info);
    if (missing) *missing = !found && errno == ENOENT;
    return found ? WEFT_OK : wi_file_fail("open", path, errno);
}

bool wi_file_exists(const char *path) {
    wi_path_info info;
    return wi_look_at(path, &info);
}
