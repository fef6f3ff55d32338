/* Encodings as text (contract in encoding.h): a line with the kind and the sizes, then a line for each category, or for
 * each mean and deviation. In a category a backslash is written as \\, a line break as \n, and, if the category is not
 * UTF-8, a byte above 127 as \xHH. */
#include "base/platform.h"
#include "base/utf8.h"
#include "io/encoding.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const kinds[] = {NULL, "categories", "pixels", "normalised"};

void wi_encoding_write_name(wi_text *text, const char *name) {
    const bool is_utf8 = wi_utf8_is_text(name, strlen(name));
    for (; *name; name++) {
        const unsigned char byte = (unsigned char)*name;
        if (byte == '\\')
            wi_text_append(text, "\\\\");
        else if (byte == '\n')
            wi_text_append(text, "\\n");
        else if (byte > 127 && !is_utf8)
            wi_text_append(text, "\\x%02x", byte);
        else
            wi_text_append_bytes(text, name, 1);
    }
}

void wi_encoding_write(wi_text *text, const weft_encoding *encoding) {
    wi_locale locale;
    wi_locale_enter(&locale);
    wi_text_append(text, "%s %zu %" PRId64 " %" PRId64 "\n", kinds[encoding->kind], encoding->count,
        encoding->height, encoding->width);
    for (size_t i = 0; i < encoding->count; i++) {
        if (encoding->kind == WI_CATEGORIES)
            wi_encoding_write_name(text, encoding->texts[i]);
        else
            wi_text_append(text, "%.17g %.17g", encoding->mean[i], encoding->deviation[i]);
        wi_text_append_bytes(text, "\n", 1);
    }
    wi_locale_leave(&locale);
}

/* Reads one byte of a category; *text then points to the next one. */
static char read_byte(const char **text) {
    const char *const at = *text;
    *text += 1;
    if (at[0] != '\\' || !at[1]) return at[0];
    *text += 1;
    if (at[1] == 'n') return '\n';
    if (at[1] != 'x' || !at[2] || !at[3]) return at[1];
    const char digits[] = {at[2], at[3], '\0'};
    *text += 2;
    return (char)(unsigned char)strtoul(digits, NULL, 16);
}

static const char *read_line(wi_arena *arena, const char *text, const char *end) {
    char *const line = wi_arena_take(arena, (size_t)(end - text) + 1);
    for (char *to = line; line && text < end;) *to++ = read_byte(&text);
    return line;
}

const char *wi_encoding_read_name(wi_arena *arena, const char *text) {
    return read_line(arena, text, text + strlen(text));
}

/* Reads the line with the kind and the sizes. Returns the rest of the text; NULL: the line is not valid. */
static const char *read_head(weft_encoding *encoding, const char *text) {
    for (int kind = WI_CATEGORIES; kind <= WI_NORMALISED; kind++) {
        const size_t length = strlen(kinds[kind]);
        if (strncmp(text, kinds[kind], length) != 0 || text[length] != ' ') continue;
        char *end = NULL;
        encoding->kind = (wi_encoding_kind)kind;
        encoding->count = (size_t)strtoull(text + length, &end, 10);
        encoding->height = strtoll(end, &end, 10);
        encoding->width = strtoll(end, &end, 10);
        /* each category, channel or field has at least one byte, so that a larger count is wrong */
        return *end == '\n' && encoding->count <= strlen(end) ? end + 1 : NULL;
    }
    return NULL;
}

static bool read_rest(wi_arena *arena, weft_encoding *encoding, const char *text) {
    const char **const texts = wi_arena_take(arena, (encoding->count + 1) * sizeof *texts);
    double *const numbers = wi_arena_take(arena, (2 * encoding->count + 1) * sizeof *numbers);
    if (!texts || !numbers) return false;
    for (size_t i = 0; i < encoding->count; i++) {
        const char *const end = strchr(text, '\n');
        char *after = NULL;
        if (!end) return false;
        if (encoding->kind == WI_CATEGORIES) {
            if (!(texts[i] = read_line(arena, text, end))) return false;
        } else {
            numbers[i] = strtod(text, &after);
            numbers[encoding->count + i] = strtod(after, &after);
            if (after != end) return false;
        }
        text = end + 1;
    }
    encoding->texts = texts;
    encoding->mean = numbers;
    encoding->deviation = numbers + encoding->count;
    return *text == '\0';
}

const weft_encoding *wi_encoding_read(wi_arena *arena, const char *text) {
    weft_encoding *const encoding = wi_arena_take(arena, sizeof *encoding);
    const char *const rest = encoding ? read_head(encoding, text) : NULL;
    wi_locale locale;
    if (!rest) return NULL;
    wi_locale_enter(&locale);
    const bool good = read_rest(arena, encoding, rest);
    wi_locale_leave(&locale);
    return good ? encoding : NULL;
}
