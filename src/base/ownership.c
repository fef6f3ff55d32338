/* Owners and modes through POSIX 2008 (contract in ownership.h). No state. */
#include "base/ownership.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static weft_status fail_open(const char *path, int error) {
    char reason[128] = "";
    if (strerror_r(error, reason, sizeof reason) != 0) snprintf(reason, sizeof reason, "error %d", error);
    return wi_fail(WEFT_ERROR_FILE, "cannot open '%s': %s", path, reason);
}

static weft_status check(const char *path, const struct stat *state) {
    if (state->st_uid != geteuid()) WI_FAIL(WEFT_ERROR_FILE, "'%s' belongs to another user", path);
    if (state->st_mode & (S_IWGRP | S_IWOTH)) WI_FAIL(WEFT_ERROR_FILE, "others may write to '%s'", path);
    return WEFT_OK;
}

weft_status wi_own_check(const char *path, bool *unseen) {
    struct stat state;
    const bool failed = stat(path, &state) != 0;
    if (unseen) *unseen = failed;
    return failed ? fail_open(path, errno) : check(path, &state);
}

bool wi_own_is_other(const char *path) {
    struct stat state;
    return stat(path, &state) == 0 && state.st_uid != geteuid();
}

/* The size is that of fstat; what is added meanwhile is left out. */
static weft_status read_opened(
    int file, const weft_allocator *allocator, const char *path, char **data, size_t *bytes) {
    struct stat state;
    size_t used = 0;
    if (fstat(file, &state) != 0) return fail_open(path, errno);
    WI_TRY(check(path, &state));
    if (!S_ISREG(state.st_mode)) WI_FAIL(WEFT_ERROR_FILE, "'%s' is no file", path);
    char *const buffer = wi_allocate(allocator, (size_t)state.st_size + 1);
    if (!buffer) return WEFT_ERROR_MEMORY;
    while (used < (size_t)state.st_size) {
        const ssize_t got = read(file, buffer + used, (size_t)state.st_size - used);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) {
            const int error = errno;
            wi_release(allocator, buffer);
            return fail_open(path, error);
        }
        if (got == 0) break;
        used += (size_t)got;
    }
    buffer[used] = '\0';
    *data = buffer;
    *bytes = used;
    return WEFT_OK;
}

weft_status wi_own_read(const weft_allocator *allocator, const char *path, char **data, size_t *bytes) {
    const int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* a FIFO is refused, not waited for */
    if (file < 0) return fail_open(path, errno);
    const weft_status status = read_opened(file, allocator, path, data, bytes);
    close(file);
    return status;
}
