/* Reads the header of a .npy file (contract in npy.h). The dictionary is in the form of Python's repr: strings in single
 * or double quotes, True and False, tuples of whole numbers; keys in any order, each once. */
#include "base/file_guess.h"
#include "io/npy.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MAGIC_BYTES = 6, VERSION_END = 8, KEYS = 3, TEXT = 32, MOST_HEADER = 1 << 17 };

typedef struct cursor {
    const char *at, *end, *path;
} cursor;

static weft_status bad(const cursor *c, const char *what) {
    return wi_fail(WEFT_ERROR_FORMAT, "'%s': the header %s", c->path, what);
}

static void skip_spaces(cursor *c) {
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\t' || *c->at == '\n' || *c->at == '\r')) c->at++;
}

/* Skips the character if it is next. */
static bool take(cursor *c, char wanted) {
    skip_spaces(c);
    if (c->at == c->end || *c->at != wanted) return false;
    c->at++;
    return true;
}

static bool take_word(cursor *c, const char *word) {
    const size_t length = strlen(word);
    skip_spaces(c);
    if ((size_t)(c->end - c->at) < length || memcmp(c->at, word, length) != 0) return false;
    c->at += length;
    return true;
}

static weft_status take_string(cursor *c, char text[TEXT]) {
    const char quote = take(c, '\'') ? '\'' : '"';
    size_t length = 0;
    if (quote == '"' && !take(c, '"')) return bad(c, "lacks a quoted string where one is expected");
    while (c->at < c->end && *c->at != quote) {
        if (*c->at == '\\' || length + 1 == TEXT)
            return bad(c, "has a string with a character that is not allowed");
        text[length++] = *c->at++;
    }
    if (!take(c, quote)) return bad(c, "has a string without an end");
    text[length] = '\0';
    return WEFT_OK;
}

static weft_status unsupported(const cursor *c, const char *descr) {
    return wi_fail(WEFT_ERROR_UNSUPPORTED,
        "'%s': the dtype is %s; the supported dtypes are f2 f4 f8, i1 i2 i4 i8, u1 u2 u4 u8 and b1", c->path,
        descr);
}

static weft_status take_descr(cursor *c, wi_npy *npy) {
    char text[TEXT], shown[TEXT + 2];
    skip_spaces(c);
    if (c->at < c->end && *c->at == '[') return unsupported(c, "of records");
    WI_TRY(take_string(c, text));
    snprintf(shown, sizeof shown, "'%s'", text);
    const char *const sizes = text[0] && text[1] == 'f' ? "248" : text[0] && text[1] == 'b' ? "1" : "1248";
    if (!*text || !strchr("<>|=", text[0]) || !text[1] || !strchr("fiub", text[1]) || !text[2] ||
        !strchr(sizes, text[2]) || text[3])
        return unsupported(c, shown);
    npy->kind = text[1];
    npy->size = (size_t)(text[2] - '0');
    if (text[0] == '=' || (text[0] == '|' && npy->size > 1))
        return bad(c, "gives a dtype without a byte order");
    npy->big_endian = text[0] == '>';
    return WEFT_OK;
}

static weft_status take_dimension(cursor *c, int64_t *value) {
    skip_spaces(c);
    const char *const begin = c->at;
    *value = 0;
    for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++) {
        if (*value > (INT64_MAX - 9) / 10) return bad(c, "has a dimension that overflows");
        *value = 10 * *value + (*c->at - '0');
    }
    if (c->at == begin) return bad(c, "has a dimension that is not a whole number of 0 or more");
    if (c->at < c->end && *c->at == 'L') c->at++; /* Python 2 writes an L after a long integer */
    return WEFT_OK;
}

static weft_status take_shape(cursor *c, wi_npy *npy) {
    if (!take(c, '(')) return bad(c, "has a shape that is not a tuple");
    for (npy->rank = 0; !take(c, ')');) {
        int64_t value = 0;
        WI_TRY(take_dimension(c, &value));
        if (npy->rank == WEFT_MAX_RANK)
            WI_FAIL(WEFT_ERROR_UNSUPPORTED, "'%s': the array has more than %d dimensions", c->path,
                WEFT_MAX_RANK);
        npy->dims[npy->rank++] = value;
        if (take(c, ',')) continue;
        if (npy->rank == 1) return bad(c, "has a shape that is not a tuple");
        if (!take(c, ')')) return bad(c, "has a shape without an end");
        return WEFT_OK;
    }
    return WEFT_OK;
}

static weft_status take_entry(cursor *c, wi_npy *npy, bool seen[KEYS]) {
    static const char *const names[KEYS] = {"descr", "fortran_order", "shape"};
    char key[TEXT];
    int which = 0;
    WI_TRY(take_string(c, key));
    while (which < KEYS && strcmp(key, names[which]) != 0) which++;
    if (which == KEYS) return bad(c, "has a key that is none of descr, fortran_order and shape");
    if (seen[which]) return bad(c, "has a key twice");
    seen[which] = true;
    if (!take(c, ':')) return bad(c, "has a key without a value");
    if (which == 0) return take_descr(c, npy);
    if (which == 2) return take_shape(c, npy);
    npy->fortran = take_word(c, "True");
    return npy->fortran || take_word(c, "False") ? WEFT_OK
                                                 : bad(c, "has a fortran_order that is not True or False");
}

static weft_status take_dictionary(cursor *c, wi_npy *npy) {
    bool seen[KEYS] = {false};
    if (!take(c, '{')) return bad(c, "is not a dictionary");
    while (!take(c, '}')) {
        WI_TRY(take_entry(c, npy, seen));
        if (take(c, ',')) continue;
        if (!take(c, '}')) return bad(c, "is a dictionary without an end");
        break;
    }
    if (!seen[0] || !seen[1] || !seen[2]) return bad(c, "lacks descr, fortran_order or shape");
    skip_spaces(c);
    return c->at == c->end ? WEFT_OK : bad(c, "goes on after its dictionary");
}

/* *c: the text of the dictionary. bytes: the first `have` bytes of a file of `size` bytes. */
static weft_status find_header(cursor *c, const char *path, const char *bytes, size_t have, uint64_t size) {
    const unsigned char *const b = (const unsigned char *)bytes;
    WI_TRY(wi_file_refuse_page(path, bytes, have));
    if (have < VERSION_END || memcmp(bytes, "\x93NUMPY", MAGIC_BYTES) != 0)
        WI_FAIL(WEFT_ERROR_FORMAT, "'%s', of %" PRIu64 " bytes, does not begin as a .npy file", path, size);
    if (b[6] < 1 || b[6] > 3 || b[7] != 0)
        WI_FAIL(WEFT_ERROR_UNSUPPORTED,
            "'%s' has version %u.%u of the .npy format; the supported versions are 1.0 to 3.0", path, b[6],
            b[7]);
    const size_t field = b[6] == 1 ? 2 : 4;
    size_t length = 0;
    for (size_t i = field; i-- > 0 && have >= VERSION_END + field;) length = length << 8 | b[VERSION_END + i];
    if (have < VERSION_END + field || length > size - VERSION_END - field)
        WI_FAIL(WEFT_ERROR_FORMAT, "'%s': the header should have %zu bytes, but the file has only %" PRIu64,
            path, length, size);
    if (length > have - VERSION_END - field)
        WI_FAIL(WEFT_ERROR_UNSUPPORTED, "'%s': the header has %zu bytes, more than %d", path, length,
            MOST_HEADER - VERSION_END - (int)field);
    *c = (cursor){bytes + VERSION_END + field, bytes + VERSION_END + field + length, path};
    return WEFT_OK;
}

static weft_status check_size(wi_npy *npy, uint64_t bytes) {
    bool empty = false;
    size_t needed = npy->size;
    npy->elements = 1;
    for (int axis = 0; axis < npy->rank; axis++) empty = empty || npy->dims[axis] == 0;
    for (int axis = 0; axis < npy->rank && !empty; axis++) {
        if ((uint64_t)npy->dims[axis] > PTRDIFF_MAX / needed)
            WI_FAIL(WEFT_ERROR_FORMAT, "'%s': the array has too many elements", npy->path);
        needed *= (size_t)npy->dims[axis];
    }
    npy->elements = empty ? 0 : needed / npy->size;
    if (npy->elements * npy->size != bytes)
        WI_FAIL(WEFT_ERROR_FORMAT, "'%s': the header announces %zu bytes of data, but the file has %" PRIu64,
            npy->path, npy->elements * npy->size, bytes);
    return WEFT_OK;
}

static weft_status parse_file(wi_npy *npy, const char *path, const char *bytes, size_t have, uint64_t size) {
    cursor c = {0};
    *npy = (wi_npy){.path = path};
    WI_TRY(find_header(&c, path, bytes, have, size));
    npy->offset = (uint64_t)(c.end - bytes);
    WI_TRY(take_dictionary(&c, npy));
    return check_size(npy, size - npy->offset);
}

weft_status wi_npy_parse(wi_npy *npy, const char *path, const char *bytes, size_t size) {
    WI_TRY(parse_file(npy, path, bytes, size, size));
    npy->data = (const unsigned char *)bytes + npy->offset;
    return WEFT_OK;
}

weft_status wi_npy_open(wi_npy *npy, const wi_data_file *file) {
    wi_file_window window = {0};
    const char *bytes = NULL;
    size_t have = 0;
    weft_status status = wi_file_window_at(&window, file, 0, MOST_HEADER, MOST_HEADER, &bytes, &have);
    if (status == WEFT_OK) status = parse_file(npy, file->path, bytes, have, file->bytes);
    wi_file_window_clear(&window, file->allocator);
    return status;
}
