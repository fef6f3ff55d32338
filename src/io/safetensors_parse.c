/* Reading the header of a safetensors file (contract in safetensors.h). */
#include "io/safetensors.h"
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The format's own limit: longer headers are an attack or not a header. */
enum { HEADER_LIMIT = 100000000, LENGTH_BYTES = 8 };

/* All that the format has; Weft's own dtypes come first. */
static const wi_saved_dtype saved_dtypes[] = {
    {"F32", 4, WEFT_F32},
    {"I32", 4, WEFT_I32},
    {"F16", 2, WEFT_F16},
    {"BF16", 2, WEFT_BF16},
    {"I64", 8, WEFT_I64},
    {"U8", 1, WEFT_U8},
    {"BOOL", 1, WEFT_BOOL},
    {"F64", 8, WEFT_F64},
    {"I16", 2, -1},
    {"U16", 2, -1},
    {"U32", 4, -1},
    {"U64", 8, -1},
    {"I8", 1, -1},
    {"F8_E4M3", 1, -1},
    {"F8_E5M2", 1, -1},
};
enum { SAVED_DTYPES = sizeof saved_dtypes / sizeof *saved_dtypes };

const char *wi_saved_dtype_name(weft_dtype dtype) {
    for (size_t i = 0; i < SAVED_DTYPES; i++)
        if (saved_dtypes[i].dtype == (int)dtype) return saved_dtypes[i].name;
    return "?";
}

void wi_shape_text(char *buffer, size_t capacity, int rank, const int64_t *dims) {
    size_t used = 0;
    buffer[0] = '\0';
    for (int axis = 0; axis < rank && used < capacity; axis++)
        used += (size_t)snprintf(buffer + used, capacity - used, "%s%" PRId64, axis ? ", " : "(", dims[axis]);
    if (used < capacity) snprintf(buffer + used, capacity - used, "%s", rank ? ")" : "()");
}

/* What every step of the parse needs: where it is, for the errors. */
typedef struct parse {
    wi_safetensors *file;
    const char *path;
} parse;

static weft_status bad_header(const parse *p, const char *what) {
    return wi_fail(WEFT_ERROR_FORMAT, "'%s': %s", p->path, what);
}

static weft_status bad_tensor(const parse *p, const wi_saved_tensor *tensor, const char *what) {
    return wi_fail(WEFT_ERROR_FORMAT, "'%s': tensor '%.100s': %s", p->path, tensor->name, what);
}

/* A JSON number that is an integer in 0 .. 2^53, the range in which doubles are exact. */
static bool whole_number(const cJSON *item, uint64_t *value) {
    if (!cJSON_IsNumber(item)) return false;
    const double number = item->valuedouble;
    if (!(number >= 0.0 && number <= 9007199254740992.0) || floor(number) != number) return false;
    *value = (uint64_t)number;
    return true;
}

static weft_status parse_dtype(const parse *p, wi_saved_tensor *tensor, const cJSON *entry) {
    const cJSON *const item = cJSON_GetObjectItemCaseSensitive(entry, "dtype");
    if (!cJSON_IsString(item)) return bad_tensor(p, tensor, "\"dtype\" is missing or not a string");
    for (size_t i = 0; i < SAVED_DTYPES; i++)
        if (strcmp(saved_dtypes[i].name, item->valuestring) == 0) tensor->dtype = &saved_dtypes[i];
    if (tensor->dtype) return WEFT_OK;
    WI_FAIL(WEFT_ERROR_FORMAT, "'%s': tensor '%.100s': unknown dtype '%.40s'", p->path, tensor->name,
        item->valuestring);
}

static weft_status parse_shape(const parse *p, wi_saved_tensor *tensor, const cJSON *entry) {
    const cJSON *const shape = cJSON_GetObjectItemCaseSensitive(entry, "shape");
    if (!cJSON_IsArray(shape)) return bad_tensor(p, tensor, "\"shape\" is missing or not an array");
    tensor->elements = 1;
    const cJSON *item = NULL;
    cJSON_ArrayForEach(item, shape) {
        uint64_t dimension = 0;
        if (tensor->rank == WEFT_MAX_RANK) return bad_tensor(p, tensor, "more than 8 dimensions");
        if (!whole_number(item, &dimension))
            return bad_tensor(p, tensor, "a dimension is not a whole number");
        if (dimension && tensor->elements > SIZE_MAX / dimension)
            return bad_tensor(p, tensor, "the product of the dimensions overflows");
        tensor->elements *= (size_t)dimension;
        tensor->dims[tensor->rank++] = (int64_t)dimension;
    }
    return WEFT_OK;
}

static weft_status parse_offsets(const parse *p, wi_saved_tensor *tensor, const cJSON *entry) {
    const cJSON *const offsets = cJSON_GetObjectItemCaseSensitive(entry, "data_offsets");
    uint64_t begin = 0, end = 0;
    if (!cJSON_IsArray(offsets) || cJSON_GetArraySize(offsets) != 2 ||
        !whole_number(cJSON_GetArrayItem(offsets, 0), &begin) ||
        !whole_number(cJSON_GetArrayItem(offsets, 1), &end))
        return bad_tensor(p, tensor, "\"data_offsets\" is not a pair of whole numbers");
    if (begin > end || end > p->file->data_bytes)
        WI_FAIL(WEFT_ERROR_FORMAT,
            "'%s': tensor '%.100s': data_offsets %" PRIu64 " to %" PRIu64
            " are not within the %zu bytes of data",
            p->path, tensor->name, begin, end, p->file->data_bytes);
    char shape[200];
    wi_shape_text(shape, sizeof shape, tensor->rank, tensor->dims);
    if (tensor->elements > SIZE_MAX / tensor->dtype->size ||
        tensor->elements * tensor->dtype->size != end - begin)
        WI_FAIL(WEFT_ERROR_FORMAT,
            "'%s': tensor '%.100s': %s %s does not take the %" PRIu64 " bytes of its offsets", p->path,
            tensor->name, tensor->dtype->name, shape, end - begin);
    tensor->begin = (size_t)begin;
    tensor->end = (size_t)end;
    return WEFT_OK;
}

static weft_status parse_tensor(const parse *p, wi_saved_tensor *tensor, const cJSON *entry) {
    tensor->name = wi_arena_string(&p->file->arena, entry->string);
    if (!tensor->name) return WEFT_ERROR_MEMORY;
    if (!cJSON_IsObject(entry)) return bad_tensor(p, tensor, "its entry is not an object");
    WI_TRY(parse_dtype(p, tensor, entry));
    WI_TRY(parse_shape(p, tensor, entry));
    return parse_offsets(p, tensor, entry);
}

static int by_begin(const void *a, const void *b) {
    const wi_saved_tensor *const left = a, *const right = b;
    if (left->begin != right->begin) return left->begin < right->begin ? -1 : 1;
    return (left->end > right->end) - (left->end < right->end);
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const wi_saved_tensor *)a)->name, ((const wi_saved_tensor *)b)->name);
}

/* The data is covered exactly once, and no name comes twice. Leaves the tensors sorted by name. */
static weft_status check_table(const parse *p) {
    wi_safetensors *const file = p->file;
    if (file->count) qsort(file->tensors, file->count, sizeof *file->tensors, by_begin);
    size_t covered = 0;
    for (size_t i = 0; i < file->count; i++) {
        const wi_saved_tensor *const tensor = &file->tensors[i];
        if (tensor->begin < covered) return bad_tensor(p, tensor, "its data overlaps another tensor's");
        if (tensor->begin > covered) return bad_tensor(p, tensor, "there is a hole in the data before it");
        covered = tensor->end;
    }
    if (covered != file->data_bytes)
        WI_FAIL(WEFT_ERROR_FORMAT, "'%s': %zu bytes of data belong to no tensor", p->path,
            file->data_bytes - covered);
    if (file->count) qsort(file->tensors, file->count, sizeof *file->tensors, by_name);
    for (size_t i = 1; i < file->count; i++)
        if (by_name(&file->tensors[i - 1], &file->tensors[i]) == 0)
            return bad_tensor(p, &file->tensors[i], "the name is in the header twice");
    return WEFT_OK;
}

static int by_key(const void *a, const void *b) {
    return strcmp(((const wi_saved_pair *)a)->key, ((const wi_saved_pair *)b)->key);
}

static weft_status parse_metadata(const parse *p, const cJSON *section) {
    wi_safetensors *const file = p->file;
    size_t count = 0;
    const cJSON *item = NULL;
    if (!cJSON_IsObject(section)) return bad_header(p, "\"__metadata__\" is not an object");
    if (file->metadata) return bad_header(p, "\"__metadata__\" is in the header twice");
    cJSON_ArrayForEach(item, section) count++;
    file->metadata = wi_arena_take(&file->arena, (count + 1) * sizeof *file->metadata);
    if (!file->metadata) return WEFT_ERROR_MEMORY;
    cJSON_ArrayForEach(item, section) {
        if (!cJSON_IsString(item)) return bad_header(p, "a value of \"__metadata__\" is not a string");
        wi_saved_pair *const pair = &file->metadata[file->metadata_count++];
        pair->key = wi_arena_string(&file->arena, item->string);
        pair->value = wi_arena_string(&file->arena, item->valuestring);
        if (!pair->key || !pair->value) return WEFT_ERROR_MEMORY;
    }
    qsort(file->metadata, file->metadata_count, sizeof *file->metadata, by_key);
    for (size_t i = 1; i < count; i++)
        if (by_key(&file->metadata[i - 1], &file->metadata[i]) == 0)
            return bad_header(p, "a key is in \"__metadata__\" twice");
    return WEFT_OK;
}

static weft_status parse_entries(const parse *p, const cJSON *root) {
    if (!cJSON_IsObject(root)) return bad_header(p, "the header is not a JSON object");
    size_t entries = 0;
    const cJSON *entry = NULL;
    cJSON_ArrayForEach(entry, root) entries++;
    if (entries > SIZE_MAX / sizeof *p->file->tensors) return bad_header(p, "too many tensors");
    p->file->tensors = wi_arena_take(&p->file->arena, (entries + 1) * sizeof *p->file->tensors);
    if (!p->file->tensors) return WEFT_ERROR_MEMORY;
    cJSON_ArrayForEach(entry, root) {
        if (strcmp(entry->string, "__metadata__") == 0)
            WI_TRY(parse_metadata(p, entry));
        else
            WI_TRY(parse_tensor(p, &p->file->tensors[p->file->count++], entry));
    }
    return check_table(p);
}

static weft_status header_length(const parse *p, const char *bytes, size_t size, size_t *length) {
    if (size < LENGTH_BYTES)
        WI_FAIL(WEFT_ERROR_FORMAT, "'%s': %zu bytes are too few for a safetensors file", p->path, size);
    uint64_t value = 0;
    for (int i = LENGTH_BYTES - 1; i >= 0; i--) value = value << 8 | (unsigned char)bytes[i];
    if (value > size - LENGTH_BYTES || value > HEADER_LIMIT)
        WI_FAIL(WEFT_ERROR_FORMAT,
            "'%s': the header should take %" PRIu64 " bytes, but the file holds %zu after its length",
            p->path, value, size - LENGTH_BYTES);
    *length = (size_t)value;
    return WEFT_OK;
}

weft_status wi_safetensors_parse(
    wi_safetensors *file, const weft_allocator *allocator, const char *path, const char *bytes, size_t size) {
    *file = (wi_safetensors){0};
    wi_arena_init(&file->arena, allocator);
    const parse p = {file, path};
    size_t length = 0;
    WI_TRY(header_length(&p, bytes, size, &length));
    const char *const header = bytes + LENGTH_BYTES;
    file->data = (const unsigned char *)header + length;
    file->data_bytes = size - LENGTH_BYTES - length;

    weft_status status = WEFT_OK;
    const char *end = NULL;
    cJSON *const root = length ? cJSON_ParseWithLengthOpts(header, length, &end, false) : NULL;
    if (!root) {
        status = bad_header(&p, "the header is not JSON");
    } else {
        while (end < header + length && (*end == ' ' || *end == '\n' || *end == '\r' || *end == '\t')) end++;
        status = end == header + length ? parse_entries(&p, root)
                                        : bad_header(&p, "something follows the JSON object of the header");
    }
    cJSON_Delete(root);
    if (status != WEFT_OK) wi_safetensors_clear(file);
    return status;
}

void wi_safetensors_clear(wi_safetensors *file) {
    wi_arena_clear(&file->arena);
    *file = (wi_safetensors){0};
}

wi_saved_tensor *wi_safetensors_find(const wi_safetensors *file, const char *name) {
    if (file->count == 0) return NULL;
    const wi_saved_tensor key = {.name = name};
    return bsearch(&key, file->tensors, file->count, sizeof key, by_name);
}

const char *wi_safetensors_metadata(const wi_safetensors *file, const char *key) {
    if (file->metadata_count == 0) return NULL;
    const wi_saved_pair wanted = {.key = key};
    const wi_saved_pair *const pair =
        bsearch(&wanted, file->metadata, file->metadata_count, sizeof wanted, by_key);
    return pair ? pair->value : NULL;
}
