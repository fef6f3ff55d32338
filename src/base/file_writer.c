/* Replacing files, and log files that grow by lines (contract in platform.h). */
#include "base/file_target.h"
#include "base/host.h"
#include "base/system_file.h"
#include "base/writeback.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { TEMPORARY_ATTEMPTS = 100, LARGE_BLOCK = 16 << 20 };

struct wi_file_writer {
    const weft_allocator *allocator;
    char *path, *temporary;
    uint64_t written; /* bytes */
    int file;         /* -1: none */
    bool private;
};

static void free_writer(wi_file_writer *writer) {
    if (writer->file >= 0) wi_close(writer->file);
    wi_release(writer->allocator, writer->path);
    wi_release(writer->allocator, writer->temporary);
    wi_release(writer->allocator, writer);
}

/* Locks a new file, so that wi_file_remove_abandoned of another process does not remove it. False: another process has
 * removed it already. On a file system without locks the function returns true, and wi_file_remove_abandoned removes
 * nothing. */
static bool claim(int file) {
    return wi_lock(file, true) && wi_has_name(file);
}

/* Creates a file beside writer->path. Only one process can create a name, so that process id and clock need only make
 * equal names rare. */
static weft_status open_temporary(wi_file_writer *writer) {
    const size_t capacity = strlen(writer->path) + 64;
    writer->temporary = wi_allocate(writer->allocator, capacity);
    if (!writer->temporary) return WEFT_ERROR_MEMORY;
    for (int attempt = 0; attempt < TEMPORARY_ATTEMPTS; attempt++) {
        const double now = wi_clock_seconds();
        const long nanoseconds = (long)(1e9 * (now - (double)(int64_t)now));
        snprintf(writer->temporary, capacity, "%s.%ld-%ld-%d.tmp", writer->path, wi_process_number(),
            nanoseconds, attempt);
        writer->file = wi_open(writer->temporary, writer->private ? WI_OPEN_PRIVATE : WI_OPEN_NEW);
        if (writer->file >= 0 && claim(writer->file)) return WEFT_OK;
        if (writer->file < 0 && errno != EEXIST) break;
        if (writer->file >= 0) wi_close(writer->file);
        writer->file = -1;
        errno = EEXIST;
    }
    return wi_file_fail("create a file beside", writer->path, errno);
}

/* Removes temporary files of this path that killed processes left. If that fails, the file can be saved nevertheless. */
static void remove_own_abandoned(const weft_allocator *allocator, const char *path) {
    char folder[WI_PATH_CAPACITY], prefix[WI_PATH_CAPACITY];
    const char *name = NULL;
    wi_path_split(path, folder, sizeof folder, &name);
    snprintf(prefix, sizeof prefix, "%s.", name);
    (void)wi_file_remove_abandoned(allocator, folder, prefix);
}

static weft_status begin(
    wi_file_writer **result, const weft_allocator *allocator, const char *target, bool private) {
    wi_file_writer *writer = wi_allocate(allocator, sizeof *writer);
    if (!writer) return WEFT_ERROR_MEMORY;
    writer->allocator = allocator;
    writer->private = private;
    writer->file = -1;
    weft_status status = WEFT_ERROR_MEMORY;
    if (!(writer->path = wi_copy_string(allocator, target))) goto done;
    remove_own_abandoned(allocator, target);
    WI_TRY_DONE(open_temporary(writer));
    if (!private && !wi_keep_mode(writer->file, writer->path)) {
        status = wi_file_fail("keep the mode of", writer->path, errno);
        (void)wi_unlink(writer->temporary);
        goto done;
    }
    *result = writer;
    return WEFT_OK;
done:
    free_writer(writer);
    return status;
}

weft_status wi_file_writer_begin(wi_file_writer **result, const weft_allocator *allocator, const char *path) {
    char target[WI_PATH_CAPACITY];
    *result = NULL;
    WI_TRY(wi_file_target(target, sizeof target, path));
    return begin(result, allocator, target, false);
}

weft_status wi_file_writer_begin_private(
    wi_file_writer **result, const weft_allocator *allocator, const char *path) {
    *result = NULL;
    return begin(result, allocator, path, true);
}

weft_status wi_file_writer_append(wi_file_writer *writer, const void *data, size_t bytes) {
    const bool done = bytes < LARGE_BLOCK ? wi_write_all(writer->file, data, bytes)
                                          : wi_write_through(writer->file, writer->written, data, bytes);
    if (!done) return wi_file_fail("write", writer->path, errno);
    writer->written += bytes;
    return WEFT_OK;
}

weft_status wi_file_writer_commit(wi_file_writer *writer) {
    weft_status status = WEFT_OK;
    if (!wi_sync(writer->file))
        status = wi_file_fail("write", writer->path, errno);
    else if (!wi_move_file(writer->temporary, writer->path))
        status = wi_file_fail("replace", writer->path, errno);
    if (status != WEFT_OK) (void)wi_unlink(writer->temporary);
    /* Closing releases the lock. The file already has its final name, which no other process removes. */
    free_writer(writer);
    return status;
}

void wi_file_writer_abandon(wi_file_writer *writer) {
    if (!writer) return;
    (void)wi_unlink(writer->temporary);
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

/* Removes a temporary file if no process has it locked, which means that its writer no longer runs. */
static void remove_unlocked(const char *folder, const char *name) {
    char path[WI_PATH_CAPACITY];
    const int length = snprintf(path, sizeof path, "%s/%s", folder, name);
    if (length < 0 || (size_t)length >= sizeof path) return;
    const int file = wi_open(path, WI_OPEN_KEPT);
    if (file < 0) return;
    if (wi_lock(file, false)) (void)wi_unlink(path);
    wi_close(file);
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

struct wi_line_file {
    const weft_allocator *allocator;
    char *path;
    int file;
};

weft_status wi_line_file_open(
    wi_line_file **result, const weft_allocator *allocator, const char *path, bool append, bool *empty) {
    *result = NULL;
    wi_path_info info;
    wi_line_file *const made = wi_allocate(allocator, sizeof *made);
    if (!made) return WEFT_ERROR_MEMORY;
    made->allocator = allocator;
    made->file = -1;
    weft_status status = WEFT_ERROR_MEMORY;
    if (!(made->path = wi_copy_string(allocator, path))) goto done;
    made->file = wi_open(path, append ? WI_OPEN_APPEND : WI_OPEN_EMPTIED);
    if (made->file < 0 || !wi_look(made->file, &info)) {
        status = wi_file_fail("open", path, errno);
        goto done;
    }
    *empty = info.bytes == 0;
    *result = made;
    return WEFT_OK;
done:
    wi_line_file_close(made);
    return status;
}

weft_status wi_line_file_write(wi_line_file *file, const char *line, size_t bytes) {
    return wi_write_all(file->file, line, bytes) ? WEFT_OK : wi_file_fail("write", file->path, errno);
}

weft_status wi_line_file_size(const wi_line_file *file, uint64_t *bytes) {
    wi_path_info info;
    if (!wi_look(file->file, &info)) return wi_file_fail("look at", file->path, errno);
    *bytes = info.bytes;
    return WEFT_OK;
}

weft_status wi_line_file_cut(wi_line_file *file, uint64_t bytes) {
    return wi_truncate(file->file, bytes) ? WEFT_OK : wi_file_fail("shorten", file->path, errno);
}

void wi_line_file_close(wi_line_file *file) {
    if (!file) return;
    if (file->file >= 0) wi_close(file->file);
    wi_release(file->allocator, file->path);
    wi_release(file->allocator, file);
}
