/* What differs between operating systems: files, clock, threads, environment. Errors of files are WEFT_ERROR_FILE.
 *
 * Paths are UTF-8 on Windows, where a backslash separates folders, too, and bytes without a meaning elsewhere.
 *
 * wi_thread runs one function to its end, and must be joined. In a process that has lost the driver (process.h),
 * starting a thread is an error, and joining does not wait. */
#ifndef WI_PLATFORM_H
#define WI_PLATFORM_H

#include "base/file_read.h"
#if !defined(_WIN32)
#include <pthread.h>
#endif

enum { WI_PATH_CAPACITY = 4096 }; /* bytes of the longest path with its NUL */

/* Replaces the file by data, so that a crash leaves the old content or the new, never a part: writes to a temporary
 * file beside it, syncs that file and renames it. If path is a symbolic link, the file that it leads to is replaced.
 * The new file gets the mode of the old one. Also removes temporary files of this path that killed processes left. */
weft_status wi_file_write_atomic(const char *path, const void *data, size_t bytes);
/* Replaces a file as wi_file_write_atomic does, by several writes: begin, any number of appends, then commit, or
 * abandon, which removes the temporary file. */
typedef struct wi_file_writer wi_file_writer;
weft_status wi_file_writer_begin(wi_file_writer **writer, const weft_allocator *allocator, const char *path);
/* Like the functions above, for files in the library's own folder (read by wi_kept_file_read): a symbolic link at path
 * is itself replaced, and what it leads to does not change. Only the user may read and write the new file. */
weft_status wi_file_write_private(
    const weft_allocator *allocator, const char *path, const void *data, size_t bytes);
weft_status wi_file_writer_begin_private(
    wi_file_writer **writer, const weft_allocator *allocator, const char *path);
weft_status wi_file_writer_append(wi_file_writer *writer, const void *data, size_t bytes);
weft_status wi_file_writer_finish(
    wi_file_writer *writer, const void *data, size_t bytes); /* appends and commits, or abandons */
weft_status wi_file_writer_commit(wi_file_writer *writer);   /* frees the writer, also after an error */
void wi_file_writer_abandon(wi_file_writer *writer);         /* writer may be NULL */
/* Syncs a folder, so that renames in it survive a power failure. */
weft_status wi_directory_sync(const char *path);
/* Removes the temporary files in the folder whose names begin with prefix. Those that a running process writes are
 * locked, and remain. */
weft_status wi_file_remove_abandoned(const weft_allocator *allocator, const char *folder, const char *prefix);
weft_status wi_file_remove(const char *path); /* no error if there is no such file */
/* Whether the character separates the folders of a path. */
bool wi_is_separator(char character);
/* The length of the part of a path that leads to no other folder than the root: 1 in "/usr", 3 in "C:/data", 0 in a
 * relative path. */
size_t wi_path_root(const char *path);
/* The path without links, "." and ".."; the caller frees it with free(). NULL: nothing is there, or no memory. */
char *wi_path_resolve(const char *path);
/* Writes the folder of a path, "." if the path is only a name, to a buffer of `capacity` bytes. *name: the rest of the
 * path. */
void wi_path_split(const char *path, char *folder, size_t capacity, const char **name);
/* A log file that grows by lines. Each write is normally one system call, so that other processes read whole lines.
 * append: an existing file is continued, otherwise it is replaced. *empty: whether the opened file is empty. */
typedef struct wi_line_file wi_line_file;
weft_status wi_line_file_open(
    wi_line_file **file, const weft_allocator *allocator, const char *path, bool append, bool *empty);
weft_status wi_line_file_write(wi_line_file *file, const char *line, size_t bytes);
weft_status wi_line_file_size(const wi_line_file *file, uint64_t *bytes);
weft_status wi_line_file_cut(wi_line_file *file, uint64_t bytes); /* truncates the file */
void wi_line_file_close(wi_line_file *file);                      /* file may be NULL */
bool wi_file_exists(const char *path);
/* The file or folder to which a path leads; links are followed. Two paths lead to the same one if `device` and `number`
 * are equal. */
typedef enum wi_path_kind { WI_PATH_FILE, WI_PATH_FOLDER, WI_PATH_OTHER } wi_path_kind;
typedef struct wi_path_info {
    wi_path_kind kind;
    uint64_t bytes, device, number;
} wi_path_info;
/* *missing (may be NULL): true if the error is that nothing is there. */
weft_status wi_path_look(wi_path_info *info, const char *path, bool *missing);
/* Whether this process may write to the path; false if nothing is there. */
bool wi_path_can_be_written(const char *path);
/* The names in a folder except "." and "..", sorted by their bytes. The texts are in the arena; the caller releases the
 * array *names with wi_release and the arena's allocator. */
weft_status wi_directory_list(const char ***names, size_t *count, wi_arena *arena, const char *path);
/* Creates the folder and its parents (mkdir -p), which everybody or only the user may read. An existing folder is no
 * error. */
weft_status wi_directory_create(const char *path, bool only_user);
/* The user's folder for caches: $XDG_CACHE_HOME or $HOME/.cache, and on Windows %LOCALAPPDATA%; NULL: none is known. *below:
 * the path of the library's folder below the returned folder, beginning with a separator. */
const char *wi_cache_home(const char **below);

double wi_clock_seconds(void); /* monotonic */
void wi_clock_sleep(double seconds);
size_t wi_processor_count(void); /* processors that are online, at least 1 */

/* Between enter and leave, the calling thread prints and reads numbers in the C locale, with a decimal point. If there
 * is no memory for the locale, the program's locale remains. */
typedef struct wi_locale {
    void *own, *before;
    int mode;
} wi_locale;
void wi_locale_enter(wi_locale *locale);
void wi_locale_leave(wi_locale *locale);

/* The value of an environment variable; NULL if it is unset or empty. */
const char *wi_environment(const char *name);

#if defined(_WIN32)
/* An SRWLOCK and a CONDITION_VARIABLE, which are one pointer each. */
typedef struct wi_mutex {
    void *state;
} wi_mutex;
typedef struct wi_condition {
    void *state;
} wi_condition;
#define WI_MUTEX_UNLOCKED                                                                                    \
    { NULL }
#else
typedef pthread_mutex_t wi_mutex;
typedef pthread_cond_t wi_condition;
#define WI_MUTEX_UNLOCKED PTHREAD_MUTEX_INITIALIZER
#endif
void wi_mutex_init(wi_mutex *mutex);
void wi_mutex_destroy(wi_mutex *mutex);
void wi_mutex_lock(wi_mutex *mutex);
void wi_mutex_unlock(wi_mutex *mutex);
void wi_condition_init(wi_condition *condition);
void wi_condition_destroy(wi_condition *condition);
void wi_condition_wait(wi_condition *condition, wi_mutex *mutex);
void wi_condition_wait_for(wi_condition *condition, wi_mutex *mutex, double seconds); /* at most this long */
void wi_condition_wake_one(wi_condition *condition);
void wi_condition_wake_all(wi_condition *condition);

/* A running thread reads its wi_thread, which therefore stays where it is until the thread was joined. */
typedef struct wi_thread {
    void *(*function)(void *);
    void *argument;
#if defined(_WIN32)
    void *handle;
#else
    pthread_t handle;
#endif
    bool running;
} wi_thread;

weft_status wi_thread_start(wi_thread *thread, void *(*function)(void *), void *argument);
void wi_thread_join(wi_thread *thread); /* no effect if the thread never started */

#endif
