/* Reading JSON (contract in json.h). */
#include "base/json.h"
#include "base/utf8.h"
#include <string.h>

enum { MOST_DEPTH = 64, ESCAPE = 6 };

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static void skip_blanks(wi_json *json) {
    while (json->at < json->end &&
           (*json->at == ' ' || *json->at == '\n' || *json->at == '\r' || *json->at == '\t'))
        json->at++;
}

char wi_json_peek(wi_json *json) {
    skip_blanks(json);
    return json->at < json->end ? *json->at : '\0';
}

static bool take(wi_json *json, char mark) {
    if (wi_json_peek(json) != mark) return false;
    json->at++;
    return true;
}

/* ---- strings ---- */

/* The number of the escape \uXXXX at text; -1: no such escape is there. */
static int escaped_unit(const char *text, size_t bytes) {
    int unit = 0;
    if (bytes < ESCAPE || text[0] != '\\' || text[1] != 'u') return -1;
    for (int i = 2; i < ESCAPE; i++) {
        static const char digits[] = "0123456789abcdefABCDEF";
        const char *const found = text[i] ? strchr(digits, text[i]) : NULL;
        if (!found) return -1;
        const int digit = (int)(found - digits);
        unit = 16 * unit + (digit < 16 ? digit : digit - 6);
    }
    return unit;
}

static size_t encode(unsigned point, char to[4]) {
    const size_t bytes = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    static const unsigned marks[] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (size_t i = bytes; i-- > 1; point >>= 6) to[i] = (char)(0x80u | (point & 0x3Fu));
    to[0] = (char)(marks[bytes] | point);
    return bytes;
}

/* Decodes the escape at text to UTF-8. Returns the bytes of the escape, 0 if it is not valid; *made: the bytes written
 * to `to`. */
static size_t take_escape(const char *text, size_t bytes, char to[4], size_t *made) {
    static const char names[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    const char *const found = bytes > 1 && text[1] ? strchr(names, text[1]) : NULL;
    *made = 1;
    if (found) {
        to[0] = meant[found - names];
        return 2;
    }
    const int unit = escaped_unit(text, bytes);
    if (unit < 0 || (unit >= 0xDC00 && unit <= 0xDFFF)) return 0;
    if (unit < 0xD800 || unit > 0xDFFF) {
        *made = encode((unsigned)unit, to);
        return ESCAPE;
    }
    const int low = escaped_unit(text + ESCAPE, bytes - ESCAPE);
    if (low < 0xDC00 || low > 0xDFFF) return 0;
    *made = encode(0x10000u + ((unsigned)(unit - 0xD800) << 10 | (unsigned)(low - 0xDC00)), to);
    return 2 * ESCAPE;
}

/* Decodes one character of a string, escaped or not. Returns its bytes in the text, 0 if it may not stand in a string;
 * *made, the bytes written to `to`, is never larger, so that strings can be decoded in place. */
static size_t take_character(const char *text, size_t bytes, char to[4], size_t *made) {
    if (*text == '\\') return take_escape(text, bytes, to, made);
    if ((unsigned char)*text < 0x20 || *text == '"') return 0;
    *made = wi_utf8_length(text, bytes);
    memcpy(to, text, *made);
    return *made;
}

/* Moves past a string. decode: replaces the text by the decoded string, with a NUL after it. *bytes: the length of the decoded string. */
static bool take_string(wi_json *json, bool decode, size_t *bytes) {
    char *const begin = json->at + 1, *to = begin;
    if (!take(json, '"')) return false;
    while (json->at < json->end && *json->at != '"') {
        char character[4];
        size_t made = 0;
        const size_t length = take_character(json->at, (size_t)(json->end - json->at), character, &made);
        if (length == 0) return false;
        if (decode) memcpy(to, character, made);
        to += made;
        json->at += length;
    }
    if (!take(json, '"')) return false;
    if (decode) *to = '\0';
    *bytes = (size_t)(to - begin);
    return true;
}

/* ---- checking a text ---- */

static bool skip_digits(wi_json *json) {
    const char *const begin = json->at;
    while (json->at < json->end && is_digit(*json->at)) json->at++;
    return json->at > begin;
}

static bool next_is(const wi_json *json, char one, char other) {
    return json->at < json->end && (*json->at == one || *json->at == other);
}

static bool skip_number(wi_json *json) {
    if (next_is(json, '-', '-')) json->at++;
    const bool zero = next_is(json, '0', '0');
    if (zero) json->at++;
    if (!zero && !skip_digits(json)) return false;
    if (next_is(json, '.', '.')) {
        json->at++;
        if (!skip_digits(json)) return false;
    }
    if (!next_is(json, 'e', 'E')) return true;
    json->at++;
    if (next_is(json, '+', '-')) json->at++;
    return skip_digits(json);
}

static bool skip_scalar(wi_json *json) {
    static const char *const words[] = {"true", "false", "null"};
    size_t bytes = 0;
    if (*json->at == '"') return take_string(json, false, &bytes);
    for (size_t i = 0; i < 3; i++) {
        const size_t length = strlen(words[i]);
        if ((size_t)(json->end - json->at) < length || memcmp(json->at, words[i], length) != 0) continue;
        json->at += length;
        return true;
    }
    return skip_number(json);
}

/* After a value: moves past the closing marks of the arrays and objects that end here, then past the comma before the
 * next value. False: neither the end of the outermost value nor a comma is there. */
static bool skip_ends(wi_json *json, const char *closing, int *depth) {
    while (*depth && take(json, closing[*depth - 1])) --*depth;
    return !*depth || take(json, ',');
}

static bool skip_name(wi_json *json) {
    size_t bytes = 0;
    return wi_json_peek(json) == '"' && take_string(json, false, &bytes) && take(json, ':');
}

/* Moves past one value with all that it contains. False: json->at is at the first wrong byte. */
static bool skip_value(wi_json *json) {
    char closing[MOST_DEPTH];
    int depth = 0;
    do {
        if (depth && closing[depth - 1] == '}' && !skip_name(json)) return false;
        const char first = wi_json_peek(json);
        if (first == '\0') return false;
        if (first != '{' && first != '[') {
            if (!skip_scalar(json)) return false;
        } else if (depth == MOST_DEPTH) {
            return false;
        } else {
            json->at++;
            closing[depth++] = first == '{' ? '}' : ']';
            if (wi_json_peek(json) != closing[depth - 1]) continue;
        }
        if (!skip_ends(json, closing, &depth)) return false;
    } while (depth);
    return true;
}

bool wi_json_check(const char *text, size_t bytes, size_t *at) {
    /* The casts remove const, but nothing writes to the text, because skip_value decodes no string. */
    wi_json json = {(char *)(uintptr_t)text, (char *)(uintptr_t)text + bytes};
    const bool good = skip_value(&json) && (wi_json_peek(&json), json.at == json.end);
    *at = (size_t)(json.at - text);
    return good;
}

/* ---- walking through a checked text ---- */

bool wi_json_enter(wi_json *json, char opening) {
    wi_json inside = *json;
    if (!take(&inside, opening)) return false;
    *json = inside;
    return !take(json, opening == '{' ? '}' : ']');
}

bool wi_json_more(wi_json *json) {
    if (take(json, ',')) return true;
    if (json->at < json->end) json->at++; /* the closing mark */
    return false;
}

char *wi_json_string(wi_json *json, size_t *bytes) {
    if (wi_json_peek(json) != '"') return NULL;
    char *const text = json->at + 1;
    return take_string(json, true, bytes) ? text : NULL;
}

char *wi_json_name(wi_json *json, size_t *bytes) {
    char *const name = wi_json_string(json, bytes);
    (void)take(json, ':');
    return name;
}

bool wi_json_integer(wi_json *json, int64_t *value) {
    wi_json walk = *json;
    const bool negative = wi_json_peek(&walk) == '-';
    int64_t number = 0; /* kept negative, so that INT64_MIN can be read */
    if (negative) walk.at++;
    if (walk.at == walk.end || !is_digit(*walk.at)) return false;
    for (; walk.at < walk.end && is_digit(*walk.at); walk.at++) {
        const int digit = *walk.at - '0';
        if (number < (INT64_MIN + digit) / 10) return false;
        number = 10 * number - digit;
    }
    if (next_is(&walk, '.', 'e') || next_is(&walk, 'E', 'E') || (!negative && number == INT64_MIN))
        return false;
    *value = negative ? number : -number;
    *json = walk;
    return true;
}

void wi_json_skip(wi_json *json) {
    if (!skip_value(json)) json->at = json->end;
}

size_t wi_json_count(const wi_json *json) {
    wi_json walk = *json;
    const char opening = wi_json_peek(&walk);
    const bool members = opening == '{';
    size_t count = 0;
    if (!members && opening != '[') return 0;
    for (bool more = wi_json_enter(&walk, opening); more; more = wi_json_more(&walk), count++) {
        if (members) (void)skip_name(&walk);
        wi_json_skip(&walk);
    }
    return count;
}

void wi_json_append_string(wi_text *text, const char *string) {
    wi_text_append_bytes(text, "\"", 1);
    for (; *string; string++) {
        if (*string == '"' || *string == '\\')
            wi_text_append(text, "\\%c", *string);
        else if ((unsigned char)*string < ' ')
            wi_text_append(text, "\\u%04x", (unsigned)(unsigned char)*string);
        else
            wi_text_append_bytes(text, string, 1);
    }
    wi_text_append_bytes(text, "\"", 1);
}
