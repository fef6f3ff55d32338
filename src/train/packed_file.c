/* The headers of files of records (contract in packed_file.h). */
#include "train/packed_file.h"
#include "base/file_guess.h"
#include "base/json.h"
#include <inttypes.h>
#include <string.h>

enum { PREAMBLE = 24, ALIGNMENT = 64, VERSION = 1, HEADER_LIMIT = 1 << 24, RECORD_LIMIT = 1 << 30 };

static const char magic[8] = "WEFTREC\n";

static const struct {
    const char *name;
    weft_dtype dtype;
} dtypes[] = {{"F32", WEFT_F32}, {"I32", WEFT_I32}, {"U8", WEFT_U8}};
enum { DTYPES = sizeof dtypes / sizeof *dtypes };

static uint64_t get_number(const char *from, size_t bytes) {
    uint64_t number = 0;
    for (size_t i = bytes; i-- > 0;) number = number << 8 | (unsigned char)from[i];
    return number;
}

static void put_number(char *to, uint64_t number, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) to[i] = (char)(number >> 8 * i & 255u);
}

/* ---- reading ---- */

typedef struct parse {
    wi_packed *packed;
    const char *path;
    wi_json json;
    int64_t version, records;
} parse;

static weft_status bad(const parse *p, const char *what) {
    return wi_fail(WEFT_ERROR_FORMAT, "'%s': the header %s", p->path, what);
}

/* A string without NUL, as names and encodings were written. NULL: there is none. */
static const char *take_text(parse *p) {
    size_t bytes = 0;
    const char *const text = wi_json_string(&p->json, &bytes);
    return text && strlen(text) == bytes ? text : NULL;
}

static bool take_dtype(parse *p, weft_column *column) {
    const char *const name = take_text(p);
    for (size_t i = 0; name && i < DTYPES; i++) {
        if (strcmp(dtypes[i].name, name) != 0) continue;
        column->dtype = dtypes[i].dtype;
        return true;
    }
    return false;
}

static bool take_shape(parse *p, weft_column *column) {
    if (wi_json_peek(&p->json) != '[') return false;
    for (bool more = wi_json_enter(&p->json, '['); more; more = wi_json_more(&p->json)) {
        int64_t dimension = 0;
        if (column->rank + 1 >= WEFT_MAX_RANK || !wi_json_integer(&p->json, &dimension)) return false;
        if (dimension < 1 || dimension > RECORD_LIMIT) return false;
        column->dims[column->rank++] = dimension;
    }
    return true;
}

static bool take_encoding(parse *p, weft_column *column) {
    const char *const text = take_text(p);
    column->encoding = text ? wi_encoding_read(&p->packed->arena, text) : NULL;
    return column->encoding != NULL;
}

static bool take_layout(parse *p, const weft_column *column) {
    const bool last = wi_json_peek(&p->json) == 't';
    if (column == p->packed->columns) p->packed->channels_last = last;
    wi_json_skip(&p->json);
    return true;
}

static weft_status take_column(parse *p, weft_column *column) {
    column->dtype = WEFT_F64; /* no column has this dtype */
    if (wi_json_peek(&p->json) != '{') return bad(p, "has a column that is not an object");
    for (bool more = wi_json_enter(&p->json, '{'); more; more = wi_json_more(&p->json)) {
        size_t bytes = 0;
        bool good = true;
        const char *const key = wi_json_name(&p->json, &bytes);
        if (strcmp(key, "name") == 0) {
            const char *const name = take_text(p);
            good = name && (column->name = wi_encoding_read_name(&p->packed->arena, name));
        } else if (strcmp(key, "dtype") == 0)
            good = take_dtype(p, column);
        else if (strcmp(key, "shape") == 0)
            good = column->rank == 0 && take_shape(p, column);
        else if (strcmp(key, "encoding") == 0)
            good = take_encoding(p, column);
        else if (strcmp(key, "channels_last") == 0)
            good = take_layout(p, column);
        else
            wi_json_skip(&p->json);
        if (!good) return bad(p, "has a column with a wrong name, dtype, shape or encoding");
    }
    if (!column->name || column->dtype == WEFT_F64) return bad(p, "has a column without name or dtype");
    return WEFT_OK;
}

static weft_status take_columns(parse *p) {
    wi_packed *const packed = p->packed;
    const size_t count = wi_json_count(&p->json);
    if (wi_json_peek(&p->json) != '[' || count == 0 || packed->columns)
        return bad(p, "does not have one list of columns");
    packed->columns = wi_arena_take(&packed->arena, count * sizeof *packed->columns);
    if (!packed->columns) return WEFT_ERROR_MEMORY;
    for (bool more = wi_json_enter(&p->json, '['); more; more = wi_json_more(&p->json))
        WI_TRY(take_column(p, &packed->columns[packed->count++]));
    return WEFT_OK;
}

static weft_status take_members(parse *p) {
    if (wi_json_peek(&p->json) != '{') return bad(p, "is not an object");
    for (bool more = wi_json_enter(&p->json, '{'); more; more = wi_json_more(&p->json)) {
        size_t bytes = 0;
        const char *const key = wi_json_name(&p->json, &bytes);
        if (strcmp(key, "columns") == 0)
            WI_TRY(take_columns(p));
        else if (strcmp(key, "version") == 0 || strcmp(key, "records") == 0) {
            if (!wi_json_integer(&p->json, key[0] == 'v' ? &p->version : &p->records))
                return bad(p, "has a number that is not whole");
        } else
            wi_json_skip(&p->json);
    }
    if (p->version != VERSION)
        WI_FAIL(WEFT_ERROR_FORMAT, "'%s' has version %" PRId64 " of the format of records, expected %d",
            p->path, p->version, VERSION);
    if (p->records < 1 || !p->packed->columns) return bad(p, "lacks records or columns");
    return WEFT_OK;
}

static weft_status find_sizes(parse *p) {
    wi_records *const records = &p->packed->records;
    for (size_t c = 0; c < p->packed->count; c++) {
        const weft_column *const column = &p->packed->columns[c];
        uint64_t bytes = weft_dtype_size(column->dtype);
        for (int axis = 0; axis < column->rank && bytes <= RECORD_LIMIT; axis++)
            bytes *= (uint64_t)column->dims[axis];
        if (bytes > RECORD_LIMIT - records->bytes) return bad(p, "gives records of more than 1 GiB");
        records->bytes += (size_t)bytes;
    }
    if ((uint64_t)p->records > (INT64_MAX - records->offset) / wi_records_stride(records))
        return bad(p, "gives too many records");
    records->count = (size_t)p->records;
    return WEFT_OK;
}

/* Compares the file's size with that of its records. */
static weft_status check_size(parse *p, bool cut) {
    wi_records *const records = &p->packed->records;
    const uint64_t bytes = records->file.bytes, expected = wi_records_at(records, records->count);
    if (bytes == expected) return WEFT_OK;
    if (bytes > expected)
        WI_FAIL(WEFT_ERROR_FORMAT, "'%s' has %" PRIu64 " bytes after its %zu records", p->path,
            bytes - expected, records->count);
    const size_t whole =
        bytes < records->offset ? 0 : (size_t)((bytes - records->offset) / wi_records_stride(records));
    if (!cut || whole == 0)
        WI_FAIL(WEFT_ERROR_FORMAT,
            "'%s' is cut at record %zu of %zu, which begins at byte %" PRIu64 ": the file has %" PRIu64
            " bytes, expected %" PRIu64 " (option skip_damaged of weft_records_options reads the others)",
            p->path, whole, records->count, wi_records_at(records, whole), bytes, expected);
    p->packed->missing = records->count - whole;
    records->count = whole;
    return WEFT_OK;
}

/* *header: a copy of the header in the arena, with a NUL after its *length bytes. */
static weft_status read_header(wi_packed *packed, char **header, size_t *length) {
    wi_data_file *const file = &packed->records.file;
    char begin[256] = "";
    const size_t some = file->bytes < sizeof begin ? (size_t)file->bytes : sizeof begin;
    WI_TRY(wi_data_file_read(file, 0, begin, some));
    WI_TRY(wi_file_refuse_page(file->path, begin, some));
    if (some < PREAMBLE || memcmp(begin, magic, sizeof magic) != 0)
        WI_FAIL(WEFT_ERROR_FORMAT, "'%s', of %" PRIu64 " bytes, does not begin as a file of records",
            file->path, file->bytes);
    const uint64_t bytes = get_number(begin + 8, 8);
    if (bytes > HEADER_LIMIT || bytes > file->bytes - PREAMBLE)
        WI_FAIL(WEFT_ERROR_FORMAT,
            "'%s': the header should have %" PRIu64 " bytes, but the file has %" PRIu64
            ", and a header at most %d",
            file->path, bytes, file->bytes, HEADER_LIMIT);
    *length = (size_t)bytes;
    *header = wi_arena_take(&packed->arena, *length + 1);
    if (!*header) return WEFT_ERROR_MEMORY;
    WI_TRY(wi_data_file_read(file, PREAMBLE, *header, *length));
    if (wi_crc32(*header, *length) != get_number(begin + 16, 4))
        WI_FAIL(WEFT_ERROR_FORMAT, "'%s': the header is damaged: its CRC-32 is wrong", file->path);
    packed->records.offset = PREAMBLE + bytes;
    return WEFT_OK;
}

static weft_status parse_file(wi_packed *packed, const char *path, bool cut) {
    parse p = {.packed = packed, .path = path};
    char *header = NULL;
    size_t length = 0, at = 0;
    WI_TRY(read_header(packed, &header, &length));
    if (!wi_json_check(header, length, &at))
        WI_FAIL(WEFT_ERROR_FORMAT, "'%s': the header is not valid JSON at byte %zu", path, PREAMBLE + at);
    p.json = (wi_json){header, header + length};
    WI_TRY(take_members(&p));
    WI_TRY(find_sizes(&p));
    return check_size(&p, cut);
}

weft_status wi_packed_open(wi_packed *packed, const wi_file_rules *rules, const char *path, bool cut) {
    *packed = (wi_packed){.records = {.checked = true}};
    wi_arena_init(&packed->arena, rules->allocator);
    weft_status status = wi_data_file_open(&packed->records.file, rules, path);
    if (status == WEFT_OK) status = parse_file(packed, path, cut);
    if (status != WEFT_OK) wi_packed_close(packed);
    return status;
}

void wi_packed_close(wi_packed *packed) {
    wi_data_file_close(&packed->records.file);
    wi_arena_clear(&packed->arena);
}

/* ---- writing ---- */

/* Appends a text that may have any bytes as a JSON string. */
static weft_status append_text(wi_text *text, const char *member, const wi_text *value) {
    if (value->failed) return WEFT_ERROR_MEMORY;
    wi_text_append(text, "\"%s\":", member);
    wi_json_append_string(text, value->data ? value->data : "");
    return WEFT_OK;
}

static weft_status append_name(wi_text *text, const char *name) {
    wi_text own;
    wi_text_init(&own, text->allocator);
    wi_encoding_write_name(&own, name);
    const weft_status status = append_text(text, "name", &own);
    wi_text_clear(&own);
    return status;
}

static weft_status append_encoding(wi_text *text, const weft_encoding *encoding) {
    wi_text own;
    wi_text_init(&own, text->allocator);
    wi_encoding_write(&own, encoding);
    wi_text_append(text, ",");
    const weft_status status = append_text(text, "encoding", &own);
    wi_text_clear(&own);
    return status;
}

static weft_status append_column(wi_text *text, const weft_column *column) {
    size_t d = 0;
    while (d < DTYPES - 1 && dtypes[d].dtype != column->dtype) d++;
    wi_text_append(text, "{");
    WI_TRY(append_name(text, column->name));
    wi_text_append(text, ",\"dtype\":\"%s\",\"shape\":[", dtypes[d].name);
    for (int axis = 0; axis < column->rank; axis++)
        wi_text_append(text, "%s%" PRId64, axis ? "," : "", column->dims[axis]);
    wi_text_append(text, "]");
    return column->encoding ? append_encoding(text, column->encoding) : WEFT_OK;
}

weft_status wi_packed_write_head(wi_text *text, const weft_dataset *dataset, bool channels_last) {
    static const char room[PREAMBLE] = {0};
    wi_text_append_bytes(text, room, PREAMBLE);
    wi_text_append(text, "{\"version\":%d,\"records\":%zu,\"columns\":[", VERSION, dataset->examples);
    for (size_t c = 0; c < dataset->count; c++) {
        if (c) wi_text_append(text, ",");
        WI_TRY(append_column(text, &dataset->columns[c]));
        wi_text_append(text, "%s}", c == 0 && channels_last ? ",\"channels_last\":true" : "");
    }
    wi_text_append(text, "]}");
    while (!text->failed && text->length % ALIGNMENT) wi_text_append_bytes(text, " ", 1);
    if (text->failed) return WEFT_ERROR_MEMORY;
    if (text->length - PREAMBLE > HEADER_LIMIT)
        WI_FAIL(WEFT_ERROR_UNSUPPORTED,
            "weft_dataset_save_records: the names of columns and categories take %zu bytes, expected at most "
            "%d",
            text->length - PREAMBLE, HEADER_LIMIT);
    memcpy(text->data, magic, sizeof magic);
    put_number(text->data + 8, text->length - PREAMBLE, 8);
    put_number(text->data + 16, wi_crc32(text->data + PREAMBLE, text->length - PREAMBLE), 4);
    return WEFT_OK;
}
