/* The source text of kernels (contract in kernel_source.h). */
#include "cl/kernel_source.h"

#include "base/platform.h"
#include "base/trusted_file.h"

#include <stdio.h>
#include <string.h>

enum { DEEPEST = 8 };

static weft_status append(wi_text *source, const char *name, int depth);

/* If the line is #include "NAME": the length of NAME, and *name points to NAME; otherwise 0. */
static size_t included(const char *line, const char *end, const char **name) {
    static const char directive[] = "#include \"";
    const size_t prefix = sizeof directive - 1;
    if ((size_t)(end - line) <= prefix || memcmp(line, directive, prefix) != 0) return 0;
    const char *const quote = memchr(line + prefix, '"', (size_t)(end - line) - prefix);
    *name = line + prefix;
    return quote ? (size_t)(quote - *name) : 0;
}

static weft_status append_included(wi_text *source, const char *name, size_t length, int depth) {
    char file[64];
    snprintf(file, sizeof file, "%.*s", (int)length, name);
    if (depth == DEEPEST) WI_FAIL(WEFT_ERROR_INTERNAL, "kernel files include each other: '%s'", file);
    return append(source, file, depth + 1);
}

/* Appends a text with its inclusions; the lines between two inclusions are appended in one call. */
static weft_status append_text(wi_text *source, const char *text, size_t bytes, int depth) {
    const char *const end = text + bytes, *start = text, *name = NULL, *sign = text;
    while (sign < end && (sign = memchr(sign, '#', (size_t)(end - sign))) != NULL) {
        const char *const newline = memchr(sign, '\n', (size_t)(end - sign));
        const char *const next = newline ? newline + 1 : end;
        const bool begins = sign == text || sign[-1] == '\n';
        const size_t length = begins ? included(sign, next, &name) : 0;
        if (length > 0) {
            wi_text_append_bytes(source, start, (size_t)(sign - start));
            WI_TRY(append_included(source, name, length, depth));
            start = next;
        }
        sign = next;
    }
    wi_text_append_bytes(source, start, (size_t)(end - start));
    return source->failed ? WEFT_ERROR_MEMORY : WEFT_OK;
}

static weft_status append_file(wi_text *source, const char *path, int depth) {
    char *data = NULL;
    size_t bytes = 0;
    WI_TRY(wi_trusted_file_read(source->allocator, path, &data, &bytes));
    const weft_status status = append_text(source, data, bytes, depth);
    wi_release(source->allocator, data);
    return status;
}

weft_status wi_kernel_file_text(char **text, const wi_kernel_file *file, const weft_allocator *allocator) {
    return wi_packed_text_unpack(text, &file->text, allocator, file->name);
}

static weft_status append_embedded(wi_text *source, const wi_kernel_file *file, int depth) {
    char *text = NULL;
    WI_TRY(wi_kernel_file_text(&text, file, source->allocator));
    const weft_status status = append_text(source, text, file->text.bytes, depth);
    wi_release(source->allocator, text);
    return status;
}

static const wi_kernel_file *find(const char *name) {
    for (const wi_kernel_file *file = wi_kernel_files; file->name; file++) {
        if (strcmp(file->name, name) == 0) return file;
    }
    return NULL;
}

typedef enum own_file { NO_FILE, OWN_FILE, OTHER_FILE } own_file;

/* Whether WEFT_KERNEL_DIR has a file that may replace the embedded one: only the user may be able to write to the file,
 * its folder and WEFT_KERNEL_DIR. OTHER_FILE: other users may be able to write there; the thread's error message says
 * where. */
static own_file look(char *path, size_t capacity, const char *root, const char *name) {
    char folder[WI_PATH_CAPACITY];
    const char *rest;
    const int length = snprintf(path, capacity, "%s/%s", root, name);
    if (length < 0 || (size_t)length >= capacity || !wi_file_exists(path)) return NO_FILE;
    wi_path_split(path, folder, sizeof folder, &rest);
    const bool own = wi_trusted_file_check(root, NULL) == WEFT_OK &&
                     wi_trusted_file_check(folder, NULL) == WEFT_OK &&
                     wi_trusted_file_check(path, NULL) == WEFT_OK;
    return own ? OWN_FILE : OTHER_FILE;
}

static weft_status append(wi_text *source, const char *name, int depth) {
    const char *const folder = wi_environment("WEFT_KERNEL_DIR");
    const wi_kernel_file *const file = find(name);
    char path[WI_PATH_CAPACITY], error[WI_ERROR_LINE];
    wi_error_save(error, sizeof error);
    if (folder && look(path, sizeof path, folder, file ? file->path : name) == OWN_FILE)
        return append_file(source, path, depth);
    wi_error_restore(error);
    if (!file) WI_FAIL(WEFT_ERROR_INTERNAL, "the library has no kernel file '%s'", name);
    return append_embedded(source, file, depth);
}

void wi_kernel_source_check(const wi_log *log) {
    const char *const folder = wi_environment("WEFT_KERNEL_DIR");
    char path[WI_PATH_CAPACITY], error[WI_ERROR_LINE];
    bool any = false;
    if (!folder) return;
    wi_error_save(error, sizeof error);
    for (const wi_kernel_file *file = wi_kernel_files; file->name; file++) {
        const own_file found = look(path, sizeof path, folder, file->path);
        any = any || found != NO_FILE;
        if (found != OTHER_FILE) continue;
        wi_log_line(log, WEFT_LOG_WARNING, "WEFT_KERNEL_DIR: %s; this file and others like it are not used",
            weft_last_error());
        break;
    }
    if (!any)
        wi_log_line(log, WEFT_LOG_WARNING,
            "WEFT_KERNEL_DIR: '%s' has no kernel file; the library's own files are used", folder);
    wi_error_restore(error);
}

weft_status wi_kernel_source_append(wi_text *source, const char *name) {
    return append(source, name, 0);
}

weft_status wi_kernel_source_include(wi_text *source, const char *name) {
    const wi_kernel_file *const file = find(name);
    if (!file || wi_environment("WEFT_KERNEL_DIR")) return wi_kernel_source_append(source, name);
    wi_text_append(source, "#include \"%s\" /* %s */\n", name, file->key);
    return source->failed ? WEFT_ERROR_MEMORY : WEFT_OK;
}

weft_status wi_kernel_source_expand(wi_text *source, const char *text, size_t bytes) {
    return append_text(source, text, bytes, 0);
}
