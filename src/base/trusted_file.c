/* Owners and modes through POSIX 2008 (contract in trusted_file.h). No state. */
#include "base/trusted_file.h"
#include "base/file_read.h"
#include "base/file_target.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static weft_status check(const char *path, const struct stat *state) {
    if (state->st_uid != geteuid()) WI_FAIL(WEFT_ERROR_FILE, "'%s' belongs to another user", path);
    if (state->st_mode & (S_IWGRP | S_IWOTH)) WI_FAIL(WEFT_ERROR_FILE, "others may write to '%s'", path);
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
    WI_TRY(check(path, &state));
    if (!S_ISREG(state.st_mode)) WI_FAIL(WEFT_ERROR_FILE, "'%s' is no file", path);
    return wi_file_read_opened(file, &(wi_file_rules){.allocator = allocator}, path, data, bytes);
}

weft_status wi_trusted_file_read(
    const weft_allocator *allocator, const char *path, char **data, size_t *bytes) {
    const int file =
        wi_open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0); /* a FIFO is refused, not waited for */
    if (file < 0) return wi_file_fail("open", path, errno);
    const weft_status status = read_opened(file, allocator, path, data, bytes);
    close(file);
    return status;
}
