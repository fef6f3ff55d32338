/* UTF-8 (contract in utf8.h). */
#include "base/utf8.h"

#include <string.h>

/* The Unicode Standard 15.0, table 3-7: no overlong forms, no surrogates, no number above U+10FFFF. */
size_t wi_utf8_length(const char *text, size_t bytes) {
    const unsigned char *const b = (const unsigned char *)text;
    if (bytes == 0) return 0;
    if (b[0] < 0x80) return 1;
    const size_t length = b[0] >= 0xC2 && b[0] <= 0xDF   ? 2
                          : b[0] >= 0xE0 && b[0] <= 0xEF ? 3
                          : b[0] >= 0xF0 && b[0] <= 0xF4 ? 4
                                                         : 0;
    if (length == 0 || length > bytes) return 0;
    const unsigned low = b[0] == 0xE0 ? 0xA0 : b[0] == 0xF0 ? 0x90 : 0x80;
    const unsigned high = b[0] == 0xED ? 0x9F : b[0] == 0xF4 ? 0x8F : 0xBF;
    if (b[1] < low || b[1] > high) return 0;
    for (size_t i = 2; i < length; i++)
        if (b[i] < 0x80 || b[i] > 0xBF) return 0;
    return length;
}

bool wi_utf8_is_text(const char *text, size_t bytes) {
    for (size_t at = 0, length; at < bytes; at += length) {
        length = wi_utf8_length(text + at, bytes - at);
        if (length == 0) return false;
    }
    return true;
}

size_t wi_utf8_repair(char *copy, const char *text) {
    size_t used = 0;
    for (size_t left = strlen(text); left > 0;) {
        const size_t length = wi_utf8_length(text, left), taken = length ? length : 1,
                     put = length ? length : 3;
        if (copy) memcpy(copy + used, length ? text : "\xEF\xBF\xBD", put);
        used += put;
        text += taken;
        left -= taken;
    }
    if (copy) copy[used] = '\0';
    return used;
}
