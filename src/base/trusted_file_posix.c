/* Owners and modes of files by POSIX 2008 (contract in trusted_file.h). */
#include "base/file_target.h"
#include "base/system_file.h"
#include "base/trusted_file.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

static weft_status check(const char *path, const struct stat *state) {
    if (state->st_uid != geteuid()) WI_FAIL(WEFT_ERROR_FILE, "'%s' belongs to another user", path);
    if (state->st_mode & (S_IWGRP | S_IWOTH))
        WI_FAIL(WEFT_ERROR_FILE, "users other than the owner may write to '%s'", path);
    return WEFT_OK;
}

weft_status wi_trusted_file_check(const char *path, bool *unseen) {
    struct stat state;
    const bool failed = stat(path, &state) != 0;
    if (unseen) *unseen = failed;
    return failed ? wi_file_fail("open", path, errno) : check(path, &state);
}

bool wi_file_is_others(const char *path) {
    struct stat state;
    return stat(path, &state) == 0 && state.st_uid != geteuid();
}

weft_status wi_trusted_check_opened(int file, const char *path) {
    struct stat state;
    return fstat(file, &state) != 0 ? wi_file_fail("open", path, errno) : check(path, &state);
}

bool wi_is_link(const char *path) {
    struct stat state;
    return lstat(path, &state) == 0 && S_ISLNK(state.st_mode);
}
