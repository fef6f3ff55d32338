/* JSON files of tests/golden. */
#ifndef TEST_GOLDEN_FILE_H
#define TEST_GOLDEN_FILE_H

#include "support/checks.h"
#include <cjson/cJSON.h>
#include <stdio.h>

/* The caller deletes it. */
static inline cJSON *golden_file(const char *name) {
    char path[512];
    snprintf(path, sizeof path, "%s/tests/golden/%s", WEFT_SOURCE_DIR, name);
    FILE *const file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    const long size = ftell(file);
    assert_true(size > 0);
    rewind(file);
    char *const text = calloc((size_t)size + 1, 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, (size_t)size, file), (size_t)size);
    fclose(file);
    cJSON *const root = cJSON_Parse(text);
    free(text);
    assert_non_null(root);
    return root;
}

/* 0, or the value given, when the object has no such member. */
static inline double golden_number(const cJSON *object, const char *name, double otherwise) {
    const cJSON *const item = cJSON_GetObjectItemCaseSensitive(object, name);
    return cJSON_IsNumber(item) ? item->valuedouble : otherwise;
}

#endif
