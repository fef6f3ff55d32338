/* Checking UTF-8, the encoding of all texts, and of names in files. */
#ifndef WI_UTF8_H
#define WI_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of the character that begins at text, 1 to 4; 0: no valid character of at most `bytes` bytes begins there. */
size_t wi_utf8_length(const char *text, size_t bytes);
/* Whether all bytes are valid UTF-8. */
bool wi_utf8_is_text(const char *text, size_t bytes);
/* Copies a text and replaces each byte that is not part of a valid character by U+FFFD. Returns the bytes of the copy
 * without its NUL; copy NULL: only counts them. */
size_t wi_utf8_repair(char *copy, const char *text);

#endif
