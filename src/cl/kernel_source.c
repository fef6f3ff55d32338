/* The embedded kernel files, or those of $WEFT_KERNEL_DIR (contract in kernel_source.h). No state. */
#include "cl/kernel_source.h"

#include "base/platform.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static weft_status append_file(wi_text *source, const char *path) {
    char *data = NULL;
    size_t bytes = 0;
    WI_TRY(wi_file_read(source->allocator, path, &data, &bytes));
    wi_text_append_bytes(source, data, bytes);
    wi_release(source->allocator, data);
    return source->failed ? WEFT_ERROR_MEMORY : WEFT_OK;
}

static const wi_kernel_file *find(const char *name) {
    for (const wi_kernel_file *file = wi_kernel_files; file->name; file++) {
        if (strcmp(file->name, name) == 0) return file;
    }
    return NULL;
}

weft_status wi_kernel_source_append(wi_text *source, const char *name) {
    const char *const folder = wi_environment("WEFT_KERNEL_DIR");
    const wi_kernel_file *const file = find(name);
    char path[PATH_MAX];
    if (folder) {
        snprintf(path, sizeof path, "%s/%s", folder, file ? file->path : name);
        if (wi_file_exists(path)) return append_file(source, path);
    }
    if (!file) WI_FAIL(WEFT_ERROR_INTERNAL, "there is no kernel file '%s'", name);
    wi_text_append_bytes(source, file->text, file->bytes);
    return source->failed ? WEFT_ERROR_MEMORY : WEFT_OK;
}
