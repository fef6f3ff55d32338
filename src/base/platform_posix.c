/* Files, clock, threads and environment of POSIX 2008 (contracts in platform.h and system_file.h). */
#ifndef _XOPEN_SOURCE
#define _XOPEN_SOURCE 700 /* realpath, which POSIX alone does not declare */
#endif
#include "base/file_target.h"
#include "base/host.h"
#include "base/platform.h"
#include "base/process.h"
#include "base/system_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* WI_OPEN_NEW: unlike mkstemp, which creates files with mode 0600, the user's umask applies. O_EXCL follows no link. */
int wi_open(const char *path, wi_opening opening) {
    static const int flags[] = {
        [WI_OPEN_READ] = O_RDONLY | O_NONBLOCK,
        [WI_OPEN_WAITING] = O_RDONLY,
        [WI_OPEN_KEPT] = O_RDONLY | O_NONBLOCK | O_NOFOLLOW,
        [WI_OPEN_NEW] = O_WRONLY | O_CREAT | O_EXCL,
        [WI_OPEN_PRIVATE] = O_WRONLY | O_CREAT | O_EXCL,
        [WI_OPEN_APPEND] = O_WRONLY | O_CREAT | O_APPEND,
        [WI_OPEN_EMPTIED] = O_WRONLY | O_CREAT | O_APPEND | O_TRUNC,
    };
    int file;
    do file = open(path, flags[opening] | O_CLOEXEC, opening == WI_OPEN_PRIVATE ? 0600 : 0666);
    while (file < 0 && errno == EINTR);
    return file;
}

void wi_close(int file) {
    close(file);
}

static wi_path_info info_of(const struct stat *state) {
    return (wi_path_info){.kind = S_ISREG(state->st_mode)   ? WI_PATH_FILE
                                  : S_ISDIR(state->st_mode) ? WI_PATH_FOLDER
                                                            : WI_PATH_OTHER,
        .bytes = state->st_size > 0 ? (uint64_t)state->st_size : 0,
        .device = (uint64_t)state->st_dev,
        .number = (uint64_t)state->st_ino};
}

bool wi_look(int file, wi_path_info *info) {
    struct stat state;
    if (fstat(file, &state) != 0) return false;
    *info = info_of(&state);
    return true;
}

bool wi_look_at(const char *path, wi_path_info *info) {
    struct stat state;
    if (stat(path, &state) != 0) return false;
    *info = info_of(&state);
    return true;
}

int64_t wi_read_some(int file, void *buffer, size_t bytes) {
    ssize_t got;
    do got = read(file, buffer, bytes);
    while (got < 0 && errno == EINTR);
    return got;
}

int64_t wi_read_at(int file, uint64_t offset, void *buffer, size_t bytes) {
    ssize_t got;
    do got = pread(file, buffer, bytes, (off_t)offset);
    while (got < 0 && errno == EINTR);
    return got;
}

bool wi_write_all(int file, const void *data, size_t bytes) {
    const char *from = data;
    while (bytes) {
        const ssize_t wrote = write(file, from, bytes);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote < 0) return false;
        from += wrote;
        bytes -= (size_t)wrote;
    }
    return true;
}

bool wi_truncate(int file, uint64_t bytes) {
    while (ftruncate(file, (off_t)bytes) != 0)
        if (errno != EINTR) return false;
    return true;
}

bool wi_sync(int file) {
    int result;
    do result = fsync(file);
    while (result != 0 && errno == EINTR);
    return result == 0;
}

bool wi_lock(int file, bool otherwise) {
    if (flock(file, LOCK_EX | LOCK_NB) == 0) return true;
    return errno == EWOULDBLOCK ? false : otherwise;
}

bool wi_has_name(int file) {
    struct stat state;
    return fstat(file, &state) != 0 || state.st_nlink > 0;
}

bool wi_move_file(const char *from, const char *to) {
    return rename(from, to) == 0;
}

bool wi_unlink(const char *path) {
    return unlink(path) == 0;
}

bool wi_make_folder(const char *path, bool only_user) {
    return mkdir(path, only_user ? 0700 : 0777) == 0;
}

bool wi_keep_mode(int file, const char *target) {
    struct stat old, made;
    if (stat(target, &old) != 0) return true;
    if (fstat(file, &made) != 0) return false;
    const mode_t mode = old.st_mode & 07777;
    return (made.st_mode & 07777) == mode || fchmod(file, mode) == 0;
}

void wi_error_text(int error, char *text, size_t capacity) {
    if (strerror_r(error, text, capacity) != 0) snprintf(text, capacity, "error %d", error);
}

weft_status wi_directory_sync(const char *path) {
    int folder;
    do folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (folder < 0 && errno == EINTR);
    if (folder < 0) return wi_file_fail("open the folder", path, errno);
    /* Some file systems cannot sync a folder, and report EINVAL. */
    const int error = !wi_sync(folder) && errno != EINVAL ? errno : 0;
    close(folder);
    return error ? wi_file_fail("write the folder", path, error) : WEFT_OK;
}

bool wi_is_separator(char character) {
    return character == '/';
}

size_t wi_path_root(const char *path) {
    return *path == '/' ? 1 : 0;
}

char *wi_path_resolve(const char *path) {
    return realpath(path, NULL);
}

bool wi_path_can_be_written(const char *path) {
    return faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0;
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
        if (!entry && errno) return wi_file_fail("read the folder", path, errno);
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
    if (!folder) return wi_file_fail("read the folder", path, errno);
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

/* Relative paths in XDG_CACHE_HOME are ignored, as its specification demands. */
const char *wi_cache_home(const char **below) {
    const char *const xdg = wi_environment("XDG_CACHE_HOME");
    const bool named = xdg && *xdg == '/';
    *below = named ? "/weft" : "/.cache/weft";
    return named ? xdg : wi_environment("HOME");
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
    const locale_t own = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    locale->own = own;
    locale->before = own ? uselocale(own) : (locale_t)0;
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

void wi_mutex_init(wi_mutex *mutex) {
    pthread_mutex_init(mutex, NULL);
}

void wi_mutex_destroy(wi_mutex *mutex) {
    pthread_mutex_destroy(mutex);
}

void wi_mutex_lock(wi_mutex *mutex) {
    pthread_mutex_lock(mutex);
}

void wi_mutex_unlock(wi_mutex *mutex) {
    pthread_mutex_unlock(mutex);
}

void wi_condition_init(wi_condition *condition) {
    pthread_cond_init(condition, NULL);
}

void wi_condition_destroy(wi_condition *condition) {
    pthread_cond_destroy(condition);
}

void wi_condition_wait(wi_condition *condition, wi_mutex *mutex) {
    pthread_cond_wait(condition, mutex);
}

void wi_condition_wait_for(wi_condition *condition, wi_mutex *mutex, double seconds) {
    const double until = wi_day_seconds() + seconds;
    const time_t whole = (time_t)until;
    const struct timespec time = {whole, (long)(1e9 * (until - (double)whole))};
    (void)pthread_cond_timedwait(condition, mutex, &time);
}

void wi_condition_wake_one(wi_condition *condition) {
    pthread_cond_signal(condition);
}

void wi_condition_wake_all(wi_condition *condition) {
    pthread_cond_broadcast(condition);
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
