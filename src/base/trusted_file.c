/* Owners and modes of files by POSIX 2008 (contract in trusted_file.h). */
#include "base/trusted_file.h"
#include "base/file_read.h"
#include "base/file_target.h"

#include <errno.h>
#include <fcntl.h>
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

static weft_status read_opened(
    int file, const weft_allocator *allocator, const char *path, char **data, size_t *bytes) {
    struct stat state;
    if (fstat(file, &state) != 0) return wi_file_fail("open", path, errno);
    if (!S_ISREG(state.st_mode)) WI_FAIL(WEFT_ERROR_FILE, "'%s' is not a regular file", path);
    return wi_file_read_opened(file, &(wi_file_rules){.allocator = allocator}, path, data, bytes);
}

/* O_NONBLOCK: opening a FIFO must not wait; read_opened refuses it. */
static int open_to_read(const char *path, int flags) {
    return wi_open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | flags, 0);
}

static weft_status check_opened(int file, const char *path) {
    struct stat state;
    return fstat(file, &state) != 0 ? wi_file_fail("open", path, errno) : check(path, &state);
}

weft_status wi_trusted_file_read(
    const weft_allocator *allocator, const char *path, char **data, size_t *bytes) {
    const int file = open_to_read(path, 0);
    if (file < 0) return wi_file_fail("open", path, errno);
    weft_status status = check_opened(file, path);
    if (status == WEFT_OK) status = read_opened(file, allocator, path, data, bytes);
    close(file);
    return status;
}

/* With O_NOFOLLOW, opening a link fails with different errors on different systems. */
static bool is_link(const char *path) {
    struct stat state;
    return lstat(path, &state) == 0 && S_ISLNK(state.st_mode);
}

weft_status wi_kept_file_read(
    const weft_allocator *allocator, const char *path, char **data, size_t *bytes, bool *distrusted) {
    *data = NULL;
    *bytes = 0;
    *distrusted = false;
    const int file = open_to_read(path, O_NOFOLLOW), error = errno;
    if (file < 0 && error == ENOENT) return WEFT_OK;
    *distrusted = file < 0 && is_link(path);
    if (*distrusted) WI_FAIL(WEFT_ERROR_FILE, "'%s' is a symbolic link", path);
    if (file < 0) return wi_file_fail("open", path, error);
    weft_status status = check_opened(file, path);
    *distrusted = status != WEFT_OK;
    if (status == WEFT_OK) status = read_opened(file, allocator, path, data, bytes);
    close(file);
    return status;
}
