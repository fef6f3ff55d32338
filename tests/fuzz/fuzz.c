/* What fuzz targets share (contract in fuzz.h). */
#include "fuzz.h"
#include "cl/context.h"
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void fuzz_check(bool holds, const char *condition, const char *file, int line) {
    if (holds) return;
    fprintf(stderr, "%s:%d: %s does not hold\n", file, line, condition);
    /* Drivers replace libFuzzer's handlers of signals, and then an abort leaves no input behind. An error of
     * AddressSanitizer always does. */
    volatile size_t past = 1;
    volatile char *const one = malloc(past);
    if (one) one[past] = 0;
    abort();
}

void fuzz_check_status(weft_status status) {
    if (status == WEFT_OK) return;
    fuzz_assert(weft_last_error()[0] != '\0');
    fuzz_assert(!strchr(weft_last_error(), '\n'));
}

weft_context *fuzz_context(void) {
    enum { NEVER_RELEASED = 1 << 20 };
    static weft_context context;
    if (!atomic_load(&context.references)) atomic_store(&context.references, NEVER_RELEASED);
    return &context;
}

weft_context *fuzz_opened_context(void) {
    static weft_context *context;
    const weft_context_options options = {WEFT_CONTEXT_OPTIONS_INIT, .cache_dir = fuzz_folder()};
    if (context) return context;
    const weft_status status = weft_context_create(&context, &options);
    if (status != WEFT_OK) fprintf(stderr, "%s\n", weft_last_error());
    fuzz_assert(status == WEFT_OK);
    return context;
}

static char folder[64];

static void remove_folder(void) {
    DIR *const names = opendir(folder);
    for (const struct dirent *entry; names && (entry = readdir(names));) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        (void)unlink(path);
    }
    if (names) closedir(names);
    (void)rmdir(folder);
}

const char *fuzz_folder(void) {
    if (*folder) return folder;
    strcpy(folder, "/dev/shm/weft_fuzz.XXXXXX"); /* where a sync costs nothing */
    if (!mkdtemp(folder)) {
        strcpy(folder, "/tmp/weft_fuzz.XXXXXX");
        fuzz_assert(mkdtemp(folder) != NULL);
    }
    fuzz_assert(atexit(remove_folder) == 0);
    return folder;
}

const char *fuzz_file(const char *name, const void *data, size_t size) {
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", fuzz_folder(), name);
    const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    fuzz_assert(file >= 0);
    fuzz_assert(size == 0 || write(file, data, size) == (ssize_t)size);
    fuzz_assert(close(file) == 0);
    return path;
}

char *fuzz_copy(const void *data, size_t size) {
    char *const bytes = malloc(size ? size : 1);
    fuzz_assert(bytes != NULL);
    if (size) memcpy(bytes, data, size);
    return bytes;
}

uint8_t fuzz_take_byte(const uint8_t *data, size_t *size) {
    return *size ? data[--*size] : 0;
}

unsigned fuzz_take_below(const uint8_t *data, size_t *size, unsigned bound) {
    return fuzz_take_byte(data, size) % bound;
}
