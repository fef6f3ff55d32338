/* Headers of safetensors files (contract in safetensors_write.h). */
#include "io/safetensors_write.h"
#include "base/json.h"
#include "base/utf8.h"
#include "io/safetensors.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 8, LENGTH_BYTES = 8 };

static int by_name(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static weft_status check_names(const char *path, const wi_saved_list *list) {
    const char **const names =
        wi_allocate_array(list->arena.allocator, list->count + 1, sizeof(const char *));
    weft_status status = names ? WEFT_OK : WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < list->count && status == WEFT_OK; i++) {
        names[i] = list->entries[i].name;
        if (!wi_utf8_is_text(names[i], strlen(names[i])))
            status = wi_fail(WEFT_ERROR_ARGUMENT, "'%s': the name of tensor %zu is not UTF-8", path, i);
        else if (strcmp(names[i], "__metadata__") == 0)
            status = wi_fail(WEFT_ERROR_ARGUMENT,
                "'%s': a tensor cannot be called '__metadata__' in a safetensors file", path);
    }
    if (status == WEFT_OK && list->count) qsort((void *)names, list->count, sizeof *names, by_name);
    for (size_t i = 1; i < list->count && status == WEFT_OK; i++)
        if (strcmp(names[i - 1], names[i]) == 0)
            status = wi_fail(WEFT_ERROR_STATE,
                "'%s': two tensors are called '%s', but tensors are saved by name", path, names[i]);
    wi_release(list->arena.allocator, (void *)names);
    return status;
}

static void append_metadata(wi_text *text, const wi_saved_list *list) {
    if (!list->pair_count) return;
    wi_text_append(text, "\"__metadata__\":{");
    for (size_t i = 0; i < list->pair_count; i++) {
        wi_text_append(text, "%s", i ? "," : "");
        wi_json_append_string(text, list->pairs[i].key);
        wi_text_append(text, ":");
        wi_json_append_string(text, list->pairs[i].value);
    }
    wi_text_append(text, "}%s", list->count ? "," : "");
}

static void append_entry(wi_text *text, const wi_saved_entry *entry) {
    wi_json_append_string(text, entry->name);
    wi_text_append(text, ":{\"dtype\":\"%s\",\"shape\":[", wi_saved_dtype_name(entry->dtype));
    for (int axis = 0; axis < entry->rank; axis++)
        wi_text_append(text, "%s%" PRId64, axis ? "," : "", entry->dims[axis]);
    wi_text_append(text, "],\"data_offsets\":[%zu,%zu]}", entry->begin, entry->begin + entry->bytes);
}

/* Appends spaces up to the alignment, and stores the length in the bytes that were reserved for it. */
static void finish_header(wi_text *text, size_t start) {
    while (!text->failed && (text->length - start) % ALIGNMENT) wi_text_append_bytes(text, " ", 1);
    if (text->failed) return;
    const uint64_t length = text->length - start - LENGTH_BYTES;
    for (size_t i = 0; i < LENGTH_BYTES; i++) text->data[start + i] = (char)(length >> 8 * i & 255u);
}

weft_status wi_saved_header(wi_text *text, const char *path, wi_saved_list *list, size_t *data_bytes) {
    static const char room[LENGTH_BYTES] = {0};
    const size_t start = text->length;
    *data_bytes = 0;
    WI_TRY(check_names(path, list));
    wi_text_append_bytes(text, room, sizeof room);
    wi_text_append(text, "{");
    append_metadata(text, list);
    for (size_t i = 0; i < list->count; i++) {
        list->entries[i].begin = *data_bytes;
        *data_bytes += list->entries[i].bytes;
        if (i) wi_text_append(text, ",");
        append_entry(text, &list->entries[i]);
    }
    wi_text_append(text, "}");
    finish_header(text, start);
    return text->failed ? WEFT_ERROR_MEMORY : WEFT_OK;
}
