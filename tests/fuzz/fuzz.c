/* What fuzz targets share (contract in fuzz.h). */
#include "fuzz.h"
#include "cl/context.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void fuzz_check(bool holds, const char *condition, const char *file, int line) {
    if (holds) return;
    fprintf(stderr, "%s:%d: %s does not hold\n", file, line, condition);
    abort();
}

void fuzz_check_status(weft_status status) {
    if (status == WEFT_OK) return;
    fuzz_assert(weft_last_error()[0] != '\0');
    fuzz_assert(!strchr(weft_last_error(), '\n'));
}

weft_context *fuzz_context(void) {
    static weft_context context;
    atomic_store(&context.references, 1);
    return &context;
}

const char *fuzz_folder(void) {
    static char folder[64];
    if (*folder) return folder;
    snprintf(folder, sizeof folder, "/tmp/weft_fuzz.XXXXXX");
    fuzz_assert(mkdtemp(folder) != NULL);
    return folder;
}

static char paths[2][96];

static void remove_files(void) {
    for (int i = 0; i < 2; i++)
        if (*paths[i]) (void)unlink(paths[i]);
    (void)rmdir(fuzz_folder());
}

const char *fuzz_file(int number, const void *data, size_t size) {
    char *const path = paths[number];
    if (!*paths[0] && !*paths[1]) (void)atexit(remove_files);
    snprintf(path, sizeof paths[number], "%s/%d", fuzz_folder(), number);
    FILE *const file = fopen(path, "wb");
    fuzz_assert(file && fwrite(data, 1, size, file) == size);
    fuzz_assert(fclose(file) == 0);
    return path;
}

uint8_t fuzz_take_byte(const uint8_t *data, size_t *size) {
    return *size ? data[--*size] : 0;
}

unsigned fuzz_take_below(const uint8_t *data, size_t *size, unsigned bound) {
    return fuzz_take_byte(data, size) % bound;
}
