/* Runs a fuzz target without libFuzzer: on every file of a folder, on prefixes of it and on random changes, the same
 * ones each time. Usage: fuzz_NAME FOLDER-OR-FILE... */
#include "fuzz.h"
#include "support/mutate.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { CHANGES = 200, MOST_PREFIXES = 400 };

static bool run_target(void *user, const char *bytes, size_t size) {
    (void)user;
    (void)LLVMFuzzerTestOneInput((const uint8_t *)bytes, size);
    return true;
}

static size_t run_file(const char *path) {
    FILE *const file = fopen(path, "rb");
    fuzz_assert(file != NULL);
    char *bytes = NULL;
    size_t size = 0, got = 0;
    do {
        bytes = realloc(bytes, size + 65536);
        fuzz_assert(bytes != NULL);
        got = fread(bytes + size, 1, 65536, file);
        size += got;
    } while (got);
    fclose(file);
    char *const exact = malloc(size ? size : 1); /* nothing readable behind the last byte */
    fuzz_assert(exact != NULL);
    memcpy(exact, bytes, size);
    run_target(NULL, exact, size);
    free(exact);
    if (size) (void)mutate_some(bytes, size, MOST_PREFIXES, CHANGES, run_target, NULL);
    free(bytes);
    return 1;
}

static size_t run_folder(const char *path) {
    DIR *const folder = opendir(path);
    if (!folder) return run_file(path);
    size_t count = 0;
    for (const struct dirent *entry; (entry = readdir(folder));) {
        char name[4096];
        if (entry->d_name[0] == '.') continue;
        const int length = snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        fuzz_assert(length > 0 && (size_t)length < sizeof name);
        count += run_file(name);
    }
    closedir(folder);
    return count;
}

int main(int argc, char **argv) {
    size_t count = 0;
    for (int i = 1; i < argc; i++) count += run_folder(argv[i]);
    printf("%zu seeds\n", count);
    return count ? EXIT_SUCCESS : EXIT_FAILURE;
}
