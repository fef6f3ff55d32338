/* Opening and replacing files (contract in file_target.h). */
#include "base/file_target.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_LINKS = 40 }; /* links that Linux follows in a path */

weft_status wi_file_fail(const char *doing, const char *path, int error) {
    char reason[128] = "";
    if (strerror_r(error, reason, sizeof reason) != 0) snprintf(reason, sizeof reason, "error %d", error);
    return wi_fail(WEFT_ERROR_FILE, "cannot %s '%s': %s", doing, path, reason);
}

/* Replaces the path of a symbolic link by the path that it leads to. A relative link starts at the link's folder.
 * False: errno says why. */
static bool follow(char *path, size_t capacity) {
    char link[PATH_MAX];
    const ssize_t length = readlink(path, link, sizeof link - 1);
    if (length < 0) return false;
    link[length] = '\0';
    char *const slash = strrchr(path, '/');
    const size_t kept = *link == '/' || !slash ? 0 : (size_t)(slash - path) + 1;
    if (kept + (size_t)length >= capacity) {
        errno = ENAMETOOLONG;
        return false;
    }
    memcpy(path + kept, link, (size_t)length + 1);
    return true;
}

weft_status wi_file_target(char *target, size_t capacity, const char *path) {
    struct stat state;
    if ((size_t)snprintf(target, capacity, "%s", path) >= capacity)
        return wi_file_fail("replace", path, ENAMETOOLONG);
    for (int links = 0; lstat(target, &state) == 0; links++) {
        if (S_ISREG(state.st_mode)) return WEFT_OK;
        if (!S_ISLNK(state.st_mode))
            WI_FAIL(WEFT_ERROR_FILE, "cannot replace '%s': it is not a regular file", path);
        if (links == MOST_LINKS) return wi_file_fail("replace", path, ELOOP);
        if (!follow(target, capacity)) return wi_file_fail("replace", path, errno);
    }
    return WEFT_OK; /* nothing is there yet; if the path cannot be created, creating it reports why */
}

bool wi_file_keep_mode(int file, const char *target) {
    struct stat old, made;
    if (stat(target, &old) != 0) return true;
    if (fstat(file, &made) != 0) return false;
    const mode_t mode = old.st_mode & 07777;
    return (made.st_mode & 07777) == mode || fchmod(file, mode) == 0;
}

/* Steps back from `end` over a decimal number. Returns the character before the number; NULL: there is no number, or
 * the name begins with it. */
static const char *before_number(const char *name, const char *end) {
    const char *at = end;
    while (at > name && at[-1] >= '0' && at[-1] <= '9') at--;
    return at < end && at > name ? at - 1 : NULL;
}

bool wi_file_is_temporary(const char *name) {
    static const char ending[] = ".tmp";
    const size_t length = strlen(name);
    if (length < sizeof ending || strcmp(name + length - (sizeof ending - 1), ending) != 0) return false;
    const char *at = name + length - (sizeof ending - 1);
    for (int i = 0; i < 3; i++) {
        at = before_number(name, at);
        if (!at || *at != (i == 2 ? '.' : '-')) return false;
    }
    return at > name;
}

int wi_open(const char *path, int flags, unsigned mode) {
    int file;
    do file = open(path, flags, (mode_t)mode);
    while (file < 0 && errno == EINTR);
    return file;
}

int wi_sync(int file) {
    int result;
    do result = fsync(file);
    while (result != 0 && errno == EINTR);
    return result;
}
