#include "support/own_program.h"
#include "base/platform.h"
#include <stdio.h>
#include <string.h>

static bool file_holds(const char *path, const char *text) {
    char *bytes = NULL;
    size_t count = 0;
    if (!wi_file_exists(path)) return false;
    const bool holds = wi_file_read(NULL, path, &bytes, &count) == WEFT_OK && strstr(bytes, text);
    wi_release(NULL, bytes);
    return holds;
}

bool own_program_holds(const char *op, const char *text) {
    static const char folder[] = WEFT_SOURCE_DIR "/tests/ops";
    const char **names = NULL;
    size_t count = 0;
    wi_arena arena;
    bool holds = false;
    wi_arena_init(&arena, NULL);
    if (wi_directory_list(&names, &count, &arena, folder) != WEFT_OK) count = 0;
    for (size_t i = 0; i < count && !holds; i++) {
        char path[WI_PATH_CAPACITY];
        snprintf(path, sizeof path, "%s/%s/test_%s.c", folder, names[i], op);
        holds = file_holds(path, text);
    }
    wi_release(NULL, (void *)names);
    wi_arena_clear(&arena);
    return holds;
}
