/* Reads the header of a safetensors file (contract in safetensors.h). */
#include "base/file_guess.h"
#include "base/json.h"
#include "io/safetensors.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The limit of the format: a longer header is an attack, or no header. */
enum { HEADER_LIMIT = 100000000, LENGTH_BYTES = 8 };

/* All dtypes of the format; those of Weft come first. */
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

/* The state of the parser. */
typedef struct parse {
    wi_safetensors *file;
    const char *path;
    wi_json json; /* position in the header, which is valid JSON */
} parse;

static weft_status bad_header(const parse *p, const char *what) {
    return wi_fail(WEFT_ERROR_FORMAT, "'%s': %s", p->path, what);
}

static weft_status bad_tensor(const parse *p, const wi_saved_tensor *tensor, const char *what) {
    return wi_fail(WEFT_ERROR_FORMAT, "'%s': tensor '%.100s': %s", p->path, tensor->name, what);
}

/* The name of a member, as a C string. */
static weft_status parse_name(parse *p, const char **name) {
    size_t bytes = 0;
    *name = wi_json_name(&p->json, &bytes);
    return strlen(*name) == bytes ? WEFT_OK : bad_header(p, "a name in the header holds a NUL");
}

/* Reads a number of 0 .. 2^63 - 1; false: there is none. */
static bool whole_number(parse *p, uint64_t *value) {
    int64_t number = 0;
    if (!wi_json_integer(&p->json, &number) || number < 0) return false;
    *value = (uint64_t)number;
    return true;
}

static weft_status parse_dtype(parse *p, wi_saved_tensor *tensor) {
    size_t bytes = 0;
    const char *const name = wi_json_string(&p->json, &bytes);
    if (!name) return bad_tensor(p, tensor, "\"dtype\" is not a string");
    for (size_t i = 0; i < SAVED_DTYPES; i++)
        if (strcmp(saved_dtypes[i].name, name) == 0) tensor->dtype = &saved_dtypes[i];
    if (tensor->dtype) return WEFT_OK;
    wi_saved_dtype *const unknown = wi_arena_take(&p->file->arena, sizeof *unknown);
    if (!unknown) return WEFT_ERROR_MEMORY;
    *unknown = (wi_saved_dtype){name, 0, -1};
    tensor->dtype = unknown;
    return strlen(name) == bytes ? WEFT_OK : bad_tensor(p, tensor, "\"dtype\" holds a NUL");
}

static weft_status parse_shape(parse *p, wi_saved_tensor *tensor) {
    if (wi_json_peek(&p->json) != '[') return bad_tensor(p, tensor, "\"shape\" is not an array");
    tensor->elements = 1;
    for (bool more = wi_json_enter(&p->json, '['); more; more = wi_json_more(&p->json)) {
        uint64_t dimension = 0;
        if (tensor->rank == WEFT_MAX_RANK) return bad_tensor(p, tensor, "more than 8 dimensions");
        if (!whole_number(p, &dimension)) return bad_tensor(p, tensor, "a dimension is not a whole number");
        if (dimension && tensor->elements > SIZE_MAX / dimension)
            return bad_tensor(p, tensor, "the product of the dimensions overflows");
        tensor->elements *= (size_t)dimension;
        tensor->dims[tensor->rank++] = (int64_t)dimension;
    }
    return WEFT_OK;
}

static weft_status parse_offsets(parse *p, wi_saved_tensor *tensor) {
    uint64_t offsets[2] = {0, 0};
    size_t count = 0;
    bool good = wi_json_peek(&p->json) == '[';
    for (bool more = wi_json_enter(&p->json, '['); more && good; more = wi_json_more(&p->json), count++)
        good = count < 2 && whole_number(p, &offsets[count]);
    if (!good || count != 2) return bad_tensor(p, tensor, "\"data_offsets\" is not a pair of whole numbers");
    if (offsets[0] > offsets[1] || offsets[1] > p->file->data_bytes)
        WI_FAIL(WEFT_ERROR_FORMAT,
            "'%s': tensor '%.100s': data_offsets %" PRIu64 " to %" PRIu64
            " are not within the %zu bytes of data",
            p->path, tensor->name, offsets[0], offsets[1], p->file->data_bytes);
    tensor->begin = (size_t)offsets[0];
    tensor->end = (size_t)offsets[1];
    return WEFT_OK;
}

static weft_status check_size(const parse *p, const wi_saved_tensor *tensor) {
    const size_t bytes = tensor->end - tensor->begin;
    char shape[200];
    if (tensor->dtype->size == 0)
        return WEFT_OK; /* an unknown dtype is an error only when the tensor is loaded */
    if (tensor->elements <= SIZE_MAX / tensor->dtype->size && tensor->elements * tensor->dtype->size == bytes)
        return WEFT_OK;
    wi_shape_text(shape, sizeof shape, tensor->rank, tensor->dims);
    WI_FAIL(WEFT_ERROR_FORMAT,
        "'%s': tensor '%.100s': %s %s does not have the %zu bytes that its data_offsets give", p->path,
        tensor->name, tensor->dtype->name, shape, bytes);
}

/* Members that the format does not have are skipped. */
static weft_status parse_tensor(parse *p, wi_saved_tensor *tensor) {
    static weft_status (*const parsers[])(parse *, wi_saved_tensor *) = {
        parse_dtype, parse_shape, parse_offsets};
    static const char *const keys[] = {"dtype", "shape", "data_offsets"};
    static const char *const missing[] = {
        "\"dtype\" is missing", "\"shape\" is missing", "\"data_offsets\" is missing"};
    bool seen[3] = {false};
    if (wi_json_peek(&p->json) != '{') return bad_tensor(p, tensor, "its entry is not an object");
    for (bool more = wi_json_enter(&p->json, '{'); more; more = wi_json_more(&p->json)) {
        const char *key = NULL;
        size_t which = 0;
        WI_TRY(parse_name(p, &key));
        while (which < 3 && strcmp(keys[which], key) != 0) which++;
        if (which == 3) {
            wi_json_skip(&p->json);
            continue;
        }
        if (seen[which]) return bad_tensor(p, tensor, "a key is in its entry twice");
        seen[which] = true;
        WI_TRY(parsers[which](p, tensor));
    }
    for (size_t i = 0; i < 3; i++)
        if (!seen[i]) return bad_tensor(p, tensor, missing[i]);
    return check_size(p, tensor);
}

static int by_begin(const void *a, const void *b) {
    const wi_saved_tensor *const left = a, *const right = b;
    if (left->begin != right->begin) return left->begin < right->begin ? -1 : 1;
    return (left->end > right->end) - (left->end < right->end);
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const wi_saved_tensor *)a)->name, ((const wi_saved_tensor *)b)->name);
}

/* Checks that the tensors cover the data exactly once, and that no name occurs twice. Sorts the tensors by name. */
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

static weft_status check_metadata(const parse *p) {
    const wi_safetensors *const file = p->file;
    qsort(file->metadata, file->metadata_count, sizeof *file->metadata, by_key);
    for (size_t i = 1; i < file->metadata_count; i++)
        if (by_key(&file->metadata[i - 1], &file->metadata[i]) == 0)
            return bad_header(p, "a key is in \"__metadata__\" twice");
    return WEFT_OK;
}

static weft_status parse_metadata(parse *p) {
    wi_safetensors *const file = p->file;
    if (wi_json_peek(&p->json) != '{') return bad_header(p, "\"__metadata__\" is not an object");
    if (file->metadata) return bad_header(p, "\"__metadata__\" is in the header twice");
    const size_t count = wi_json_count(&p->json);
    file->metadata = wi_arena_take(&file->arena, (count + 1) * sizeof *file->metadata);
    if (!file->metadata) return WEFT_ERROR_MEMORY;
    for (bool more = wi_json_enter(&p->json, '{'); more; more = wi_json_more(&p->json)) {
        wi_saved_pair *const pair = &file->metadata[file->metadata_count++];
        size_t bytes = 0;
        WI_TRY(parse_name(p, &pair->key));
        pair->value = wi_json_string(&p->json, &bytes);
        if (!pair->value) return bad_header(p, "a value of \"__metadata__\" is not a string");
        if (strlen(pair->value) != bytes) return bad_header(p, "a value of \"__metadata__\" holds a NUL");
    }
    return check_metadata(p);
}

static weft_status parse_entries(parse *p) {
    wi_safetensors *const file = p->file;
    if (wi_json_peek(&p->json) != '{') return bad_header(p, "the header is not a JSON object");
    const size_t entries = wi_json_count(&p->json); /* fewer than the bytes of the header */
    file->tensors = wi_arena_take(&file->arena, (entries + 1) * sizeof *file->tensors);
    if (!file->tensors) return WEFT_ERROR_MEMORY;
    for (bool more = wi_json_enter(&p->json, '{'); more; more = wi_json_more(&p->json)) {
        const char *name = NULL;
        WI_TRY(parse_name(p, &name));
        if (strcmp(name, "__metadata__") == 0) {
            WI_TRY(parse_metadata(p));
            continue;
        }
        wi_saved_tensor *const tensor = &file->tensors[file->count++];
        tensor->name = name;
        WI_TRY(parse_tensor(p, tensor));
    }
    return check_table(p);
}

static weft_status header_length(const parse *p, const char *bytes, size_t size, size_t *length) {
    if (size < LENGTH_BYTES)
        WI_FAIL(WEFT_ERROR_FORMAT, "'%s': %zu bytes are too few for a safetensors file", p->path, size);
    uint64_t value = 0;
    for (int i = LENGTH_BYTES - 1; i >= 0; i--) value = value << 8 | (unsigned char)bytes[i];
    if (value > HEADER_LIMIT)
        WI_FAIL(WEFT_ERROR_FORMAT,
            "'%s': the header should have %" PRIu64 " bytes, but the format allows at most %d", p->path,
            value, HEADER_LIMIT);
    if (value > size - LENGTH_BYTES)
        WI_FAIL(WEFT_ERROR_FORMAT,
            "'%s': the header should have %" PRIu64 " bytes, but only %zu bytes follow its length field",
            p->path, value, size - LENGTH_BYTES);
    *length = (size_t)value;
    return WEFT_OK;
}

static weft_status parse_file(parse *p, char *bytes, size_t size) {
    size_t length = 0, at = 0;
    WI_TRY(wi_file_refuse_page(p->path, bytes, size));
    WI_TRY(header_length(p, bytes, size, &length));
    char *const header = bytes + LENGTH_BYTES;
    p->file->data = (const unsigned char *)header + length;
    p->file->data_bytes = size - LENGTH_BYTES - length;
    if (!wi_json_check(header, length, &at))
        WI_FAIL(WEFT_ERROR_FORMAT, "'%s': the header is not valid JSON at byte %zu of the file", p->path,
            at + LENGTH_BYTES);
    p->json = (wi_json){header, header + length};
    return parse_entries(p);
}

weft_status wi_safetensors_parse(
    wi_safetensors *file, const weft_allocator *allocator, const char *path, char *bytes, size_t size) {
    *file = (wi_safetensors){0};
    wi_arena_init(&file->arena, allocator);
    parse p = {.file = file, .path = path};
    const weft_status status = parse_file(&p, bytes, size);
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
