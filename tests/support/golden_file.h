/* Reads the JSON files in tests/golden. */
#ifndef TEST_GOLDEN_FILE_H
#define TEST_GOLDEN_FILE_H

#include "support/checks.h"
#include <cjson/cJSON.h>
#include <stdio.h>

/* Parses the file; the caller deletes the result with cJSON_Delete. */
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

static inline const cJSON *golden_member(const cJSON *object, const char *name) {
    return cJSON_GetObjectItemCaseSensitive(object, name);
}

/* Copies the numbers of a list to values, which has room for `room`, and returns how many there are. */
static inline size_t golden_numbers(const cJSON *list, float *values, size_t room) {
    size_t count = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, list) {
        assert_true(count < room);
        values[count++] = (float)item->valuedouble;
    }
    return count;
}

/* Element `index` of tensor `number` of a network, in -scale .. scale: the formula of weights() in tests/golden/golden_weights.py. */
static inline float golden_weight(uint32_t number, uint32_t index, float scale) {
    uint32_t h = index + (number << 20);
    h ^= h >> 16;
    h *= 0x85ebca6bu;
    h ^= h >> 13;
    h *= 0xc2b2ae35u;
    h ^= h >> 16;
    return ((float)(h >> 8) / 8388608.0f - 1.0f) * scale;
}

/* The number in the object's member `name`; `otherwise` if there is no such member. */
static inline double golden_number(const cJSON *object, const char *name, double otherwise) {
    const cJSON *const item = cJSON_GetObjectItemCaseSensitive(object, name);
    return cJSON_IsNumber(item) ? item->valuedouble : otherwise;
}

#endif
