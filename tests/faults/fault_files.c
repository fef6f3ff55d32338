/* Files that fail (contract in fault_files.h). Each function stands in the place of the C library's of its name. */
#define _GNU_SOURCE /* RTLD_NEXT, open64 */
#include "fault_files.h"
#include "fault_layer.h"
#include "fault_memory.h"
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define OVERRIDE __attribute__((visibility("default"), noinline))
#define OURS     (fault_memory_is_ours(__builtin_return_address(0)) && !fault_layer_inside())

#define CALLS(row)                                                                                           \
    row(open, EACCES, EMFILE, ENOSPC, EINTR) row(read, EIO, EINTR, FAULT_SHORT)                              \
        row(pread, EIO, EINTR, FAULT_SHORT) row(write, ENOSPC, EIO, EINTR, FAULT_SHORT)                      \
            row(fsync, EIO, ENOSPC, EINTR) row(rename, EIO, ENOSPC, EACCES) row(close, EIO, EINTR)           \
                row(mkdir, ENOSPC, EACCES) row(unlink, EACCES) row(fstat, EIO) row(stat, EIO)                \
                    row(flock, EINTR, ENOLCK) row(opendir, EACCES, EMFILE) row(readdir, EIO)                 \
                        row(pthread_create, EAGAIN)

#define NUMBER(name, ...) AT_##name,
enum { CALLS(NUMBER) COUNT };
#define ERRORS(name, ...) static const int errors_##name[] = {__VA_ARGS__, 0};
CALLS(ERRORS)
#define ROW(name, ...) {#name, errors_##name},
static const fault_call table[COUNT] = {CALLS(ROW)};

static struct {
    atomic_size_t call;
    atomic_long remaining;
    atomic_int error;
    atomic_bool hit;
    atomic_long counts[COUNT];
} files;

size_t fault_files_calls(const fault_call **calls) {
    *calls = table;
    return COUNT;
}

void fault_files_arm(size_t call, long nth, int error) {
    for (int i = 0; i < COUNT; i++) atomic_store(&files.counts[i], 0);
    if (nth) atomic_store(&files.hit, false);
    atomic_store(&files.call, call);
    atomic_store(&files.error, error);
    atomic_store(&files.remaining, nth);
}

bool fault_files_hit(void) {
    return atomic_load(&files.hit);
}

long fault_files_count(size_t call) {
    return atomic_load(&files.counts[call]);
}

/* 0: the call is to be made. */
static int due(size_t call, bool ours) {
    if (!ours) return 0;
    atomic_fetch_add(&files.counts[call], 1);
    if (atomic_load(&files.remaining) <= 0 || atomic_load(&files.call) != call) return 0;
    if (atomic_fetch_sub(&files.remaining, 1) != 1) return 0;
    atomic_store(&files.hit, true);
    const int error = atomic_load(&files.error);
    if (error > 0) errno = error;
    return error;
}

/* The next definition of the name, looked up once. */
#define NEXT(type, name, parameters)                                                                         \
    static type(*next) parameters;                                                                           \
    if (!next) *(void **)&next = dlsym(RTLD_NEXT, #name)

/* ---- descriptors ---- */

#define OPENS(name)                                                                                          \
    OVERRIDE int name(const char *path, int flags, ...) {                                                    \
        NEXT(int, name, (const char *, int, ...));                                                           \
        va_list arguments;                                                                                   \
        va_start(arguments, flags);                                                                          \
        const mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;                                 \
        va_end(arguments);                                                                                   \
        return due(AT_open, OURS) ? -1 : next(path, flags, mode);                                            \
    }
OPENS(open)
OPENS(open64)

#define MOVES(name, type)                                                                                    \
    OVERRIDE ssize_t name(int file, type *data, size_t bytes) {                                              \
        NEXT(ssize_t, name, (int, type *, size_t));                                                          \
        const int error = due(AT_##name, OURS);                                                              \
        if (error > 0) return -1;                                                                            \
        return next(file, data, error && bytes > 1 ? bytes / 2 : bytes);                                     \
    }
MOVES(read, void)
MOVES(write, const void)

OVERRIDE ssize_t pread(int file, void *data, size_t bytes, off_t offset) {
    NEXT(ssize_t, pread, (int, void *, size_t, off_t));
    const int error = due(AT_pread, OURS);
    if (error > 0) return -1;
    return next(file, data, error && bytes > 1 ? bytes / 2 : bytes, offset);
}

#define FAILS(name, failure, parameters, ...)                                                                \
    OVERRIDE int name parameters {                                                                           \
        NEXT(int, name, parameters);                                                                         \
        return due(AT_##name, OURS) ? (failure) : next(__VA_ARGS__);                                         \
    }
FAILS(fsync, -1, (int file), file)
FAILS(rename, -1, (const char *from, const char *to), from, to)
FAILS(mkdir, -1, (const char *path, mode_t mode), path, mode)
FAILS(unlink, -1, (const char *path), path)
FAILS(fstat, -1, (int file, struct stat *state), file, state)
FAILS(stat, -1, (const char *path, struct stat *state), path, state)
FAILS(flock, -1, (int file, int operation), file, operation)

/* What fails to close is closed all the same. */
#define CLOSES(name, failure, type)                                                                          \
    OVERRIDE int name(type file) {                                                                           \
        NEXT(int, name, (type));                                                                             \
        const int error = due(AT_##name, OURS), result = next(file);                                         \
        if (error) errno = error;                                                                            \
        return error ? (failure) : result;                                                                   \
    }
CLOSES(close, -1, int)

/* ---- folders ---- */

OVERRIDE DIR *opendir(const char *path) {
    NEXT(DIR *, opendir, (const char *));
    return due(AT_opendir, OURS) ? NULL : next(path);
}

OVERRIDE struct dirent *readdir(DIR *folder) {
    NEXT(struct dirent *, readdir, (DIR *));
    return due(AT_readdir, OURS) ? NULL : next(folder);
}

/* ---- threads ---- */

OVERRIDE int pthread_create(
    pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *), void *argument) {
    NEXT(int, pthread_create, (pthread_t *, const pthread_attr_t *, void *(*)(void *), void *));
    const bool ours = OURS;
    if (due(AT_pthread_create, ours)) return EAGAIN;
    if (!ours) return next(thread, attributes, function, argument);
    return next(thread, attributes, fault_memory_run_thread, fault_memory_thread(function, argument));
}
