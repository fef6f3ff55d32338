/* Symbolic links of POSIX 2008 (contract in file_target.h). */
#include "base/file_target.h"
#include "base/platform.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_LINKS = 40 }; /* links that Linux follows in a path */

/* Replaces the path of a symbolic link by the path that it leads to. A relative link starts at the link's folder.
 * False: errno says why. */
static bool follow(char *path, size_t capacity) {
    char link[WI_PATH_CAPACITY];
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
