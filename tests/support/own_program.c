#include "support/own_program.h"
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 1 << 20 };

static bool file_holds(const char *path, const char *text) {
    char *const bytes = calloc(1, MOST_BYTES + 1);
    FILE *const file = fopen(path, "rb");
    const bool read = bytes && file && fread(bytes, 1, MOST_BYTES, file) > 0;
    const bool holds = read && strstr(bytes, text) != NULL;
    if (file) fclose(file);
    free(bytes);
    return holds;
}

bool own_program_holds(const char *op, const char *text) {
    char pattern[512];
    glob_t found = {0};
    bool holds = false;
    snprintf(pattern, sizeof pattern, WEFT_SOURCE_DIR "/tests/ops/*/test_%s.c", op);
    if (glob(pattern, 0, NULL, &found) == 0) holds = file_holds(found.gl_pathv[0], text);
    globfree(&found);
    return holds;
}
