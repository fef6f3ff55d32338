/* Files, clock, threads and environment of POSIX 2008 (contract in platform.h). */
#include "base/platform.h"
#include "base/file_target.h"
#include "base/process.h"
#include "base/writeback.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { TEMPORARY_ATTEMPTS = 100, LARGE_BLOCK = 16 << 20 };

static weft_status fail_file(const char *doing, const char *path, int error) {
    return wi_file_fail(doing, path, error);
}

struct wi_file_writer {
    const weft_allocator *allocator;
    char *path, *temporary;
    FILE *file;
    bool private;
};

static void free_writer(wi_file_writer *writer) {
    if (writer->file) fclose(writer->file);
    wi_release(writer->allocator, writer->path);
    wi_release(writer->allocator, writer->temporary);
    wi_release(writer->allocator, writer);
}

/* Locks a new file, so that wi_file_remove_abandoned of another process does not remove it. False: another process has
 * removed it already. On a file system without locks the function returns true, and wi_file_remove_abandoned removes
 * nothing. */
static bool claim(int file) {
    struct stat state;
    if (flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return false;
    return fstat(file, &state) != 0 || state.st_nlink > 0;
}

/* Creates a file beside writer->path. Unlike mkstemp, which creates files with mode 0600, it applies the user's umask.
 * O_EXCL lets only one process create a name, and follows no link, so that process id and clock need only make equal
 * names rare. Returns a descriptor, or after an error -1 (WEFT_ERROR_MEMORY) or -2 (WEFT_ERROR_FILE). */
static int open_temporary(wi_file_writer *writer) {
    const size_t capacity = strlen(writer->path) + 64;
    writer->temporary = wi_allocate(writer->allocator, capacity);
    if (!writer->temporary) return -1;
    for (int attempt = 0; attempt < TEMPORARY_ATTEMPTS; attempt++) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        snprintf(writer->temporary, capacity, "%s.%ld-%ld-%d.tmp", writer->path, (long)getpid(), now.tv_nsec,
            attempt);
        const int file = wi_open(
            writer->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, writer->private ? 0600 : 0666);
        if (file >= 0 && claim(file)) return file;
        if (file < 0 && errno != EEXIST) break;
        if (file >= 0) close(file);
        errno = EEXIST;
    }
    fail_file("create a file beside", writer->path, errno);
    return -2;
}

/* Removes temporary files of this path that killed processes left. If that fails, the file can be saved nevertheless. */
static void remove_own_abandoned(const weft_allocator *allocator, const char *path) {
    char folder[PATH_MAX], prefix[PATH_MAX];
    const char *name = NULL;
    wi_path_split(path, folder, sizeof folder, &name);
    snprintf(prefix, sizeof prefix, "%s.", name);
    (void)wi_file_remove_abandoned(allocator, folder, prefix);
}

/* Opens a stream on the temporary file, which is closed and removed after an error. The stream has no buffer: if the
 * program forked, the child would write the buffer a second time when it exits. */
static weft_status open_stream(wi_file_writer *writer, int file) {
    weft_status status = WEFT_OK;
    if (!writer->private && !wi_file_keep_mode(file, writer->path))
        status = fail_file("keep the mode of", writer->path, errno);
    else if (!(writer->file = fdopen(file, "wb")))
        status = wi_fail(WEFT_ERROR_MEMORY, "out of host memory while opening '%s'", writer->path);
    if (status == WEFT_OK) {
        (void)setvbuf(writer->file, NULL, _IONBF, 0);
        return WEFT_OK;
    }
    close(file);
    unlink(writer->temporary);
    return status;
}

static weft_status begin(
    wi_file_writer **result, const weft_allocator *allocator, const char *target, bool private) {
    wi_file_writer *writer = wi_allocate(allocator, sizeof *writer);
    if (!writer) return WEFT_ERROR_MEMORY;
    writer->allocator = allocator;
    writer->private = private;
    weft_status status = WEFT_ERROR_MEMORY;
    int file = -1;
    if (!(writer->path = wi_copy_string(allocator, target))) goto done;
    remove_own_abandoned(allocator, target);
    file = open_temporary(writer);
    if (file < 0) {
        status = file == -1 ? WEFT_ERROR_MEMORY : WEFT_ERROR_FILE;
        goto done;
    }
    WI_TRY_DONE(open_stream(writer, file));
    *result = writer;
    return WEFT_OK;
done:
    free_writer(writer);
    return status;
}

weft_status wi_file_writer_begin(wi_file_writer **result, const weft_allocator *allocator, const char *path) {
    char target[PATH_MAX];
    *result = NULL;
    WI_TRY(wi_file_target(target, sizeof target, path));
    return begin(result, allocator, target, false);
}

weft_status wi_file_writer_begin_private(
    wi_file_writer **result, const weft_allocator *allocator, const char *path) {
    *result = NULL;
    return begin(result, allocator, path, true);
}

/* Writes to the descriptor and not through the stream, whose buffer is empty after fflush. */
static bool append_large(wi_file_writer *writer, const void *data, size_t bytes) {
    if (fflush(writer->file) != 0) return false;
    const int file = fileno(writer->file);
    const off_t at = lseek(file, 0, SEEK_CUR);
    return at >= 0 && wi_write_through(file, (uint64_t)at, data, bytes);
}

weft_status wi_file_writer_append(wi_file_writer *writer, const void *data, size_t bytes) {
    if (bytes == 0) return WEFT_OK;
    if (bytes < LARGE_BLOCK && fwrite(data, 1, bytes, writer->file) == bytes) return WEFT_OK;
    if (bytes >= LARGE_BLOCK && append_large(writer, data, bytes)) return WEFT_OK;
    return fail_file("write", writer->path, errno);
}

weft_status wi_file_writer_commit(wi_file_writer *writer) {
    weft_status status = WEFT_OK;
    if (fflush(writer->file) != 0 || wi_sync(fileno(writer->file)) != 0)
        status = fail_file("write", writer->path, errno);
    else if (rename(writer->temporary, writer->path) != 0)
        status = fail_file("replace", writer->path, errno);
    if (status != WEFT_OK) unlink(writer->temporary);
    /* Closing releases the lock. The file already has its final name, which no other process removes. */
    free_writer(writer);
    return status;
}

weft_status wi_directory_sync(const char *path) {
    const int folder = wi_open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (folder < 0) return fail_file("open the folder", path, errno);
    /* Some file systems cannot sync a folder, and report EINVAL. */
    const int error = wi_sync(folder) != 0 && errno != EINVAL ? errno : 0;
    close(folder);
    return error ? fail_file("write the folder", path, error) : WEFT_OK;
}

/* Removes a temporary file if no process has it locked, which means that its writer no longer runs. */
static void remove_unlocked(const char *folder, const char *name) {
    char path[PATH_MAX];
    const int length = snprintf(path, sizeof path, "%s/%s", folder, name);
    if (length < 0 || (size_t)length >= sizeof path) return;
    const int file = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) return;
    if (flock(file, LOCK_EX | LOCK_NB) == 0) unlink(path);
    close(file);
}

weft_status wi_file_remove_abandoned(
    const weft_allocator *allocator, const char *folder, const char *prefix) {
    wi_arena arena;
    const char **names = NULL;
    size_t count = 0;
    wi_arena_init(&arena, allocator);
    const weft_status status = wi_directory_list(&names, &count, &arena, folder);
    for (size_t i = 0; i < count; i++)
        if (strncmp(names[i], prefix, strlen(prefix)) == 0 && wi_file_is_temporary(names[i]))
            remove_unlocked(folder, names[i]);
    wi_release(allocator, (void *)names);
    wi_arena_clear(&arena);
    return status;
}

weft_status wi_file_remove(const char *path) {
    return unlink(path) == 0 || errno == ENOENT ? WEFT_OK : fail_file("remove", path, errno);
}

void wi_path_split(const char *path, char *folder, size_t capacity, const char **name) {
    const char *const slash = strrchr(path, '/');
    const size_t length = slash == path ? 1 : slash ? (size_t)(slash - path) : 0;
    snprintf(folder, capacity, "%.*s", (int)length, length ? path : "");
    if (length == 0) snprintf(folder, capacity, ".");
    *name = slash ? slash + 1 : path;
}

void wi_file_writer_abandon(wi_file_writer *writer) {
    if (!writer) return;
    unlink(writer->temporary);
    free_writer(writer);
}

weft_status wi_file_writer_finish(wi_file_writer *writer, const void *data, size_t bytes) {
    const weft_status status = wi_file_writer_append(writer, data, bytes);
    if (status == WEFT_OK) return wi_file_writer_commit(writer);
    wi_file_writer_abandon(writer);
    return status;
}

weft_status wi_file_write_atomic(const char *path, const void *data, size_t bytes) {
    wi_file_writer *writer = NULL;
    WI_TRY(wi_file_writer_begin(&writer, NULL, path));
    return wi_file_writer_finish(writer, data, bytes);
}

weft_status wi_file_write_private(
    const weft_allocator *allocator, const char *path, const void *data, size_t bytes) {
    wi_file_writer *writer = NULL;
    WI_TRY(wi_file_writer_begin_private(&writer, allocator, path));
    return wi_file_writer_finish(writer, data, bytes);
}

struct wi_line_file {
    const weft_allocator *allocator;
    char *path;
    int file;
};

weft_status wi_line_file_open(
    wi_line_file **result, const weft_allocator *allocator, const char *path, bool append, bool *empty) {
    *result = NULL;
    struct stat state;
    wi_line_file *const made = wi_allocate(allocator, sizeof *made);
    if (!made) return WEFT_ERROR_MEMORY;
    made->allocator = allocator;
    made->file = -1;
    weft_status status = WEFT_ERROR_MEMORY;
    if (!(made->path = wi_copy_string(allocator, path))) goto done;
    made->file = wi_open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (append ? 0 : O_TRUNC), 0666);
    if (made->file < 0 || fstat(made->file, &state) != 0) {
        status = fail_file("open", path, errno);
        goto done;
    }
    *empty = state.st_size == 0;
    *result = made;
    return WEFT_OK;
done:
    wi_line_file_close(made);
    return status;
}

weft_status wi_line_file_write(wi_line_file *file, const char *line, size_t bytes) {
    while (bytes) {
        const ssize_t wrote = write(file->file, line, bytes);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote < 0) return fail_file("write", file->path, errno);
        line += wrote;
        bytes -= (size_t)wrote;
    }
    return WEFT_OK;
}

weft_status wi_line_file_size(const wi_line_file *file, uint64_t *bytes) {
    struct stat state;
    if (fstat(file->file, &state) != 0) return fail_file("look at", file->path, errno);
    *bytes = (uint64_t)state.st_size;
    return WEFT_OK;
}

weft_status wi_line_file_cut(wi_line_file *file, uint64_t bytes) {
    while (ftruncate(file->file, (off_t)bytes) != 0)
        if (errno != EINTR) return fail_file("shorten", file->path, errno);
    return WEFT_OK;
}

void wi_line_file_close(wi_line_file *file) {
    if (!file) return;
    if (file->file >= 0) close(file->file);
    wi_release(file->allocator, file->path);
    wi_release(file->allocator, file);
}

bool wi_file_exists(const char *path) {
    struct stat state;
    return stat(path, &state) == 0;
}

/* 0 if the path is a folder, otherwise a value of errno. */
static int folder_error(const char *path) {
    struct stat state;
    if (stat(path, &state) != 0) return errno;
    return S_ISDIR(state.st_mode) ? 0 : EEXIST;
}

static weft_status make_folder(const char *path, unsigned mode) {
    const int error = mkdir(path, (mode_t)mode) != 0 ? errno : 0;
    const int found = error ? folder_error(path) : 0;
    return found ? fail_file("create folder", path, error == EEXIST ? found : error) : WEFT_OK;
}

bool wi_path_can_be_written(const char *path) {
    return faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0;
}

weft_status wi_path_look(wi_path_info *info, const char *path, bool *missing) {
    struct stat state;
    const bool failed = stat(path, &state) != 0;
    if (missing) *missing = failed && errno == ENOENT;
    if (failed) return fail_file("open", path, errno);
    *info = (wi_path_info){.kind = S_ISREG(state.st_mode)   ? WI_PATH_FILE
                                   : S_ISDIR(state.st_mode) ? WI_PATH_FOLDER
                                                            : WI_PATH_OTHER,
        .bytes = state.st_size > 0 ? (uint64_t)state.st_size : 0,
        .device = (uint64_t)state.st_dev,
        .number = (uint64_t)state.st_ino};
    return WEFT_OK;
}

static int compare_names(const void *one, const void *other) {
    return strcmp(*(const char *const *)one, *(const char *const *)other);
}

static weft_status read_names(
    DIR *folder, const char ***names, size_t *count, wi_arena *arena, const char *path) {
    size_t capacity = 0;
    for (;;) {
        errno = 0;
        const struct dirent *const entry = readdir(folder);
        if (!entry && errno) return fail_file("read the folder", path, errno);
        if (!entry) return WEFT_OK;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        WI_TRY(wi_grow(arena->allocator, (void **)names, &capacity, *count + 1, sizeof **names));
        if (!((*names)[*count] = wi_arena_string(arena, entry->d_name))) return WEFT_ERROR_MEMORY;
        ++*count;
    }
}

weft_status wi_directory_list(const char ***names, size_t *count, wi_arena *arena, const char *path) {
    *names = NULL;
    *count = 0;
    DIR *const folder = opendir(path);
    if (!folder) return fail_file("read the folder", path, errno);
    const weft_status status = read_names(folder, names, count, arena, path);
    closedir(folder);
    if (status != WEFT_OK) {
        wi_release(arena->allocator, (void *)*names);
        *names = NULL;
        *count = 0;
        return status;
    }
    if (*count) qsort((void *)*names, *count, sizeof **names, compare_names);
    return WEFT_OK;
}

weft_status wi_directory_create(const char *path, unsigned mode) {
    char part[PATH_MAX];
    const size_t length = strlen(path);
    if (folder_error(path) == 0) return WEFT_OK;
    if (length == 0 || length >= sizeof part) return fail_file("create folder", path, ENAMETOOLONG);
    memcpy(part, path, length + 1);
    for (size_t i = 1; i <= length; i++) {
        if (path[i] != '/' && path[i] != '\0') continue;
        part[i] = '\0';
        WI_TRY(make_folder(part, mode));
        part[i] = path[i];
    }
    return WEFT_OK;
}

double wi_clock_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void wi_clock_sleep(double seconds) {
    const time_t whole = (time_t)seconds;
    const struct timespec time = {whole, (long)(1e9 * (seconds - (double)whole))};
    (void)nanosleep(&time, NULL); /* a signal may end it early */
}

size_t wi_processor_count(void) {
    const long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count > 1 ? (size_t)count : 1;
}

void wi_locale_enter(wi_locale *locale) {
    locale->own = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    locale->before = locale->own ? uselocale(locale->own) : (locale_t)0;
}

void wi_locale_leave(wi_locale *locale) {
    if (!locale->own) return;
    uselocale(locale->before);
    freelocale(locale->own);
}

const char *wi_environment(const char *name) {
    const char *const value = getenv(name);
    return value && *value ? value : NULL;
}

weft_status wi_thread_start(wi_thread *thread, void *(*function)(void *), void *argument) {
    WI_TRY(wi_process_check_driver());
    const int error = pthread_create(&thread->handle, NULL, function, argument);
    thread->running = error == 0;
    if (error == 0) return WEFT_OK;
    WI_FAIL(WEFT_ERROR_MEMORY, "cannot start a thread: error %d", error);
}

void wi_thread_join(wi_thread *thread) {
    if (!thread->running || wi_process_lost_driver()) return;
    pthread_join(thread->handle, NULL);
    thread->running = false;
}
