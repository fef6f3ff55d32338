/* Reading whole files (contract in file_read.h). */
#include "base/file_read.h"
#include "base/file_target.h"
#include "base/system_file.h"
#include <errno.h>

enum { READ_STEP = 65536 };
/* The defaults of weft_context_options.file_limit, in bytes; include/weft/device.h documents them. */
enum { STREAM_LIMIT = 1 << 30, UNPACKED_LEAST = 16 << 20, UNPACKED_RATIO = 100 };

weft_status wi_file_check_regular(int file, const char *path, wi_path_info *info) {
    const int error = !wi_look(file, info) ? errno : info->kind == WI_PATH_FOLDER ? EISDIR : 0;
    if (error) return wi_file_fail("read", path, error);
    if (info->kind == WI_PATH_FILE) return WEFT_OK;
    WI_FAIL(WEFT_ERROR_FILE, "cannot read '%s': it is not a regular file", path);
}

weft_status wi_file_open_by(const wi_file_rules *rules, const char *path, int *file) {
    wi_path_info info;
    *file = wi_open(path, rules->any ? WI_OPEN_WAITING : WI_OPEN_READ);
    if (*file < 0) return wi_file_fail("open", path, errno);
    const bool other = rules->any && wi_look(*file, &info) && info.kind == WI_PATH_OTHER;
    const weft_status status = other ? WEFT_OK : wi_file_check_regular(*file, path, &info);
    if (status == WEFT_OK) return WEFT_OK;
    wi_close(*file);
    *file = -1;
    return status;
}

uint64_t wi_file_unpacked_limit(const wi_file_rules *rules, uint64_t bytes) {
    if (rules->limit) return rules->limit;
    return bytes > UINT64_MAX / UNPACKED_RATIO / 2 ? UINT64_MAX : UNPACKED_LEAST + UNPACKED_RATIO * bytes;
}

/* hint: bytes of the first buffer. limit: the most bytes that may be read, for a pipe or device, whose size is unknown.
 * A regular file has no limit, and may grow while it is read. */
typedef struct source {
    int file;
    const char *path;
    size_t hint, limit;
} source;

static weft_status look_at_source(source *s, const wi_file_rules *rules) {
    wi_path_info info;
    if (!wi_look(s->file, &info)) return wi_file_fail("read", s->path, errno);
    const bool regular = info.kind == WI_PATH_FILE;
    s->limit = regular ? SIZE_MAX : rules->limit ? rules->limit : STREAM_LIMIT;
    /* One byte more than the file has, so that the read that finds the end has room in the buffer. Files of /proc are
     * regular, but their size is 0. */
    s->hint = regular && info.bytes ? (size_t)info.bytes + 1 : READ_STEP;
    return WEFT_OK;
}

static weft_status read_some(const source *s, char *buffer, size_t room, size_t *got) {
    const int64_t result = wi_read_some(s->file, buffer, room);
    if (result < 0) return wi_file_fail("read", s->path, errno);
    *got = (size_t)result;
    return WEFT_OK;
}

static weft_status grow_buffer(const weft_allocator *allocator, char **buffer, size_t *capacity) {
    char *const grown = wi_reallocate(allocator, *buffer, 2 * *capacity + 1);
    if (!grown) return WEFT_ERROR_MEMORY;
    *buffer = grown;
    *capacity *= 2;
    return WEFT_OK;
}

static weft_status read_all(const source *s, const weft_allocator *allocator, char **data, size_t *bytes) {
    size_t capacity = s->hint, used = 0, got = 1;
    char *buffer = wi_reallocate(allocator, NULL, capacity + 1);
    weft_status status = buffer ? WEFT_OK : WEFT_ERROR_MEMORY;
    while (status == WEFT_OK && got) {
        status = read_some(s, buffer + used, capacity - used, &got);
        if (status == WEFT_OK) used += got;
        if (status == WEFT_OK && used > s->limit)
            status = wi_fail(WEFT_ERROR_FILE,
                "'%s' gives more than %zu bytes, the limit for a pipe or device, whose size is unknown "
                "(option file_limit of weft_context_options)",
                s->path, s->limit);
        if (status == WEFT_OK && used == capacity) status = grow_buffer(allocator, &buffer, &capacity);
    }
    if (status != WEFT_OK) {
        wi_release(allocator, buffer);
        return status;
    }
    buffer[used] = '\0';
    *data = buffer;
    *bytes = used;
    return WEFT_OK;
}

weft_status wi_file_read_opened(
    int file, const wi_file_rules *rules, const char *path, char **data, size_t *bytes) {
    source s = {.file = file, .path = path};
    WI_TRY(look_at_source(&s, rules));
    return read_all(&s, rules->allocator, data, bytes);
}

weft_status wi_file_read_by(const wi_file_rules *rules, const char *path, char **data, size_t *bytes) {
    int file = -1;
    WI_TRY(wi_file_open_by(rules, path, &file));
    const weft_status status = wi_file_read_opened(file, rules, path, data, bytes);
    wi_close(file);
    return status;
}

weft_status wi_file_read(const weft_allocator *allocator, const char *path, char **data, size_t *bytes) {
    return wi_file_read_by(&(wi_file_rules){.allocator = allocator}, path, data, bytes);
}
