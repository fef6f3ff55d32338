/* What Windows lacks of POSIX, for the tests, into which the compiler includes this file first. A test that calls a function without a
 * counterpart is skipped there, with a line that names the function. */
#ifndef POSIX_CALLS_H
#define POSIX_CALLS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka's header comes after these */
#include <cmocka.h>
#include <direct.h>
#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <limits.h>
#include <process.h>
#include <sys/stat.h>
#include <sys/types.h>

#undef PATH_MAX
#define PATH_MAX 4096
#ifndef S_ISLNK
#define S_ISLNK(mode) 0
#endif
#define O_NONBLOCK 0
#define SIGKILL    9
#define SIGXFSZ    25

typedef unsigned uid_t;
struct rlimit;

static inline int setenv(const char *name, const char *value, int overwrite) {
    return !overwrite && getenv(name) ? 0 : _putenv_s(name, value);
}
static inline int unsetenv(const char *name) {
    return _putenv_s(name, "");
}
static inline int posix_mkdir(const char *path, int mode) {
    (void)mode;
    return _mkdir(path);
}
#define mkdir(path, mode)  posix_mkdir(path, mode)
#define lstat(path, state) stat(path, state)

static inline char *mkdtemp(char *path) {
    static unsigned made;
    char *const end = strrchr(path, 'X');
    for (int attempt = 0; end && attempt < 1000; attempt++) {
        snprintf(end - 5, 7, "%06x", ((unsigned)_getpid() * 64 + made++) & 0xffffff);
        if (_mkdir(path) == 0) return path;
    }
    return NULL;
}

static inline void *memmem(const void *data, size_t bytes, const void *part, size_t part_bytes) {
    const char *at = data;
    for (; bytes >= part_bytes; at++, bytes--)
        if (memcmp(at, part, part_bytes) == 0) return (void *)(uintptr_t)at;
    return NULL;
}

/* RESULT is never reached. */
#define MISSING(type, name, parameters, result)                                                              \
    static inline type name parameters {                                                                     \
        print_message("Windows has no " #name "()\n");                                                       \
        skip();                                                                                              \
        return result;                                                                                       \
    }
MISSING(pid_t, fork, (void), -1)
MISSING(pid_t, waitpid, (pid_t process, int *status, int options),
    ((void)process, (void)status, (void)options, -1))
MISSING(int, symlink, (const char *to, const char *path), ((void)to, (void)path, -1))
MISSING(int, mkfifo, (const char *path, int mode), ((void)path, (void)mode, -1))
MISSING(int, posix_pipe, (int *ends), ((void)ends, -1))
MISSING(int, kill, (pid_t process, int number), ((void)process, (void)number, -1))
MISSING(int, getrlimit, (int which, struct rlimit *limit), ((void)which, (void)limit, -1))
MISSING(int, setrlimit, (int which, const struct rlimit *limit), ((void)which, (void)limit, -1))
MISSING(unsigned, alarm, (unsigned seconds), seconds)
MISSING(int, link, (const char *from, const char *to), ((void)from, (void)to, -1))
MISSING(int, fdatasync, (int file), ((void)file, -1))
MISSING(int, chown, (const char *path, uid_t user, uid_t group), ((void)path, (void)user, (void)group, -1))
MISSING(uid_t, geteuid, (void), 0)
MISSING(int, seteuid, (uid_t user), ((void)user, -1))
MISSING(mode_t, posix_umask, (int mode), ((void)mode, 0))
MISSING(int, truncate, (const char *path, long bytes), ((void)path, (void)bytes, -1))
/* Tests remove a folder after they gave themselves all rights. */
static inline int posix_chmod(const char *path, int mode) {
    if (mode == 0700) return _chmod(path, _S_IREAD | _S_IWRITE);
    print_message("Windows has no chmod()\n");
    skip();
    return -1;
}
#define umask(mode)       posix_umask(mode)
#define pipe(ends)        posix_pipe(ends)
#define chmod(path, mode) posix_chmod(path, mode)

#endif
