/* Reading data files in parts (contract in data_file.h). */
#include "base/data_file.h"
#include "base/file_target.h"
#include "base/system_file.h"
#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* Files of /proc are regular, but their size is 0 and they cannot be read at an offset. */
static weft_status open_content(wi_data_file *file, const wi_file_rules *rules) {
    wi_path_info info;
    if (!wi_look(file->file, &info)) return wi_file_fail("read", file->path, errno);
    file->bytes = info.bytes;
    if (info.kind == WI_PATH_FILE && info.bytes > 0) return WEFT_OK;
    size_t bytes = 0;
    WI_TRY(wi_file_read_opened(file->file, rules, file->path, &file->content, &bytes));
    file->bytes = bytes;
    wi_close(file->file);
    file->file = -1;
    return WEFT_OK;
}

weft_status wi_data_file_open(wi_data_file *file, const wi_file_rules *rules, const char *path) {
    *file = (wi_data_file){.allocator = rules->allocator, .file = -1};
    file->path = wi_copy_string(rules->allocator, path);
    weft_status status = file->path ? wi_file_open_by(rules, path, &file->file) : WEFT_ERROR_MEMORY;
    if (status == WEFT_OK) status = open_content(file, rules);
    if (status != WEFT_OK) wi_data_file_close(file);
    return status;
}

weft_status wi_data_file_read(const wi_data_file *file, uint64_t offset, void *target, size_t bytes) {
    const uint64_t end = offset + bytes;
    if (file->content && end <= file->bytes) {
        memcpy(target, file->content + offset, bytes);
        return WEFT_OK;
    }
    for (char *to = target; offset < end;) {
        const int64_t got = file->content ? 0 : wi_read_at(file->file, offset, to, (size_t)(end - offset));
        if (got < 0) return wi_file_fail("read", file->path, errno);
        if (got == 0)
            WI_FAIL(WEFT_ERROR_FORMAT, "'%s' became shorter while it was read: it ends before byte %" PRIu64,
                file->path, end);
        offset += (uint64_t)got;
        to += got;
    }
    return WEFT_OK;
}

void wi_data_file_close(wi_data_file *file) {
    if (!file->path) return;
    if (file->file >= 0) wi_close(file->file);
    wi_release(file->allocator, file->content);
    wi_release(file->allocator, file->path);
    *file = (wi_data_file){.file = -1};
}

/* Makes room for `bytes` bytes and a NUL. What the window has is kept. */
static weft_status make_room(wi_file_window *window, const weft_allocator *allocator, size_t bytes) {
    if (window->bytes && bytes <= window->capacity) return WEFT_OK;
    char *const grown = wi_reallocate(allocator, window->bytes, bytes + 1);
    if (!grown) return WEFT_ERROR_MEMORY;
    window->bytes = grown;
    window->capacity = bytes;
    return WEFT_OK;
}

/* Lets the window begin at `offset`. What it has from there on is kept. */
static void begin_at(wi_file_window *window, uint64_t offset) {
    const uint64_t end = window->begin + window->count;
    const size_t kept = offset >= window->begin && offset < end ? (size_t)(end - offset) : 0;
    if (kept) memmove(window->bytes, window->bytes + window->count - kept, kept);
    window->begin = offset;
    window->count = kept;
}

static weft_status fill(wi_file_window *window, const wi_data_file *file, size_t bytes) {
    WI_TRY(make_room(window, file->allocator, bytes));
    char *const to = window->bytes + window->count;
    WI_TRY(wi_data_file_read(file, window->begin + window->count, to, bytes - window->count));
    window->count = bytes;
    window->bytes[bytes] = '\0';
    return WEFT_OK;
}

weft_status wi_file_window_at(wi_file_window *window, const wi_data_file *file, uint64_t offset,
    size_t wanted, size_t step, const char **at, size_t *count) {
    const uint64_t rest = offset < file->bytes ? file->bytes - offset : 0;
    const size_t needed = rest < wanted ? (size_t)rest : wanted;
    const uint64_t end = window->begin + window->count;
    if (!window->bytes || offset < window->begin || offset > end || end - offset < needed) {
        const size_t most = wanted > step ? wanted : step;
        begin_at(window, offset);
        WI_TRY(fill(window, file, rest < most ? (size_t)rest : most));
    }
    *at = window->bytes + (offset - window->begin);
    *count = window->count - (size_t)(offset - window->begin);
    return WEFT_OK;
}

void wi_file_window_clear(wi_file_window *window, const weft_allocator *allocator) {
    wi_release(allocator, window->bytes);
    *window = (wi_file_window){0};
}
