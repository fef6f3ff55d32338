/* How the recorded files are read: members of a case and of its arrays, {"dtype", "dims", "data"}. */
#ifndef RECORDED_JSON_H
#define RECORDED_JSON_H

#include <cjson/cJSON.h>
#include <string.h>
#include <weft/weft.h>

static inline const cJSON *member(const cJSON *object, const char *name) {
    return cJSON_GetObjectItemCaseSensitive(object, name);
}

/* An array of whole numbers; ended by WEFT_END. Returns its length. */
static inline int whole_list(const cJSON *array, int64_t list[WEFT_MAX_RANK + 1]) {
    int count = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, array) list[count++] = (int64_t)item->valuedouble;
    list[count] = WEFT_END;
    return count;
}

static inline weft_dtype dtype_of(const cJSON *array) {
    const char *const name = cJSON_GetStringValue(member(array, "dtype"));
    for (int dtype = 0; weft_dtype_size((weft_dtype)dtype) > 0; dtype++)
        if (strcmp(name, weft_dtype_name((weft_dtype)dtype)) == 0) return (weft_dtype)dtype;
    return WEFT_F32;
}

static inline size_t count_of(const cJSON *array) {
    return (size_t)cJSON_GetArraySize(member(array, "data"));
}

#endif
