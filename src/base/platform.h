/* What differs between operating systems: files, clock, threads, environment.
 *
 * Threads: wi_thread runs one function to its end and must be joined; wi_mutex and wi_condition are plain. In a process that has
 * lost the driver (process.h) no thread starts, and none is waited for. */
#ifndef WI_PLATFORM_H
#define WI_PLATFORM_H

#include "base/file_read.h"
#include <locale.h>
#include <pthread.h>

/* Writes to a temporary beside path, fsyncs, renames: path has the old content or the new, never a part. A symbolic link
 * stays, and leads to the new content; a file that is replaced keeps its mode. Temporaries that killed processes left of
 * this path are removed. */
weft_status wi_file_write_atomic(const char *path, const void *data, size_t bytes);
/* The same in pieces: begin, any number of appends, then commit or abandon (which removes the temporary). */
typedef struct wi_file_writer wi_file_writer;
weft_status wi_file_writer_begin(wi_file_writer **writer, const weft_allocator *allocator, const char *path);
/* For files that the library keeps in its own folder (read by wi_kept_file_read): the new file replaces whatever has the
 * name, so that a symbolic link becomes a regular file and what the link leads to stays as it is. Only the user may read
 * and write the new file. */
weft_status wi_file_write_private(
    const weft_allocator *allocator, const char *path, const void *data, size_t bytes);
weft_status wi_file_writer_begin_private(
    wi_file_writer **writer, const weft_allocator *allocator, const char *path);
weft_status wi_file_writer_append(wi_file_writer *writer, const void *data, size_t bytes);
weft_status wi_file_writer_finish(
    wi_file_writer *writer, const void *data, size_t bytes); /* appends and commits, or abandons */
weft_status wi_file_writer_commit(wi_file_writer *writer);   /* frees the writer, whatever it returns */
void wi_file_writer_abandon(wi_file_writer *writer);         /* NULL is fine */
/* Makes a rename in this folder last beyond a power failure. */
weft_status wi_directory_sync(const char *path);
/* Removes the temporaries that killed processes left in a folder, of files whose names begin with prefix. Those of
 * living writers are locked, and stay. */
weft_status wi_file_remove_abandoned(const weft_allocator *allocator, const char *folder, const char *prefix);
weft_status wi_file_remove(const char *path); /* a file that is not there is fine */
/* The folder of a path ("." for a bare name) in a buffer, and the name in it. */
void wi_path_split(const char *path, char *folder, size_t capacity, const char **name);
/* A file of lines that grows, for logs: each write is one call of the system's, so that readers see whole
 * lines. append: an old file goes on (*empty: it held nothing), else it is replaced. */
typedef struct wi_line_file wi_line_file;
weft_status wi_line_file_open(
    wi_line_file **file, const weft_allocator *allocator, const char *path, bool append, bool *empty);
weft_status wi_line_file_write(wi_line_file *file, const char *line, size_t bytes);
weft_status wi_line_file_size(const wi_line_file *file, uint64_t *bytes);
weft_status wi_line_file_cut(wi_line_file *file, uint64_t bytes); /* what follows is removed */
void wi_line_file_close(wi_line_file *file);                      /* NULL is fine */
bool wi_file_exists(const char *path);
/* What a path leads to, links followed. device and number are the same for two paths of one folder. */
typedef enum wi_path_kind { WI_PATH_FILE, WI_PATH_FOLDER, WI_PATH_OTHER } wi_path_kind;
typedef struct wi_path_info {
    wi_path_kind kind;
    uint64_t bytes, device, number;
} wi_path_info;
/* *missing (may be NULL): it failed because nothing is there. */
weft_status wi_path_look(wi_path_info *info, const char *path, bool *missing);
/* By this process; false where nothing is there. */
bool wi_path_can_be_written(const char *path);
/* The names in a folder but . and .., sorted by their bytes, in the arena; *names is released by the caller.
 */
weft_status wi_directory_list(const char ***names, size_t *count, wi_arena *arena, const char *path);
/* mkdir -p; the folders that are made get this mode, less the umask. */
weft_status wi_directory_create(const char *path, unsigned mode);

double wi_clock_seconds(void); /* monotonic */
void wi_clock_sleep(double seconds);
size_t wi_processor_count(void); /* that are online; at least 1 */

/* Between enter and leave, numbers are printed and read with a point on this thread, whatever the program's
 * locale is. When there is no memory for that the program's locale stays. */
typedef struct wi_locale {
    locale_t own, before;
} wi_locale;
void wi_locale_enter(wi_locale *locale);
void wi_locale_leave(wi_locale *locale);

/* NULL when unset or empty. */
const char *wi_environment(const char *name);

typedef pthread_mutex_t wi_mutex;
typedef pthread_cond_t wi_condition;
typedef struct wi_thread {
    pthread_t handle;
    bool running;
} wi_thread;

weft_status wi_thread_start(wi_thread *thread, void *(*function)(void *), void *argument);
void wi_thread_join(wi_thread *thread); /* a thread that never started is fine */

#endif
